//! What a release says of itself to hubs, loaders and people: card, licences, citation, Croissant, RO-Crate, errata.

use crate::mlneedle;
use crate::recall::recall;
use crate::support::*;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Everything that a recipe may say of its release, under `[release]`.
const ABOUT: &str = "date = \"2026-03-01\"\ncreators = [\"Ana \\\"Quote\\\" Pérez\", \"The X: Group\"]\n\
                     url = \"https://example.org/a-benchmark\"\ndescription = \"Tiny | *rows*: for tests #1.\"\nro_crate = true\n";

/// A release of stories, some of them with all that may be said of it.
fn stories(bench: &Bench, about: &str, more: &str) -> PathBuf {
    let small = small(
        "told",
        "[grid]\nlanguages = [\"en\", \"zh\", \"ar\"]\nlengths = [\"0k\", \"2k\"]\n\n[rag]\nretrievers = [\"bm25\"]\ntop_k = [20]\n\n\
         [prompt]\nstrategies = [\"zero_shot\", \"few_shot\"]\n",
    );
    bench.write("told.toml", &(small.replacen("seed = 3\n", &format!("seed = 3\n{about}"), 1) + more));
    bench.run(&["recipe", "told.toml"]).success().release(bench)
}

/// A release of one language, with this under `[release]`.
fn told(bench: &Bench, about: &str) -> PathBuf {
    let recipe = small("told", "[grid]\nlanguages = [\"en\"]\nlengths = [\"0k\"]\n");
    bench.write("told.toml", &recipe.replacen("seed = 3\n", &format!("seed = 3\n{about}"), 1));
    let _ = std::fs::remove_dir_all(bench.path("build/told"));
    bench.run(&["recipe", "told.toml"]).success().release(bench)
}

#[test]
fn odd_names_and_licences_are_written_as_each_format_has_them() {
    let bench = Bench::new();
    let release = told(&bench, "licence = \"MIT OR Apache-2.0\"\ncreators = [\"A } 50% & Co_\\\\\"]\n");
    let card = text(&release, "README.md");
    assert!(card.contains("license: \"other\"\nlicense_name: \"mit-or-apache-2.0\"\n"), "{card}");
    let name = "author = {{A \\textbraceright{} 50\\% \\& Co\\_\\textbackslash{}}},";
    assert!(card.contains(name), "expected {name} in {card}");
    let release = told(&bench, "licence = \"CC-BY-4.0 AND CC-BY-4.0\"\n");
    assert!(text(&release, "README.md").contains("license: \"cc-by-4.0\"\n"));
    let release = told(&bench, "licence = \"GPL-3.0-only WITH Classpath-exception-2.0\"\n");
    assert!(text(&release, "README.md").contains("license_name: \"gpl-3.0-only-with-classpath-exception-2.0\"\n"));
    assert!(!text(&release, "CITATION.cff").contains("\nlicense:"));
}

