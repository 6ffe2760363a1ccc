//! Passages that may not stand beside questions, found in parts.

use super::streams::{batch, failed, integers, stream, texts, worked};
use super::whole::{World, made};
use nihbuild::language::Language;
use nihbuild::plan::{Options, Plan};
use nihbuild::recipe::Recipe;
use nihbuild::shard::apart::{Asked, Leaks};
use nihbuild::shard::stream::Source;
use nihbuild::source::locate::Locator;
use nihbuild::stage::leaks::{ByLanguage, Gathered, apart};
use nihbuild::stage::{haystack, questions};

fn plan(world: &World) -> Plan {
    let text = std::fs::read_to_string(world.bench.path("made.toml")).unwrap();
    let options =
        Options { data: Some(world.bench.path("data")), out: world.bench.path("b"), jobs: 2, ..Options::default() };
    Plan::new(Recipe::parse("made.toml", &text).unwrap(), options).unwrap()
}

#[test]
fn parts_merge_to_what_a_build_keeps_apart() {
    let world = World::new(260, 260);
    let plan = plan(&world);
    let locator = Locator::new(&plan).unwrap();
    let haystack = haystack::read(&plan, &locator).unwrap();
    let questions = questions::read(&plan, &locator).unwrap();
    let joined: Vec<&ByLanguage> = questions.joined().iter().map(|(_, by_language)| by_language).collect();
    let expected = apart(&plan, &joined, &haystack).unwrap();
    assert!(expected.iter().map(|one| one.leaks).sum::<u64>() >= 2);
    assert!(expected.iter().map(|one| one.duplicates).sum::<u64>() >= 1);
    assert_eq!(Asked::read(&plan).unwrap().first(&plan, None).unwrap().len(), joined.len());

    let at = world.bench.dir.path();
    for cuts in [vec![0, 260], vec![0, 1, 30, 30, 91, 260]] {
        let of = cuts.len() - 1;
        let mut files = Vec::new();
        for (n, pair) in cuts.windows(2).enumerate() {
            let rows = world.rows(pair[0]..pair[1]);
            let (part, name) = (format!("{}/{of}", n + 1), format!("leaks-{n}.arrow"));
            worked(at, &[&world.leaks()[..], &["--part", &part, "--to", &name]].concat(), &rows);
            files.insert(0, name);
        }
        // One part is there twice.
        files.push(files[0].clone());
        let merge: Vec<&str> = ["worker", "merge", "--all", "--to", "leaks.arrow"]
            .into_iter()
            .chain(files.iter().map(String::as_str))
            .collect();
        worked(at, &merge, b"");
        let leaks = Leaks::merge(&[Source::File(at.join("leaks.arrow"))]).unwrap();
        let languages = haystack.texts.keys().copied().collect::<Vec<Language>>();
        let mut gathered = Gathered::new(joined.len(), languages);
        for leak in &leaks.all {
            let place = haystack.ids.iter().position(|id| *id == leak.number.to_string()).unwrap();
            gathered.add(leak.question, leak.language, place as u32, leak.reason);
        }
        assert!(gathered.all() == expected, "{cuts:?}");
        if of > 1 {
            failed(
                at,
                &["worker", "merge", "--all", &files[1], &files[2]],
                b"",
                &["3 of 5 shards are missing: 1, 2, 5"],
            );
        }
    }
}

#[test]
fn leaks_of_other_questions_are_refused() {
    let world = World::new(30, 30);
    let at = world.bench.dir.path();
    worked(at, &[&world.leaks()[..], &["--to", "a.arrow"]].concat(), &world.rows(0..30));
    let recipe = ["--recipe", "made.toml", "--data", "data"];
    world.bench.write("made.toml", &made(30).replace("\"made\"\nfiles", "\"other\"\nfiles"));
    worked(at, &[&world.leaks()[..], &["--to", "b.arrow"]].concat(), &world.rows(0..30));
    failed(at, &["worker", "merge", "a.arrow", "b.arrow"], b"", &["of other questions", "b.arrow"]);
    // Nor are they kept out of the lists of other questions.
    let asked = worked(at, &[&["worker", "questions"], &recipe[..]].concat(), b"");
    worked(at, &["worker", "embed", "--role", "query", "--to", "queries.arrow"], &asked);
    let vectors = worked(at, &["worker", "embed"], &world.rows(0..30));
    let topk = ["worker", "topk", "--queries", "queries.arrow", "-k", "5", "--apart"];
    failed(at, &[&topk[..], &["a.arrow"]].concat(), &vectors, &["leaks are of other questions", "same recipe"]);
    worked(at, &[&topk[..], &["b.arrow"]].concat(), &vectors);
    let bare = stream(&[batch(vec![("number", integers([1])), ("text", texts(["x"]))])]);
    failed(
        at,
        &["worker", "leaks", "--recipe", "made.toml", "--data", "data", "--text", "es"],
        &bare,
        &["--text es", "no es"],
    );
    failed(
        at,
        &["worker", "leaks", "--recipe", "made.toml", "--data", "data", "--text", "en=t"],
        &bare,
        &["no column \"t\""],
    );
    failed(at, &["worker", "leaks", "--recipe", "mlrbench", "--text", "en"], &bare, &["no questions"]);
}
