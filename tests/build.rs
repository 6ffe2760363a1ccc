//! Builds: the same bytes by any way, nothing half-written, every option does what it says.

use crate::support::*;
use nihbuild::table::{int, read_spans, text, texts};
use nihbuild::verify::read_manifest;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

fn build(bench: &Bench, recipe: &str, args: &[&str]) -> std::path::PathBuf {
    bench.run(&[&["recipe", recipe], args].concat()).success().release(bench)
}

#[test]
fn the_golden_build_is_the_accepted_one() {
    let bench = Bench::new();
    let outcome = bench.run(&["recipe", "golden"]).success();
    assert!(outcome.out.contains("the same as the accepted golden-1.0.0"), "{}", outcome.out);
    let release = outcome.release(&bench);
    bench.run(&["verify", "--full", release.to_str().unwrap()]).success();
    // A second run finds it.
    let again = bench.run(&["recipe", "golden"]).success();
    assert!(again.out.contains("was built before and is sound"), "{}", again.out);
}

#[test]
fn one_and_two_threads_write_the_same_bytes() {
    let bench = Bench::new();
    bench.write("r.toml", &small("threads", QUICK));
    let one = build(&bench, "r.toml", &["--jobs", "1", "--out", "one"]);
    let two = build(&bench, "r.toml", &["--jobs", "2", "--out", "two"]);
    let three = build(&bench, "r.toml", &["--jobs", "3", "--out", "three"]);
    assert_eq!(bytes_of(&one), bytes_of(&two));
    assert_eq!(bytes_of(&one), bytes_of(&three));
}

/// Data files that are in their places. Names only: the build goes on meanwhile.
fn finished(data: &Path) -> usize {
    let configs = nihbuild::store::sorted_dir(data).unwrap_or_default();
    let files = configs.iter().flat_map(|config| nihbuild::store::sorted_dir(config).unwrap_or_default());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "parquet")).count()
}