#[test]
fn what_is_written_spoils_nothing() {
    let bench = Bench::new();
    let release = told(&bench, "");
    let path = release.to_str().unwrap();
    let id = first_id(&release);
    bench.write("p.jsonl", &format!("{{\"id\": \"{id}\", \"output\": \"x\"}}\n"));
    bench.write("rows.jsonl", &format!("\u{feff}{{\"id\": \"{id}\", \"exact\": 1, \"any\": 0}}\n"));
    let inside = release.join("x");
    let inside = inside.to_str().unwrap();
    for args in [
        &["score", path, "p.jsonl", "--allow-missing", "--rows", "p.jsonl"][..],
        &["score", path, "p.jsonl", "--allow-missing", "--rows", inside],
        &["score", path, "--python", path],
        &["report", path, "--scores", "A=rows.jsonl", "--out", "rows.jsonl"],
        &["report", path, "--out", inside],
        &["report", path, "--plots", inside],
    ] {
        let said = if args.contains(&path) && args.last().is_some_and(|last| last.contains("told")) {
            "lies in the release"
        } else {
            "is read"
        };
        bench.run(args).failure(2, &[said]);
    }
    bench.run(&["verify", "--quick", path]).success();
    assert!(std::fs::read_to_string(bench.path("p.jsonl")).unwrap().contains("output"));
    // A link is followed; ones and noughts of the scorer in Python are scores too.
    bench.write("target", "old");
    std::os::unix::fs::symlink(bench.path("target"), bench.path("link")).unwrap();
    bench.run(&["score", path, "p.jsonl", "--allow-missing", "--rows", "link"]).success();
    assert!(bench.path("link").is_symlink() && std::fs::read_to_string(bench.path("target")).unwrap().contains(&id));
    let said = bench.run(&["report", path, "--scores", "A=rows.jsonl", "--out", "page.html"]).success();
    assert!(said.out.contains("exact 100"), "{}", said.out);
    // What is no regular file is written to.
    let fifo = bench.path("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let reader = std::thread::spawn({
        let fifo = fifo.clone();
        move || std::fs::read_to_string(fifo).unwrap()
    });
    bench.run(&["score", path, "p.jsonl", "--allow-missing", "--rows", "fifo"]).success();
    assert!(reader.join().unwrap().contains(&id));
    let kind = std::fs::metadata(&fifo).unwrap().file_type();
    assert!(std::os::unix::fs::FileTypeExt::is_fifo(&kind));
}

fn text(release: &Path, name: &str) -> String {
    std::fs::read_to_string(release.join(name)).unwrap()
}

fn json(release: &Path, name: &str) -> Value {
    serde_json::from_str(&text(release, name)).unwrap()
}

#[test]
fn every_config_loads_in_every_reader() {
    #[allow(clippy::disallowed_methods, reason = "tests may look where packages are")]
    let Some(readers) = std::env::var_os("NIHBUILD_READERS") else {
        eprintln!("skipped: no readers of data sets (NIHBUILD_READERS)");
        return;
    };
    let bench = Bench::new();
    let mut releases = vec![stories(&bench, ABOUT, "")];
    mlneedle::world(&bench);
    let grid = "[grid]\nlanguages = [\"en\", \"zh\"]\nlengths = [\"0k\", \"2k\"]\nsamples = 3\nprompts = [\"exact\", \"existence\"]\n";
    releases.push(mlneedle::build(&bench, &mlneedle::recipe(grid), &[]).success().release(&bench));
    let more = "[grid]\nlanguages = [\"en\", \"hi\"]\n[slots]\nwindow = 1600\nn_lengths = 2\nn_depths = 3\nfirst = 400\n\
                [prompt]\nlayout = \"messages\"\n[tokens]\nprimary = \"o200k_base\"\nalso = [\"cl100k_base\"]\n";
    bench.write("hidden.toml", &recall("hidden", more));
    releases.push(bench.run(&["recipe", "hidden.toml"]).success().release(&bench));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/published/load.py");
    let mut command = Command::new(Path::new(&readers).join("bin/python"));
    let outcome = Outcome::of(command.arg(script).args(&releases).output().unwrap()).success();
    assert_eq!(outcome.out.matches("rows in five readers").count(), 3, "{}", outcome.out);
}

