//! Estimates, limits of cost, and recipes that make no sense.

use super::service::Service;
use super::*;

fn priced(service: &Service, max_cost: u64) -> Draft<'static> {
    let keys = service.keys("google") + "price = 20000000\n";
    let limit = if max_cost > 0 { format!("max_cost = {max_cost}\n") } else { String::new() };
    Draft { service: keys + &limit, ..Draft::default() }
}

#[test]
fn a_dry_run_reckons_and_writes_nothing() {
    let bench = Bench::new();
    let service = Service::sound();
    bench.write("r.toml", &priced(&service, 0).text());
    let dry = |json: bool| {
        let args = ["recipe", "r.toml", "--dry-run", "--json"];
        bench.run(&args[..if json { 4 } else { 3 }]).success().out
    };
    let value: serde_json::Value = serde_json::from_str(&dry(true)).unwrap();
    let [texts, characters, cost] =
        ["texts", "characters", "cost"].map(|key| value["to_translate"]["xx"][key].as_u64().unwrap());
    // 20 a million characters.
    assert!(texts > 100 && characters > 1000);
    assert_eq!(cost, characters * 20);
    let line = format!(
        "# to translate  xx: {texts} texts, {characters} characters, {}.{:06} of money",
        cost / 1_000_000,
        cost % 1_000_000
    );
    assert!(dry(false).contains(&line), "{}", dry(false));
    assert_eq!(service.requests(), 0);
    let files = nihbuild::store::sorted_dir(bench.dir.path()).unwrap();
    assert_eq!(files, [bench.path("r.toml")]);

    // It is what is asked for; afterwards nothing is left to ask.
    run(&bench, &["recipe", "r.toml"]).success();
    assert_eq!(service.asked().len() as u64, texts);
    let forth: usize = service.sent_to("xx").keys().map(|text| text.chars().count()).sum();
    assert_eq!(forth as u64 * 2, characters);
    let value: serde_json::Value = serde_json::from_str(&dry(true)).unwrap();
    assert_eq!(value["to_translate"]["xx"], serde_json::json!({ "texts": 0, "characters": 0, "cost": 0 }));
}

#[test]
fn too_dear_is_refused_before_anything_is_asked() {
    let bench = Bench::new();
    let service = Service::sound();
    bench.write("r.toml", &priced(&service, 1000).text());
    let said = ["would cost about", "more than max_cost = 1000", "raise `max_cost`", "nothing more was asked"];
    run(&bench, &["recipe", "r.toml"]).failure(2, &said);
    assert_eq!(service.requests(), 0);
    assert!(!bench.path("build/mt/1.0.0").exists());
    // Enough for all of it.
    build(&bench, &priced(&service, 100_000_000), &[]);
}

#[test]
fn a_limit_counts_the_whole_language() {
    let bench = Bench::new();
    let service = Service::sound();
    // More than the words, less than the sentences.
    bench.write("r.toml", &priced(&service, 300_000).text());
    run(&bench, &["recipe", "r.toml"]).failure(2, &["more than max_cost = 300000"]);
    assert_eq!(service.requests(), 0);
}

/// A recipe with one thing put in place of another is refused, and the error says all of this.
#[track_caller]
fn refused(find: &str, put: &str, said: &[&str]) {
    let bench = Bench::new();
    let service = "engine = \"libretranslate\"\nendpoint = \"http://127.0.0.1:9\"\n".to_owned();
    let text = Draft { translation: "attempts = 2\n", service, ..Draft::default() }.text();
    assert!(text.contains(find), "{find:?}");
    bench.write("r.toml", &text.replace(find, put));
    bench.run(&["recipe", "r.toml", "--dry-run"]).failure(2, said);
    bench.run(&["recipe", "r.toml"]).failure(2, said);
    assert!(!bench.path("build/mt/1.0.0").exists());
}

const GUEST: &str = "[translation.languages.xx]\n";

#[test]
fn bad_recipes_are_told_what_is_known() {
    let sections = ["`service`, `languages`, `attempts`, `back`, `least_similarity`"];
    refused("attempts = 2", "atempts = 2", &["unknown field `atempts`", sections[0], "r.toml"]);
    refused("attempts = 2", "attempts = 0", &["translation.attempts is 0, expected 1 to 10"]);
    refused("attempts = 2", "attempts = 11", &["translation.attempts is 11, expected 1 to 10"]);
    refused("attempts = 2", "least_similarity = 1001", &["translation.least_similarity is 1001", "0 to 1000"]);
    refused("attempts = 2", "least_similarity = 1\nback = false", &["least_similarity needs translation.back = true"]);
    refused("engine = \"libretranslate\"", "engine = \"deep\"", &["unknown variant `deep`", "`google`", "`command`"]);
    refused("endpoint", "adress", &["unknown field `adress`", "`endpoint`", "`max_cost`"]);
    refused("endpoint", "model = \"x\"\nendpoint", &["translation.service", "model: engine libretranslate has none"]);
    let typo = format!("{GUEST}nome = \"x\"\n");
    refused(GUEST, &typo, &["unknown field `nome`", "`english_name`, `women`, `men`, `spaced`, `review`"]);
    let known = ["translation.languages", "ISO 639", "pt-BR"];
    refused(GUEST, "[translation.languages.xx]\n[translation.languages.English]\n", &known);
}

#[test]
fn languages_must_be_there() {
    // Neither embedded nor declared.
    refused("\"xx\"]", "\"xx\", \"zz\"]", &["unknown language `zz`", "expected one of en, de", "r.toml"]);
    refused(GUEST, "", &["unknown language `xx`"]);
    // A section that names none.
    let none = Draft { languages: &["en"], more: "[translation.languages]\n", ..Draft::default() };
    let bench = Bench::new();
    bench.write("r.toml", &none.text());
    bench.run(&["recipe", "r.toml"]).failure(2, &["translation.languages names no language"]);
}

#[test]
fn casts_are_whole_and_told_apart() {
    let list = |n: usize| {
        let name = |k: usize| format!("\"N{}{}\"", (b'a' + (k / 26) as u8) as char, (b'a' + (k % 26) as u8) as char);
        format!("[{}]", (0..n).map(name).collect::<Vec<_>>().join(", "))
    };
    let others = |n: usize| list(n).replace("\"N", "\"M");
    let cast = |women: &str, men: &str| format!("{GUEST}women = {women}\nmen = {men}\n");
    let place = "translation.languages.xx";
    refused(GUEST, &cast(&list(19), &others(25)), &["women has 19 names, a cast needs 20", place, "English names"]);
    refused(GUEST, &cast(&list(20), &others(26)), &["men has 26 names, a cast needs 25", place]);
    refused(GUEST, &cast(&list(20), "[]"), &["women and men must both be given, or neither", place]);
    let within = list(20).replace("\"Nab\"", "\"Naa-Nab\"");
    refused(GUEST, &cast(&within, &others(25)), &["\"Naa\" and \"Naa-Nab\" cannot be told apart", place]);
    let braced = list(20).replace("\"Nab\"", "\"{A}\"");
    refused(GUEST, &cast(&braced, &others(25)), &["the name \"{A}\" cannot stand in a sentence", place]);
}