#[test]
fn a_killed_build_resumes_to_the_same_bytes() {
    let recipe = small("killed", "[grid]\nlengths = [\"0k\", \"2k\", \"4k\", \"8k\"]\n\n[distractors]\npool = 1500\n");
    let whole = Bench::new();
    whole.write("r.toml", &recipe);
    let expected = bytes_of(&build(&whole, "r.toml", &["--jobs", "1"]));
    // Killed while stages fill the store, after some data files, and near the end.
    for files in [0, 5, 20] {
        let bench = Bench::new();
        bench.write("r.toml", &recipe);
        let mut child = bench
            .command(&["recipe", "r.toml", "--jobs", "1"])
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let partial = bench.path("build/killed/1.0.0.partial");
        let written = || finished(&partial.join("data"));
        let mut alive = true;
        while alive && (written() < files || files == 0 && !bench.path("build/store/distractors").exists()) {
            std::thread::sleep(Duration::from_millis(2));
            alive = child.try_wait().unwrap().is_none();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(alive, "the build ended before it could be killed");
        assert!(!bench.path("build/killed/1.0.0").exists(), "a killed build is no release");
        let kept = written();
        assert!(kept >= files);
        let stamps = |names: &[(String, Vec<u8>)]| -> Vec<(String, std::time::SystemTime)> {
            let time = |name: &String| std::fs::metadata(partial.join(name)).and_then(|m| m.modified()).ok();
            names.iter().filter_map(|(name, _)| Some((name.clone(), time(name)?))).collect()
        };
        let before = stamps(&bytes_of_or_none(&partial));
        // What an interrupted publication may leave, and halves of files, are swept away.
        if partial.exists() {
            std::fs::write(partial.join("manifest.12345.partial"), "{").unwrap();
            std::fs::create_dir_all(partial.join("packs/x")).unwrap();
        }
        let release = build(&bench, "r.toml", &["--jobs", "2"]);
        assert_eq!(bytes_of(&release), expected, "killed after {files} files");
        // Finished files are kept, not built again.
        let reused = before
            .iter()
            .filter(|(name, time)| std::fs::metadata(release.join(name)).and_then(|m| m.modified()).ok() == Some(*time))
            .count();
        assert!(reused + 2 >= kept, "{reused} of {kept} finished files were kept");
    }
}

fn bytes_of_or_none(folder: &Path) -> Vec<(String, Vec<u8>)> {
    // The build renames and removes files while this looks.
    std::panic::catch_unwind(|| if folder.exists() { bytes_of(folder) } else { Vec::new() }).unwrap_or_default()
}

#[test]
fn a_part_is_a_part_of_the_whole() {
    let bench = Bench::new();
    bench.write("r.toml", &small("parts", QUICK));
    let whole = build(&bench, "r.toml", &[]);
    // A language alone: its very rows, though the ranking counts all languages. A store of its own.
    let zh = build(&bench, "r.toml", &["--languages", "zh", "--out", "zh"]);
    for path in data_files(&zh) {
        assert_eq!(std::fs::read(zh.join(&path)).unwrap(), std::fs::read(whole.join(&path)).unwrap(), "{path}");
    }
    assert_eq!(data_files(&zh).len(), 2);
    // The same part, however it is asked for.
    let some = build(&bench, "r.toml", &["--languages", "en,zh"]);
    let others = bench.run(&["recipe", "r.toml", "--languages", "zh, en,zh"]).success();
    assert_eq!(others.release(&bench), some);
    assert!(others.out.contains("was built before"), "{}", others.out);
    // A length alone.
    let short = build(&bench, "r.toml", &["--lengths", "2k", "--out", "short"]);
    for path in data_files(&short) {
        assert_eq!(std::fs::read(short.join(&path)).unwrap(), std::fs::read(whole.join(&path)).unwrap(), "{path}");
    }
    // The first instances.
    let (five, twelve) =
        (build(&bench, "r.toml", &["--limit", "5"]), build(&bench, "r.toml", &["--limit", "12", "--out", "b"]));
    for path in data_files(&five) {
        let (few, more, all) = (prompts(&five.join(&path)), prompts(&twelve.join(&path)), prompts(&whole.join(&path)));
        assert_eq!((few.len(), more.len(), all.len()), (5, 12, 20));
        assert_eq!(few[..], all[..5], "{path}");
        assert_eq!(more[..], all[..12], "{path}");
    }
    let tasks: std::collections::BTreeSet<String> = prompts(&five.join(&data_files(&five)[0]))
        .into_iter()
        .map(|(id, _)| id.split('-').next().unwrap().to_owned())
        .collect();
    assert!(tasks.len() >= 4, "five instances of {tasks:?}");
}

#[test]
fn the_rows_are_what_the_recipe_says() {
    let bench = Bench::new();
    bench.write("r.toml", &small("rows", "[grid]\nlengths = [\"0k\", \"2k\", \"4k\"]\n\n[distractors]\npool = 600\n"));
    let release = build(&bench, "r.toml", &[]);
    let mut by_instance: BTreeMap<String, Vec<Vec<String>>> = BTreeMap::new();
    let mut slots: BTreeMap<(String, String), Vec<(usize, usize)>> = BTreeMap::new();
    for path in data_files(&release) {
        for batch in batches(&release.join(&path)) {
            for row in 0..batch.num_rows() {
                let get = |name: &str| text(&batch, name, row);
                let prompt = get("prompt");
                let length: u64 = get("length").trim_end_matches('k').parse().unwrap();
                let n_tokens = int(&batch, "n_tokens", row) as u64;
                if length > 0 {
                    assert!(n_tokens + 64 + 32 <= length * 1000, "{}", get("id"));
                }
                let spans = read_spans(&batch, row);
                assert!(spans.windows(2).all(|w| w[0].end < w[1].start), "{}: facts keep their order", get("id"));
                assert!(
                    spans.iter().any(|s| s.supporting)
                        || get("source_task").starts_with("qa7")
                        || get("source_task").starts_with("qa8")
                );
                for span in &spans {
                    let bytes = prompt.as_bytes();
                    assert_eq!((bytes[span.start as usize - 1], bytes[span.end as usize]), (b'\n', b'\n'));
                }
                let ids = texts(&batch, "distractor_ids", row);
                assert_eq!(ids.is_empty(), length == 0);
                by_instance.entry(get("instance_id").to_owned()).or_default().push(ids.clone());
                // The slot of each fact among the passages: lines between facts tell it.
                let depths = spans.iter().map(|s| (s.token_start as usize, ids.len())).collect();
                slots.insert((get("instance_id").to_owned(), format!("{}{}", get("language"), get("length"))), depths);
            }
        }
    }
    for (instance, mut sets) in by_instance {
        sets.sort_by_key(Vec::len);
        for pair in sets.windows(2) {
            assert!(
                pair[0].iter().all(|id| pair[1].contains(id)),
                "{instance}: a shorter haystack is part of a longer"
            );
            // Passages that both hold stand in the same order in both.
            let common: Vec<&String> = pair[1].iter().filter(|id| pair[0].contains(id)).collect();
            assert_eq!(common, pair[0].iter().collect::<Vec<_>>(), "{instance}");
        }
    }
}

#[test]
fn short_by_less_than_the_next_distractor() {
    use nihbuild::record::LocalPool;
    use nihbuild::stage::assemble::Sizes;
    use nihbuild::stage::assemble::fit;
    let mut pool = LocalPool::default();
    for tokens in [50, 70, 30] {
        pool.push("x\n", tokens);
    }
    let sizes = Sizes::for_tests(100, 400);
    let row = |budget| fit(0, &sizes, &[1, 0, 2], &pool, Some(budget), &[]).map(|row| (row.passages, row.tokens));
    assert_eq!(row(169).unwrap(), (0, 100));
    assert_eq!(row(170).unwrap(), (1, 170));
    // The third passage would fit where the second does not: it is not taken out of turn.
    assert_eq!(row(219).unwrap(), (1, 170));
    assert_eq!(row(220).unwrap(), (2, 220));
    assert!(row(99).is_err() && row(250).is_err());
}

#[test]
fn options_of_the_recipe() {
    let variants = [
        ("noise", "kind = \"noise\""),
        ("action", "variant = \"same_action\""),
        ("object", "variant = \"same_object\""),
    ];
    for (name, key) in variants {
        let bench = Bench::new();
        bench
            .write("r.toml", &small(name, &format!("[grid]\nlengths = [\"2k\"]\n[distractors]\npool = 3000\n{key}\n")));
        let release = build(&bench, "r.toml", &[]);
        bench.run(&["verify", "--full", release.to_str().unwrap()]).success();
        let certificate = if name == "noise" { "contained" } else { "solved" };
        if name != "noise" {
            only(&release, name);
        }
        for path in data_files(&release) {
            for batch in batches(&release.join(&path)) {
                assert!((0..batch.num_rows()).all(|row| text(&batch, "certificate", row) == certificate));
            }
        }
    }
    let others = [
        ("ranked", "[prompt]\norder = \"ranked\"\n"),
        ("own", "[retrieval]\nranking = \"per_language\"\n"),
        ("passage", "[retrieval]\nquery = \"passage\"\n"),
        ("english", "[prompt]\ninstruction_language = \"en\"\n"),
        ("kibi", "[budget]\nunit = 1024\nanswer = { zero_shot = 100 }\n"),
        ("cl", "[tokens]\nprimary = \"cl100k_base\"\n"),
        ("official", ""),
    ];
    let mut digests = Vec::new();
    for (name, section) in others {
        let bench = Bench::new();
        // The longest Hindi stories need more tokens of cl100k_base than 2k has.
        let mut recipe = small("options", "[grid]\nlengths = [\"4k\"]\n[distractors]\npool = 900\n") + section;
        if name == "official" {
            recipe = recipe.replace("\n\n[grid]", "\nanswers = \"official\"\n\n[grid]");
        }
        bench.write("r.toml", &recipe);
        let release = build(&bench, "r.toml", &[]);
        bench.run(&["verify", "--full", release.to_str().unwrap()]).success();
        if name == "english" {
            let (_, prompt) = prompts(&release.join("data/de_4k/test-00000-of-00001.parquet"))
                .into_iter()
                .find(|(id, _)| id.starts_with("qa10"))
                .unwrap();
            assert!(prompt.starts_with("The context contains"), "{prompt:.200}");
            assert!(prompt.contains("\u{201c}vielleicht\u{201d}"), "labels are those of the context");
            assert!(prompt.contains("Frage: Ist "));
        }
        digests.push((name, read_manifest(&release).unwrap().rows_digest));
    }
    for (i, (name, digest)) in digests.iter().enumerate() {
        assert!(digests[..i].iter().all(|(_, other)| other != digest), "{name} changed nothing");
    }
}

/// Distractors keep to the story's kinds of event (and moves), or to its objects.
fn only(release: &Path, variant: &str) {
    use nihbuild::language::{Language, PATTERNS, Slot};
    let pack = "en".parse::<Language>().unwrap().pack().unwrap();
    let mut distractors = 0;
    for (id, prompt) in prompts(&release.join("data/en_2k/test-00000-of-00001.parquet")) {
        if id.starts_with("qa4") {
            continue;
        }
        let context = prompt.split("<context>\n").nth(1).unwrap().split("</context>").next().unwrap();
        let messages: Vec<_> = context.lines().map(|line| pack.read(line).unwrap()).collect();
        let ours = |m: &&nihbuild::language::Message| m.slots[0] < 8 && PATTERNS[m.pattern as usize].has(Slot::A);
        let key = |m: &nihbuild::language::Message| PATTERNS[m.pattern as usize].key.trim_end_matches("_there");
        let object = |m: &nihbuild::language::Message| {
            PATTERNS[m.pattern as usize].has(Slot::O).then_some(m.slots[Slot::O.index()])
        };
        let actions: Vec<&str> = messages.iter().filter(ours).map(key).collect();
        let objects: Vec<u8> = messages.iter().filter(ours).filter_map(object).collect();
        for message in messages.iter().filter(|m| !ours(m)) {
            distractors += 1;
            match variant {
                "action" => assert!(
                    key(message) == "move" || actions.contains(&key(message)),
                    "{id}: {}",
                    pack.sentence(*message)
                ),
                _ => {
                    let fine = objects.is_empty() || object(message).is_none_or(|o| objects.contains(&o));
                    assert!(
                        fine && PATTERNS[message.pattern as usize].section != "facts",
                        "{id}: {}",
                        pack.sentence(*message)
                    );
                }
            }
        }
    }
    assert!(distractors > 1000);
}

#[test]
fn another_seed_is_another_release() {
    let bench = Bench::new();
    bench.write("r.toml", &small("seeds", QUICK));
    let (a, b) = (
        build(&bench, "r.toml", &["--languages", "en"]),
        build(&bench, "r.toml", &["--languages", "en", "--seed", "4"]),
    );
    assert_ne!(a, b);
    assert_ne!(read_manifest(&a).unwrap().rows_digest, read_manifest(&b).unwrap().rows_digest);
}

#[test]
fn a_dry_run_writes_nothing_and_says_what_would_run() {
    let bench = Bench::new();
    bench.write("r.toml", &small("dry", QUICK));
    let before = bench.run(&["recipe", "r.toml", "--dry-run"]).success();
    assert!(!bench.path("build").exists());
    assert!(
        before.out.contains("prompts       280") && before.out.contains("stages to run select, distractors"),
        "{}",
        before.out
    );
    build(&bench, "r.toml", &[]);
    let after = bench.run(&["recipe", "r.toml", "--dry-run", "--json"]).success();
    let json: serde_json::Value = serde_json::from_str(&after.out).unwrap();
    assert_eq!((json["exists"].as_bool(), json["stages_to_run"].as_array().map(Vec::len)), (Some(true), Some(0)));
}

#[test]
fn a_corrupted_store_entry_is_found_and_made_anew() {
    let bench = Bench::new();
    bench.write("r.toml", &small("entries", QUICK));
    let first = bytes_of(&build(&bench, "r.toml", &[]));
    std::fs::remove_dir_all(bench.path("build/store/retrieve")).unwrap();
    let mut corrupted = 0;
    for (name, mut bytes) in bytes_of(&bench.path("build/store")) {
        assert!(!bytes.is_empty(), "{name} is empty");
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        // Some entries lose their end instead.
        bytes.truncate(if corrupted % 2 == 0 { bytes.len() } else { middle });
        std::fs::write(bench.path("build/store").join(name), bytes).unwrap();
        corrupted += 1;
    }
    assert!(corrupted > 10);
    std::fs::rename(bench.path("build/store"), bench.path("store-kept")).unwrap();
    std::fs::remove_dir_all(bench.path("build")).unwrap();
    std::fs::create_dir(bench.path("build")).unwrap();
    std::fs::rename(bench.path("store-kept"), bench.path("build/store")).unwrap();
    let outcome = bench.run(&["recipe", "r.toml"]).success();
    assert!(outcome.err.contains("is corrupted, making it anew"), "{}", outcome.err);
    assert_eq!(bytes_of(&outcome.release(&bench)), first);
    // The ranking, which is read from its file, too.
    let ranking = bytes_of(&bench.path("build/store/retrieve")).remove(0);
    let path = bench.path("build/store/retrieve").join(&ranking.0);
    let mut bytes = ranking.1;
    bytes[40] ^= 1;
    std::fs::write(path, bytes).unwrap();
    let again = bench.run(&["recipe", "r.toml", "--limit", "20", "--lengths", "2k"]).success();
    assert!(again.err.contains("is corrupted"), "{}", again.err);
}

#[test]
fn two_builds_of_one_release_never_mix() {
    let bench = Bench::new();
    bench.write("r.toml", &small("twice", "[grid]\nlengths = [\"2k\", \"8k\"]\n[distractors]\npool = 1500\n"));
    let mut first = bench
        .command(&["recipe", "r.toml"])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    while !bench.path("build/twice/.1.0.0.lock").exists() {
        assert!(first.try_wait().unwrap().is_none(), "the first build ended at once");
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(Duration::from_millis(20));
    bench.run(&["recipe", "r.toml"]).failure(2, &["another build of this release is running", "--out"]);
    assert!(first.wait().unwrap().success());
    bench.run(&["verify", "build/twice/1.0.0"]).success();
}

#[test]
fn a_release_is_never_written_over() {
    let bench = Bench::new();
    bench.write("r.toml", &small("fixed", QUICK));
    let release = build(&bench, "r.toml", &["--languages", "en"]);
    let before = bytes_of(&release);
    bench.write("r.toml", &small("fixed", QUICK).replace("seed = 3", "seed = 4"));
    bench
        .run(&["recipe", "r.toml", "--languages", "en"])
        .failure(2, &["holds another release", "raise release.version"]);
    assert_eq!(bytes_of(&release), before);
    bench.write("r.toml", &small("fixed", QUICK));
    let file = release.join(&data_files(&release)[0]);
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[100] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    bench.run(&["recipe", "r.toml", "--languages", "en"]).failure(2, &["was changed since it was built"]);
}

#[test]
fn an_unwritable_folder_is_said_so() {
    let bench = Bench::new();
    bench.write("r.toml", &small("denied", QUICK));
    // A file where the folder should be cannot be written into, not even by root.
    bench.write("file", "");
    bench.run(&["recipe", "r.toml", "--out", "file/build"]).failure(2, &["cannot make the folder file/build"]);
}

#[test]
fn a_full_disk_leaves_no_release() {
    let bench = Bench::new();
    bench.write("r.toml", &small("full", QUICK));
    std::fs::create_dir(bench.path("disk")).unwrap();
    let disk = bench.path("disk");
    let mounted =
        std::process::Command::new("mount").args(["-t", "tmpfs", "-o", "size=700k", "tmpfs"]).arg(&disk).output();
    if !mounted.is_ok_and(|m| m.status.success()) {
        eprintln!("skipped: no small file system can be mounted here for the full disk");
        return;
    }
    let outcome = bench.run(&["recipe", "r.toml", "--out", "disk/build"]);
    let released = bench.path("disk/build/full/1.0.0").exists();
    // Room again: the same command goes on.
    let more = std::process::Command::new("mount").args(["-o", "remount,size=200m"]).arg(&disk).output();
    let again = bench.run(&["recipe", "r.toml", "--out", "disk/build"]);
    let verified = bench.run(&["verify", "disk/build/full/1.0.0"]);
    let _ = std::process::Command::new("umount").arg(&disk).output();
    outcome.failure(2, &["No space left", "free some space and run the same command again"]);
    assert!(!released);
    assert!(more.is_ok_and(|m| m.status.success()));
    again.success();
    verified.success();
}
