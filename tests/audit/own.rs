//! Releases of our own as plain prompt sets: nothing is found that is not so.

use crate::support::{Bench, change, data_files};
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
    assert_eq!((code, &json["findings"]), (Some(0), &serde_json::json!([])), "{json:#}");
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
    assert_eq!((code, id(&json)), (Some(1), vec!["doubled_mark".into()]));
    // Without a profile or a map, a release is no plain set.
    bench.run(&["audit", release.to_str().unwrap()]).failure(2, &["--profile generic"]);
}

#[test]
fn old_releases() {
    let bench = Bench::new();
    for name in ["first-1.0.0", "ledger-1.0.0", "needle-1.0.0"] {
        let release = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/releases").join(name);
        let (code, json) = audited(&bench, &release.join("data"));
        assert_eq!((code, &json["findings"]), (Some(0), &serde_json::json!([])), "{name}: {json:#}");
    }
}
