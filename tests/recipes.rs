//! Recipes: found where they should be, and refused with the place and the way out.

use crate::support::*;

fn refused(recipe: &str, said: &[&str]) {
    let bench = Bench::new();
    bench.write("r.toml", recipe);
    bench.run(&["recipe", "r.toml", "--dry-run"]).failure(2, said);
    assert!(!bench.path("build").exists(), "a refused recipe leaves nothing");
}

const HEAD: &str = "[release]\nname = \"x\"\nversion = \"1.0.0\"\nseed = 1\n";

#[test]
fn unknown_keys_are_pointed_at_and_the_known_listed() {
    refused(
        &format!("{HEAD}\n[grid]\nlenghts = [\"2k\"]\n"),
        &["line 7", "lenghts", "^^^^^^^", "languages", "lengths"],
    );
    refused("[relase]\nname = \"x\"\n", &["relase", "release", "^"]);
    refused(
        &format!("{HEAD}\n[stories]\ntasks = {{ basic_fact = 1 }}\n"),
        &["basic_fact", "basic_factoid", "lists_sets"],
    );
}

#[test]
fn unknown_values_are_pointed_at_and_the_known_listed() {
    for (section, said) in [
        ("[grid]\nlanguages = [\"en\", \"fr\"]\n", vec!["unknown language `fr`", "en, de, es, zh, vi, hi, ar", "^"]),
        ("[grid]\nlengths = [\"2K\"]\n", vec!["`2K` is not a length", "8k"]),
        ("[grid]\nlengths = [\"02k\"]\n", vec!["`02k` is not a length"]),
        ("[distractors]\nkind = \"syntetic\"\n", vec!["syntetic", "synthetic", "noise"]),
        ("[distractors]\nkind = [\"noise\", \"x\"]\n", vec!["unknown variant `x`", "synthetic"]),
        ("[retrieval]\nranking = \"pivoted\"\n", vec!["pivoted", "pivot", "per_language"]),
        ("[tokens]\nprimary = \"gpt2\"\n", vec!["gpt2", "o200k_base", "cl100k_base"]),
        ("[budget]\nanswer = \"many\"\n", vec!["expected a number of tokens"]),
        ("[stories]\nanswers = \"even\"\n", vec!["even", "balanced", "official"]),
        ("[prompt]\nstrategies = [\"two_shot\"]\n", vec!["two_shot", "few_shot", "zero_shot"]),
    ] {
        refused(&format!("{HEAD}\n{section}"), &said);
    }
    refused("[release]\nname = \"A b\"\nversion = \"1.0.0\"\nseed = 1\n", &["`A b` is not a name", "lower-case"]);
    refused("[release]\nname = \"store\"\nversion = \"1.0.0\"\nseed = 1\n", &["not `store`"]);
    refused("[release]\nname = \"../x\"\nversion = \"1.0.0\"\nseed = 1\n", &["is not a name"]);
    refused("[release]\nname = \"x\"\nversion = \"1\"\nseed = 1\n", &["`1` is not a version"]);
    refused("[release]\nname = \"x\"\nversion = \"1.0.0\"\nseed = -1\n", &["seed", "whole number"]);
    refused("[release]\nname = \"x\"\nversion = \"1.0.0\"\n", &["missing field `seed`"]);
    refused(&format!("{HEAD}date = \"yesterday\"\n"), &["yesterday", "YYYY-MM-DD"]);
    refused(&format!("{HEAD}date = \"2025-02-29\"\n"), &["is not a date"]);
    refused(&format!("{HEAD}licence = \"a\\nb\"\n"), &["is no expression of SPDX identifiers", "CC-BY-4.0", "^"]);
    let seed = "seed = { env = \"A\", flie = \"b\" }";
    refused(&HEAD.replace("seed = 1", seed), &["expected a whole number, { env = "]);
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (section, said) in [
        ("[grid]\nlanguages = []\n", "grid.languages is empty"),
        ("[grid]\nlanguages = [\"en\", \"en\"]\n", "names en twice"),
        ("[grid]\nlengths = [\"4k\", \"4k\"]\n", "names 4k twice"),
        ("[grid]\nlengths = [\"2k\", \"2k\"]\n", "twice"),
        ("[stories]\ntasks = { yes_no = 0 }\n", "asks for no instance"),
        ("[budget]\nunit = 0\n", "budget.unit is 0"),
        ("[distractors]\npool = 0\n", "distractors.pool is 0"),
        ("[budget]\nanswer = { }\n", "no number for the strategy zero_shot"),
        ("[stories]\ntasks = { counting = 100000 }\n", "at most 99999"),
    ] {
        refused(&format!("{HEAD}\n{section}"), &[said]);
    }
}

