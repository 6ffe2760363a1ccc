//! Releases of our own as plain prompt sets: nothing is found that is not so.

use crate::support::{Bench, change, data_files, prompts, rows};
use nihbuild::table;
use serde_json::Value;
use std::path::Path;

fn audited(bench: &Bench, data: &Path) -> (Option<i32>, Value) {
    let run = bench.run(&["audit", "--profile", "generic", "--json", data.to_str().unwrap()]);
    (run.code, serde_json::from_str(&run.out).unwrap_or_else(|e| panic!("{e}: {}", run.err)))
}

#[test]
fn the_golden_release() {
    let bench = Bench::new();
    let release = bench.run(&["recipe", "golden"]).success().release(&bench);
    let (code, json) = audited(&bench, &release.join("data"));
    // Stories without distractors are the same under both kinds of distractors: that is so, and all that is found.
    let found = json["findings"].as_array().unwrap();
    let languages = nihbuild::language::Language::of_the_papers();
    let mut copies: Vec<String> = languages.map(|l| format!("{l}_0k_synthetic/test-00000-of-00001.parquet")).collect();
    copies.sort();
    assert_eq!(
        (code, found.iter().map(|f| f["file"].as_str().unwrap()).collect::<Vec<_>>()),
        (Some(1), copies.iter().map(String::as_str).collect())
    );
    assert!(found.iter().all(|f| f["check"] == "duplicate_row" && f["row"].is_null()), "{json:#}");
    for copy in &copies {
        let texts = |name: &str| {
            prompts(&release.join("data").join(name)).into_iter().map(|(_, text)| text).collect::<Vec<_>>()
        };
        assert_eq!(texts(copy), texts(&copy.replace("synthetic", "noise")));
    }
    let looked = |check: &str| -> u64 {
        let groups = json["summary"][check].as_object().unwrap_or_else(|| panic!("{check} looked at nothing"));
        groups.values().map(|count| count["of"].as_u64().unwrap()).sum()
    };
    assert_eq!(looked("duplicate_row"), json["rows"].as_u64().unwrap());
    for check in ["answer_absent", "answer_in_question", "script_mix", "near_duplicate", "over_length"] {
        assert!(looked(check) > 0, "{check}");
    }
    // A touched row is found.
    let file = release.join(&data_files(&release)[0]);
    let id = |json: &Value| json["findings"].as_array().unwrap().iter().map(|f| f["check"].clone()).collect::<Vec<_>>();
    change(&file, "question", 1, &|question| format!("{question}\u{ff1f}?"));
    let (code, json) = audited(&bench, &release.join("data"));
    assert_eq!(
        (code, id(&json).iter().filter(|check| *check != "duplicate_row").collect::<Vec<_>>()),
        (Some(1), vec![&Value::from("doubled_mark")])
    );
    // Without a profile or a map, a release is no plain set: it is built again, from sound bytes.
    bench.run(&["audit", release.to_str().unwrap()]).failure(2, &["nihbuild verify"]);
    let sums = |flag: &str| bench.run(&["audit", release.to_str().unwrap(), flag, "x.html"]);
    sums("--html").failure(2, &["--html does nothing where a release is built again", "--profile generic"]);
}

#[test]
fn old_releases() {
    let bench = Bench::new();
    for name in ["first-1.0.0", "ledger-1.0.0", "needle-1.0.0"] {
        let release = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/releases").join(name);
        let (_, json) = audited(&bench, &release.join("data"));
        // The needles' collection has too few passages to fill a length, which is found; and nothing else.
        for finding in json["findings"].as_array().unwrap() {
            assert_eq!((name, &finding["check"]), ("needle-1.0.0", &"short_length".into()), "{finding:#}");
            let file = release.join("data").join(finding["file"].as_str().unwrap());
            let (batch, row) = rows(&file).remove(finding["row"].as_u64().unwrap() as usize - 1);
            let tokens = table::int(&batch, "n_tokens", row);
            assert!(tokens < 1600 && finding["what"].as_str().unwrap().starts_with(&tokens.to_string()), "{finding:#}");
        }
    }
}
