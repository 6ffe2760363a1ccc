//! `verify`: a sound release passes, anything touched is found.

use crate::support::*;
use nihbuild::hash::Digest;
use nihbuild::verify::{Depth, Report, verify};
use std::path::{Path, PathBuf};

fn release(bench: &Bench) -> PathBuf {
    bench.write("r.toml", &small("touched", QUICK));
    bench.run(&["recipe", "r.toml", "--languages", "en,hi", "--limit", "10"]).success().release(bench)
}

fn check(release: &Path) -> Report {
    verify(release, Depth::Full, 2).unwrap()
}

#[test]
fn a_sound_release_passes_and_every_touch_is_found() {
    let bench = Bench::new();
    let release = release(&bench);
    let sound = check(&release);
    assert_eq!((sound.n_findings, sound.rows, sound.proven, sound.counted_whole), (0, 40, 40, 40));
    assert_eq!(sound.rederived, 40);
    let en = "data/en_2k/test-00000-of-00001.parquet";
    let hi = "data/hi_2k/test-00000-of-00001.parquet";
    let original = bytes_of(&release);
    let restore = || {
        std::fs::remove_dir_all(&release).unwrap();
        for (name, bytes) in &original {
            let path = release.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
    };
    // Bytes.
    let mut bytes = std::fs::read(release.join(en)).unwrap();
    bytes[2000] ^= 1;
    std::fs::write(release.join(en), bytes).unwrap();
    found(&check(&release), en, "SHA256SUMS says");
    restore();
    std::fs::write(release.join("extra.txt"), "x").unwrap();
    found(&check(&release), "extra.txt", "not listed");
    restore();
    std::fs::remove_file(release.join("README.md")).unwrap();
    found(&check(&release), "README.md", "cannot be read");
    restore();
    std::fs::write(release.join(en), "no parquet").unwrap();
    reseal(&release);
    found(&check(&release), en, "is not Parquet");
    restore();
    // Rows. Each change is resealed, so that SHA256SUMS holds and only the content is wrong.
    type Touch = (&'static str, &'static str, Box<dyn Fn(&str) -> String>, &'static str);
    let touches: Vec<Touch> = vec![
        (en, "question", Box::new(|_| "Where is Fred?".to_owned()), "the question column is not the prompt's"),
        (en, "id", Box::new(|id| id.replace("-2k-", "-4k-")), "the id is not made of"),
        (en, "certificate", Box::new(|_| "trusted".to_owned()), "the certificate is"),
        (en, "prompt", Box::new(|p| p.replacen("<context>\n", "<context>\nMary went home.\n", 1)), "prompt_sha256"),
        (en, "task", Box::new(|_| "indefinite".to_owned()), "task is \"indefinite\""),
        (en, "category", Box::new(|_| "easy".to_owned()), "category is \"easy\""),
        (hi, "haystack_language", Box::new(|_| "en".to_owned()), "haystack_language is"),
        (hi, "prompt_sha256", Box::new(|_| "0".repeat(64)), "prompt_sha256"),
    ];
    for (file, column, with, what) in touches {
        change(&release.join(file), column, 3, &*with);
        reseal(&release);
        let report = check(&release);
        found(&report, file, what);
        // The prompt's own digest stands in for its text.
        if column != "prompt" {
            found(&report, file, "its rows digest is");
        }
        restore();
    }
    type ListTouch = (&'static str, Box<dyn Fn(Vec<String>) -> Vec<String>>, &'static str);
    let touches: Vec<ListTouch> = vec![
        ("distractor_ids", Box::new(|ids| ids.into_iter().rev().collect()), "not stand in the order of their instance"),
        ("distractor_ids", Box::new(|ids| ids.into_iter().skip(1).collect()), "n_distractors is"),
        ("distractor_ids", Box::new(|ids| ids.iter().map(|_| ids[0].clone()).collect()), "stands there twice"),
        (
            "distractor_ids",
            Box::new(|ids| ids.into_iter().map(|id| id.replace('s', "n")).collect()),
            "is not its kind's letter",
        ),
        ("answers", Box::new(|_| vec!["nowhere".to_owned()]), "the gold [\"nowhere\"]"),
        ("answer_variants", Box::new(|_| vec!["anything".to_owned()]), "answer_variants are not"),
    ];
    for (column, with, what) in touches {
        change_list(&release.join(en), column, 3, &*with);
        reseal(&release);
        found(&check(&release), en, what);
        restore();
    }
    // A prompt changed together with its digest: what it says is checked.
    let forge = |with: &dyn Fn(&str) -> String, what: &str| {
        let path = release.join(en);
        change(&path, "prompt", 3, with);
        let (_, prompt) = prompts(&path).remove(3);
        change(&path, "prompt_sha256", 3, &|_| Digest::of(&prompt).to_string());
        reseal(&release);
        found(&check(&release), en, what);
        restore();
    };
    forge(&|p| p.replacen("<context>\n", "<context>\nMary went home.\n", 1), "no pattern of the language pack");
    forge(&|p| p.replacen("<context>\n", "<context>\nMary went to the park.\n", 1), "out of order");
    forge(&|p| p.replace("\n</context>", "\nAlice went to the park.\n</context>"), "another depth than recorded");
    forge(&|p| p.replace("<context>", ""), "no context between its tags");
    forge(&|p| p.to_owned() + " ", "recorded are");
    forge(&|p| p.replacen("short statements", "brief statements", 1), "the text around the context");
    // A file left out, in the manifest as well.
    std::fs::remove_dir_all(release.join("data/hi_2k")).unwrap();
    let manifest = release.join("manifest.json");
    let mut json: serde_json::Value = serde_json::from_slice(&std::fs::read(&manifest).unwrap()).unwrap();
    json["files"].as_array_mut().unwrap().retain(|f| f["path"] != hi);
    std::fs::write(&manifest, json.to_string()).unwrap();
    sign(&release);
    found(&check(&release), hi, "recipe and filter give this file");
    restore();
    // Paths that lead out of the release are not followed.
    let sums = release.join("SHA256SUMS");
    let text = std::fs::read_to_string(&sums).unwrap() + &format!("{}  /dev/zero\n", "0".repeat(64));
    std::fs::write(&sums, text).unwrap();
    found(&check(&release), "SHA256SUMS", "which is not inside the release");
    restore();
    // The manifest.
    for (from, to, what) in [
        ("\"over\": 0", "\"over\": 3", "its rows come to"),
        (" canary ", " canari ", "the canary is not"),
        ("\"qa1\": 1", "\"qa1\": 2", "instances are not those"),
    ] {
        let text = std::fs::read_to_string(&manifest).unwrap();
        assert!(text.contains(from), "{from}");
        std::fs::write(&manifest, text.replacen(from, to, 1)).unwrap();
        reseal(&release);
        let report = check(&release);
        assert!(report.findings.iter().any(|f| f.what.contains(what)), "{what}: {:#?}", report.findings);
        restore();
    }
    let text = std::fs::read_to_string(&manifest).unwrap();
    std::fs::write(&manifest, text.replacen("\"rows\": 40", "\"rows\": 41", 1)).unwrap();
    reseal(&release);
    found(&check(&release), "manifest.json", "rows were read");
    restore();
    assert_eq!(check(&release).n_findings, 0);
}

#[test]
fn lists_are_called_as_their_writer_likes() {
    use arrow_schema::{DataType, Field, Schema};
    use nihbuild::table::{SCHEMA, has_columns};
    use std::sync::Arc;
    fn renamed(kind: &DataType) -> DataType {
        match kind {
            DataType::List(of) => DataType::List(Arc::new(Field::new("element", renamed(of.data_type()), true))),
            DataType::Struct(fields) => DataType::Struct(fields.iter().map(|f| field(f, f.name())).collect()),
            other => other.clone(),
        }
    }
    fn field(field: &Field, name: &str) -> Field {
        Field::new(name, renamed(field.data_type()), true)
    }
    let all = |last: &str| {
        let n = SCHEMA.fields().len();
        let name = |place: usize, f: &Field| if place + 1 == n { last.to_owned() } else { f.name().clone() };
        let fields = SCHEMA.fields().iter().enumerate().map(|(place, f)| field(f, &name(place, f)));
        Schema::new(fields.collect::<Vec<_>>())
    };
    let format = nihbuild::manifest::FORMAT;
    assert!(has_columns(&SCHEMA, format) && has_columns(&all("prompt_sha256"), format));
    assert!(!has_columns(&all("sha"), format) && !has_columns(&SCHEMA, 1));
}

#[test]
fn exit_codes_of_verify() {
    let bench = Bench::new();
    let release = release(&bench);
    let path = release.to_str().unwrap();
    let well = bench.run(&["verify", path, "--json"]).success();
    let json: serde_json::Value = serde_json::from_str(&well.out).unwrap();
    assert_eq!((json["n_findings"].as_u64(), json["proven"].as_u64()), (Some(0), Some(40)));
    std::fs::write(release.join("extra.txt"), "x").unwrap();
    bench.run(&["verify", path]).failure(1, &["extra.txt: is not listed in SHA256SUMS", "1 finding;"]);
    bench.run(&["verify", "nowhere"]).failure(2, &["cannot read nowhere/manifest.json", "folder of a release"]);
}

#[test]
fn old_releases_still_verify() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/releases");
    let all = nihbuild::store::sorted_dir(&folder).unwrap();
    let mut formats = std::collections::BTreeSet::new();
    for old in all {
        let report = check(&old);
        assert_eq!(report.n_findings, 0, "{}: {:#?}", old.display(), report.findings);
        let manifest = nihbuild::verify::read_manifest(&old).unwrap();
        // Rows with the best sentences alone prove nothing.
        let cut = manifest.files.iter().filter(|file| file.path.contains("_rag_")).map(|file| file.rows).sum::<u64>();
        assert!(report.proven > 0 && report.proven + cut == report.rows);
        assert_eq!(verify(&old, Depth::Quick, 2).unwrap().n_findings, 0);
        formats.insert(manifest.format);
    }
    assert_eq!(formats, (1..=nihbuild::manifest::FORMAT).collect(), "a release of each format is kept");
}