#[test]
fn a_length_too_small_for_any_story_says_so() {
    let bench = Bench::new();
    bench.write(
        "r.toml",
        &format!("{HEAD}\n[grid]\nlengths = [\"1k\"]\n[budget]\nunit = 200\n[stories]\ntasks = {{ counting = 2 }}\n"),
    );
    bench.run(&["recipe", "r.toml"]).failure(2, &["no story of qa7 fits 1k (200 tokens less 96", "raise budget.unit"]);
}

#[test]
fn a_pool_too_small_says_so() {
    let bench = Bench::new();
    bench.write(
        "r.toml",
        &format!(
            "{HEAD}\n[grid]\nlengths = [\"16k\"]\n[distractors]\npool = 50\n[stories]\ntasks = {{ counting = 2 }}\n"
        ),
    );
    bench.run(&["recipe", "r.toml"]).failure(2, &["the pool runs out", "its 50 passages", "raise distractors.pool"]);
    assert!(!bench.path("build/x/1.0.0").exists());
    let noise =
        std::fs::read_to_string(bench.path("r.toml")).unwrap().replace("pool = 50", "pool = 20\nkind = \"noise\"");
    bench.write("noise.toml", &noise);
    bench.run(&["recipe", "noise.toml"]).failure(2, &["the pool runs out", "raise distractors.pool"]);
}

#[test]
fn a_recipe_is_a_path_else_a_name_else_built_in() {
    let bench = Bench::new();
    let name_of = |argument: &str| {
        let out = bench.run(&["recipe", argument, "--dry-run"]).success().out;
        out.lines().find(|l| l.starts_with("name = ")).unwrap().to_owned()
    };
    assert_eq!(name_of("mlrbench.toml"), "name = \"mlrbench\"");
    assert_eq!(name_of("mlrbench"), "name = \"mlrbench\"");
    bench.write("recipes/mlrbench.toml", &small("from-folder", ""));
    assert_eq!(name_of("mlrbench"), "name = \"from-folder\"");
    bench.write("mlrbench.toml", &small("from-path", ""));
    assert_eq!(name_of("mlrbench.toml"), "name = \"from-path\"");
    bench.run(&["recipe", "nothing"]).failure(
        2,
        &[
            "no recipe \"nothing\"",
            "mlrbench, mlrbench-babi, mlneedle, mlneedle-existence, mlneedle-paper, recall, recall-paper, mlrbench-paper, golden",
        ],
    );
}

#[test]
fn a_resolved_recipe_is_a_recipe() {
    let bench = Bench::new();
    let out = bench.run(&["recipe", "golden", "--dry-run"]).success().out;
    let resolved: String = out.lines().filter(|l| !l.starts_with('#')).map(|l| format!("{l}\n")).collect();
    bench.write("again.toml", &resolved);
    let again = bench.run(&["recipe", "again.toml", "--dry-run"]).success().out;
    assert_eq!(out, again);
}

#[test]
fn a_held_out_seed_is_never_written_down() {
    let bench = Bench::new();
    let recipe = small("twin", QUICK).replace("seed = 3", "seed = { env = \"NIH_TEST_SEED\" }");
    bench.write("r.toml", &recipe);
    bench.run(&["recipe", "r.toml"]).failure(2, &["NIH_TEST_SEED", "not set"]);
    let short = bench.command(&["recipe", "r.toml"]).env("NIH_TEST_SEED", "1234").output().unwrap();
    Outcome::of(short).failure(2, &["too short to stay secret"]);
    let secret = "s3cr3t-of-the-publisher";
    let build = |value: &str, out: &str| {
        let output = bench
            .command(&["recipe", "r.toml", "--languages", "en", "--out", out])
            .env("NIH_TEST_SEED", value)
            .output();
        Outcome::of(output.unwrap()).success()
    };
    let outcome = build(secret, "a");
    let release = outcome.release(&bench);
    for (name, bytes) in bytes_of(&bench.path("a")) {
        let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
        assert!(!found, "{name} holds the seed");
    }
    assert!(!outcome.out.contains(secret) && !outcome.err.contains(secret));
    assert!(std::fs::read_to_string(release.join("recipe.toml")).unwrap().contains("digest = "));
    // Another secret, another release; from a file, the same.
    let other = build("another-secret-of-the-publisher", "b").release(&bench);
    let digest = |release: &std::path::Path| nihbuild::verify::read_manifest(release).unwrap().rows_digest;
    assert_ne!(digest(&release), digest(&other));
    bench.write("seed.txt", &format!("{secret}\n"));
    bench.write("r.toml", &recipe.replace("env = \"NIH_TEST_SEED\"", "file = \"seed.txt\""));
    let same = bench.run(&["recipe", "r.toml", "--languages", "en", "--out", "c"]).success().release(&bench);
    assert_eq!(digest(&release), digest(&same));
    bench.run(&["verify", release.to_str().unwrap()]).success();
    // What was published cannot be rebuilt without the seed, and says so.
    bench
        .run(&["recipe", release.join("recipe.toml").to_str().unwrap()])
        .failure(2, &["held out", "only its publisher"]);
}