#[test]
fn what_a_recipe_says_of_its_release_is_carried_everywhere() {
    let bench = Bench::new();
    let release = stories(&bench, ABOUT, "");
    let card = text(&release, "README.md");
    for said in [
        "pretty_name: \"told 1.0.0\"\nlicense: \"cc-by-4.0\"\nlanguage:\n- \"en\"\n- \"zh\"\n- \"ar\"\n",
        "source_datasets:\n- \"original\"\n",
        "- config_name: \"en_0k_zero_shot\"\n  default: true\n",
        "  features: &columns\n  - name: id\n    dtype: string\n",
        "Tiny \\| \\*rows\\*: for tests \\#1.",
        "author = {{Ana \"Quote\" Pérez} and {The X: Group}},\n  year = {2026},\n  url = {https://example.org/a-benchmark},",
        "| basic_factoid | retrieval | qa1 | 2 |",
        "## Errata\n\nNone are known.",
        "Nothing was read from outside.",
    ] {
        assert!(card.contains(said), "expected {said:?} in:\n{card}");
    }
    let manifest = json(&release, "manifest.json");
    for said in ["rows_digest", "canary"] {
        assert!(card.contains(manifest[said].as_str().unwrap()), "{said}");
    }
    for file in manifest["files"].as_array().unwrap() {
        let said = format!("num_examples: {}\n  download_size: {}\n", file["rows"], file["bytes"]);
        assert!(card.contains(&said), "{said}");
    }
    let citation = text(&release, "CITATION.cff");
    for said in [
        "date-released: \"2026-03-01\"\n",
        "  - name: \"Ana \\\"Quote\\\" Pérez\"\n  - name: \"The X: Group\"\n",
        "license: \"CC-BY-4.0\"\n",
        "abstract: \"Tiny | *rows*: for tests #1.\"\n",
    ] {
        assert!(citation.contains(said), "expected {said:?} in:\n{citation}");
    }
    let croissant = json(&release, "croissant.json");
    assert_eq!(croissant["datePublished"], "2026-03-01");
    assert_eq!(croissant["url"], "https://example.org/a-benchmark");
    assert_eq!(croissant["creator"][0]["name"], "Ana \"Quote\" Pérez");
    let described = |set: &Value| {
        let fields = set["field"].as_array().unwrap();
        fields.iter().map(|field| field["description"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert!(croissant["recordSet"].as_array().unwrap().iter().flat_map(described).all(|text| text.len() > 4));
    // Each file of the crate is there, and each data file in it.
    let ro_crate = json(&release, "ro-crate-metadata.json");
    let graph = ro_crate["@graph"].as_array().unwrap();
    let files: BTreeSet<&str> =
        graph.iter().filter(|node| node["@type"] == "File").map(|node| node["@id"].as_str().unwrap()).collect();
    assert!(files.iter().all(|name| release.join(name).is_file()), "{files:?}");
    assert!(data_files(&release).iter().all(|name| files.contains(name.as_str())));
    bench.run(&["verify", release.to_str().unwrap()]).success();
    // A compact release carries the same texts.
    let compact = bench.run(&["recipe", "told.toml", "--layout", "compact"]).success().release(&bench);
    for name in ["README.md", "CITATION.cff", "LICENSE.md", "croissant.json", "ro-crate-metadata.json"] {
        assert_eq!(text(&compact, name), text(&release, name), "{name}");
    }
    // Without one of them it is no release of this format, whatever its digests say.
    std::fs::remove_file(release.join("CITATION.cff")).unwrap();
    sign(&release);
    let said = "CITATION.cff: is missing: releases have it since format 5";
    bench.run(&["verify", "--quick", release.to_str().unwrap()]).failure(1, &[said]);
}

#[test]
fn columns_are_described() {
    let named: Vec<&str> = nihbuild::columns::DESCRIPTIONS.iter().map(|(name, _)| *name).collect();
    let there: Vec<&str> = nihbuild::table::SCHEMA.fields().iter().map(|field| field.name().as_str()).collect();
    assert_eq!(named, there);
}

#[test]
fn what_is_said_wrongly_is_refused() {
    let bench = Bench::new();
    let erratum = |rows: &str, more: &str| format!("\n[[errata]]\nrows = {rows}\nwhat = \"wrong\"\n{more}");
    for (about, more, said) in [
        ("licence = \"CC BY 4.0\"\n", String::new(), &["SPDX", "CC-BY-4.0"][..]),
        ("licence = \"CC-BY-4.0 AND\"\n", String::new(), &["SPDX"]),
        ("allow_conflicting_licences = true\n", String::new(), &["does nothing", "remove it"]),
        ("creators = [\"\"]\n", String::new(), &["release.creators is blank"]),
        ("creators = [\"a\", \"a\"]\n", String::new(), &["names somebody twice"]),
        ("url = \"example.org\"\n", String::new(), &["release.url", "https://"]),
        ("url = \"https://a b\"\n", String::new(), &["release.url"]),
        ("description = \"a\\nb\"\n", String::new(), &["release.description has line breaks"]),
        ("ro_crate = true\n", String::new(), &["release.ro_crate needs release.date"]),
        ("", erratum("[]", "since = \"1.0.0\"\n"), &["errata.rows is empty", "^"]),
        ("", erratum("[\"a|b\"]", "since = \"1.0.0\"\n"), &["cannot be the id of a row"]),
        ("creators = [\"\\u200b\"]\n", String::new(), &["release.creators has no letter"]),
        ("date = \"0000-01-01\"\n", String::new(), &["is not a date"]),
        ("", erratum("[\"x\", \"x\"]", "since = \"1.0.0\"\n"), &["names a row twice"]),
        ("", erratum("[\"x\"]", "since = \"1.0.1\"\n"), &["later than this release"]),
        ("", erratum("[\"x\"]", "since = \"1.0.0\"\nfixed = \"1.0.0\"\n"), &["not later than since"]),
        ("", erratum("[\"x\"]", "since = \"1.0.0\"\n"), &["no such row", "fixed ="]),
        ("", erratum("[\"x\"]", "since = \"1.0.0\"\nwhy = 1\n"), &["unknown field `why`", "fixed"]),
    ] {
        let recipe = small("told", &format!("[grid]\nlanguages = [\"en\"]\nlengths = [\"0k\"]\n{more}"));
        bench.write("told.toml", &recipe.replacen("seed = 3\n", &format!("seed = 3\n{about}"), 1));
        bench.run(&["recipe", "told.toml"]).failure(2, said);
        assert!(!bench.path("build/told/1.0.0").exists(), "{about}{more}");
    }
}

#[test]
fn errata_stay_with_later_versions() {
    let bench = Bench::new();
    let recipe = |version: &str, more: &str| {
        let recipe = small("told", &format!("[grid]\nlanguages = [\"en\"]\nlengths = [\"0k\"]\n{more}"));
        bench.write("told.toml", &recipe.replacen("1.0.0", version, 1));
        bench.run(&["recipe", "told.toml"]).success().release(&bench)
    };
    let first = recipe("1.0.0", "");
    let id = first_id(&first);
    let open = format!("\n[[errata]]\nrows = [\"{id}\"]\nwhat = \"The *answer* is | odd.\"\nsince = \"1.0.0\"\n");
    let second = recipe("1.0.1", &open);
    let line = |fixed: &str| format!("| `{id}` | 1.0.0 | {fixed} | The \\*answer\\* is \\| odd. |");
    let card = text(&second, "README.md");
    assert!(card.contains(&line("open")) && card.contains("1 rows of this version are wrong"), "{card}");
    assert_eq!(json(&second, "manifest.json")["errata"][0]["rows"][0], id);
    // Errata change no row.
    let diff = bench.run(&["diff", first.to_str().unwrap(), second.to_str().unwrap()]).success();
    assert!(diff.out.contains("PATCH"), "{}", diff.out);
    let third = recipe("1.1.0", &format!("{open}fixed = \"1.1.0\"\n"));
    let card = text(&third, "README.md");
    assert!(card.contains(&line("1.1.0")) && card.contains("0 rows of this version are wrong"), "{card}");
    // The list of a release is its recipe's.
    let forged = text(&third, "manifest.json").replace("1.1.0\"\n    }", "1.2.0\"\n    }");
    assert_ne!(forged, text(&third, "manifest.json"));
    std::fs::write(third.join("manifest.json"), forged).unwrap();
    sign(&third);
    bench.run(&["verify", third.to_str().unwrap()]).failure(1, &["errata are not the recipe's"]);
}

#[test]
fn terms_of_sources_are_passed_on() {
    let bench = Bench::new();
    mlneedle::world(&bench);
    let pins = |needle: &str, haystack: &str| {
        let mut text = String::new();
        for (n, code) in ["en", "de", "zh"].iter().enumerate() {
            let name = ["english", "german", "chinese"][n];
            for (id, file, licence) in [
                (format!("q-{code}"), format!("made-{code}.json"), needle),
                (format!("p-{code}"), format!("{name}_collection.tsv"), haystack),
            ] {
                let path = bench.path("data").join(&file);
                let (sha256, bytes) = nihbuild::hash::Digest::of_file(&path).unwrap();
                text += &format!(
                    "[[source]]\nid = \"{id}\"\nurls = [\"http://127.0.0.1/{file}\"]\nbytes = {bytes}\nsha256 = \"{sha256}\"\n\
                     licence = \"{licence}\"\n\n"
                );
            }
        }
        bench.write("pins.toml", &text)
    };
    let build = |about: &str, needle: &str, haystack: &str| {
        pins(needle, haystack);
        let recipe = mlneedle::recipe("[grid]\nlanguages = [\"en\", \"de\"]\nlengths = [\"0k\"]\nsamples = 2\n\n[haystack]\narchive = \"p-{language}\"\n")
            .replacen("dataset = \"made\"\n", "dataset = \"made\"\narchive = \"q-{language}\"\n", 1)
            .replacen("seed = 5\n", &format!("seed = 5\n{about}"), 1);
        let _ = std::fs::remove_dir_all(bench.path("build/made"));
        mlneedle::build(&bench, &recipe, &["--sources", "pins.toml", "--offline"])
    };
    // None is named: that of the sources.
    let release = build("", "CC-BY-SA-3.0", "CC-BY-4.0").success().release(&bench);
    let card = text(&release, "README.md");
    assert_eq!(json(&release, "manifest.json")["licence"], "CC-BY-4.0 AND CC-BY-SA-3.0");
    assert!(
        card.contains(
            "license: \"other\"\nlicense_name: \"cc-by-4.0-and-cc-by-sa-3.0\"\nlicense_link: \"LICENSE.md\"\n"
        ),
        "{card}"
    );
    assert!(card.contains("| p-de | CC-BY-4.0 |") && card.contains("| q-en | CC-BY-SA-3.0 |"), "{card}");
    let page = text(&release, "LICENSE.md");
    assert!(page.contains("| CC-BY-SA-3.0 | adaptations under the same licence |"), "{page}");
    build("licence = \"CC-BY-4.0\"\n", "CC-BY-SA-3.0", "CC-BY-4.0")
        .failure(2, &["does not pass on the terms of q-", "CC-BY-SA-3.0", "write licence = "]);
    // Share-alike and non-commercial do not go together, unless the recipe says so.
    let both = "licence = \"CC-BY-SA-3.0 AND LicenseRef-MS-MARCO\"\n";
    build(both, "CC-BY-SA-3.0", "LicenseRef-MS-MARCO")
        .failure(2, &["do not go together", "forbids commercial use", "allow_conflicting_licences = true"]);
    let said = format!("{both}allow_conflicting_licences = true\n");
    let release = build(&said, "CC-BY-SA-3.0", "LicenseRef-MS-MARCO").success().release(&bench);
    let page = text(&release, "LICENSE.md");
    assert!(page.contains("no commercial use") && page.contains("do not go together by themselves"), "{page}");
    assert!(!text(&release, "CITATION.cff").contains("\nlicense:"));
    bench.run(&["verify", release.to_str().unwrap()]).success();
}

/// The id of a release's first row.
fn first_id(release: &Path) -> String {
    let batch = &batches(&release.join(&data_files(release)[0]))[0];
    nihbuild::table::text(batch, "id", 0).to_owned()
}
