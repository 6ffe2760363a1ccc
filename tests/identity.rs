//! The identity of a release: digests that others can recompute, and one changed byte that is one finding.

use crate::support::*;
use nihbuild::digests;
use nihbuild::hash::Digest;
use nihbuild::provenance;
use nihbuild::seed::Seed;
use nihbuild::verify::{Depth, Report, verify};
use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn one_changed_bit_of_a_compact_release_is_one_finding() {
    let bench = Bench::new();
    bench.write("r.toml", &small("little", QUICK));
    let args = ["recipe", "r.toml", "--languages", "en,ar", "--limit", "4", "--layout", "compact"];
    let release = bench.run(&args).success().release(&bench);
    for depth in [Depth::Quick, Depth::Full] {
        let report = check(&release, depth);
        assert_eq!((report.n_findings, report.compact), (0, true), "{:#?}", report.findings);
    }
    let seed = Seed::new("compact bits");
    for (name, bytes) in bytes_of(&release) {
        let place = seed.derive("bit", &name).below(bytes.len() * 8);
        let finding = one(&release, &name, place);
        // What lists the files and what is listed may each be the one at fault.
        assert!(name == "SHA256SUMS" || finding.file == name, "{finding:?}");
    }
}

/// Everything a data file can hold, in little.
fn small_release(bench: &Bench) -> PathBuf {
    let text = "[release]\nname = \"whole\"\nversion = \"1.0.0\"\nseed = 3\n\n[stories]\ntasks = { qa1 = 2, qa8 = 2, qa13 = 1 }\n\n\
        [grid]\nlanguages = [\"en\", \"ar\"]\nlengths = [\"0k\", \"2k\"]\n\n[distractors]\nkind = \"synthetic\"\npool = 300\n\n\
        [prompt]\nstrategies = [\"zero_shot\", \"few_shot\"]\n\n[rag]\nretrievers = [\"bm25\"]\ntop_k = [10]\n";
    bench.write("r.toml", text);
    bench.run(&["recipe", "r.toml"]).success().release(bench)
}

fn sums(release: &Path) -> Vec<(String, Digest)> {
    let text = std::fs::read_to_string(release.join("SHA256SUMS")).unwrap();
    let line = |line: &str| {
        let (hex, name) = line.split_once("  ").unwrap();
        (name.to_owned(), Digest::parse(hex).unwrap())
    };
    text.lines().map(line).collect()
}

#[test]
fn a_release_names_its_parts() {
    let bench = Bench::new();
    let release = small_release(&bench);
    let statement: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(release.join(provenance::FILE)).unwrap()).unwrap();
    assert_eq!(statement["_type"], "https://in-toto.io/Statement/v1");
    assert_eq!(statement["predicateType"], "https://slsa.dev/provenance/v1");
    // Every file is named with its digest, but the statement and what lists it.
    let named: Vec<(String, Digest)> = statement["subject"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| {
            (s["name"].as_str().unwrap().to_owned(), Digest::parse(s["digest"]["sha256"].as_str().unwrap()).unwrap())
        })
        .collect();
    let listed: Vec<_> = sums(&release).into_iter().filter(|(name, _)| name != provenance::FILE).collect();
    assert_eq!(named, listed);
    let manifest = nihbuild::verify::read_manifest(&release).unwrap();
    let parameters = &statement["predicate"]["buildDefinition"];
    let recipe = Digest::of(std::fs::read(release.join("recipe.toml")).unwrap());
    assert_eq!(manifest.recipe_sha256, Some(recipe));
    assert_eq!(parameters["externalParameters"]["recipe"]["digest"]["sha256"], recipe.to_string());
    assert_eq!(parameters["internalParameters"]["stages"]["select"], manifest.stages["select"].to_string());
    let read: Vec<&str> =
        parameters["resolvedDependencies"].as_array().unwrap().iter().map(|d| d["name"].as_str().unwrap()).collect();
    assert_eq!(read, ["pack:ar", "pack:en", "tokenizer:o200k_base"]);
    // Stages have outputs; those that run only for others do not.
    for stage in ["select", "distractors", "localize ar synthetic", "localize en synthetic", "retrieve"] {
        assert!(manifest.outputs.contains_key(stage), "{stage} {:?}", manifest.outputs);
    }
    assert!(manifest.outputs.keys().all(|name| manifest.stages.contains_key(name)));
    // Built again from a store that has all of it: the same bytes, outputs included.
    let again = bench.run(&["recipe", "r.toml", "--out", "build"]).success().release(&bench);
    std::fs::rename(&again, bench.path("first")).unwrap();
    let again = bench.run(&["recipe", "r.toml"]).success().release(&bench);
    assert_eq!(bytes_of(&bench.path("first")), bytes_of(&again));
}

#[test]
fn the_usual_tools_check_a_release() {
    let bench = Bench::new();
    let release = small_release(&bench);
    let checked =
        Command::new("sha256sum").args(["-c", "--quiet", "--strict", "SHA256SUMS"]).current_dir(&release).status();
    assert!(checked.expect("sha256sum is there").success());
    // A program of others comes to the same digests from the documented rules.
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/check_release.py");
    let reader = Command::new("python3").args(["-c", "import pyarrow"]).output();
    if !reader.is_ok_and(|out| out.status.success()) {
        eprintln!("skipped: no pyarrow for the_usual_tools_check_a_release");
        return;
    }
    let out = Command::new("python3").arg(&script).arg(&release).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let digest = nihbuild::verify::read_manifest(&release).unwrap().rows_digest.to_string();
    assert!(String::from_utf8_lossy(&out.stdout).contains(&digest));
}

fn check(release: &Path, depth: Depth) -> Report {
    verify(release, depth, 2).unwrap()
}

/// The column whose values a byte of a data file belongs to; none of other files, and of Parquet's own records.
fn column_at(path: &Path, byte: usize) -> Option<String> {
    use parquet::file::reader::FileReader;
    if !path.starts_with(path.ancestors().find(|p| p.ends_with("1.0.0"))?.join("data")) {
        return None;
    }
    let reader = parquet::file::serialized_reader::SerializedFileReader::new(std::fs::File::open(path).ok()?).ok()?;
    let groups = reader.metadata().row_groups().to_vec();
    let columns = groups.iter().flat_map(|group| group.columns().to_vec()).collect::<Vec<_>>();
    let holds = |column: &&parquet::file::metadata::ColumnChunkMetaData| {
        let (start, length) = column.byte_range();
        (start as usize..(start + length) as usize).contains(&byte)
    };
    columns.iter().find(holds).map(|column| column.column_path().parts()[0].clone())
}

/// What a look at a release with one changed bit says: one finding, the same at every depth.
fn one(release: &Path, name: &str, place: usize) -> nihbuild::verify::Finding {
    let path = release.join(name);
    let before = std::fs::read(&path).unwrap();
    let mut bytes = before.clone();
    bytes[place / 8] ^= 1 << (place % 8);
    std::fs::write(&path, &bytes).unwrap();
    let quick = check(release, Depth::Quick);
    let full = check(release, Depth::Sampled);
    std::fs::write(&path, before).unwrap();
    for report in [&quick, &full] {
        assert_eq!(report.n_findings, 1, "bit {place} of {name}: {:#?}", report.findings);
    }
    assert_eq!(quick.findings, full.findings, "bit {place} of {name}");
    quick.findings[0].clone()
}

#[test]
fn one_changed_bit_is_one_finding() {
    let bench = Bench::new();
    let release = small_release(&bench);
    assert_eq!(check(&release, Depth::Quick).n_findings, 0);
    assert_eq!(check(&release, Depth::Full).n_findings, 0);
    let seed = Seed::new("bits");
    let (mut inside, mut placed) = (0, 0);
    for (name, bytes) in bytes_of(&release) {
        let tries = if name.starts_with("data/") { 4 } else { 3 };
        for n in 0..tries {
            let place = seed.derive("bit", &format!("{name} {n}")).below(bytes.len() * 8);
            let finding = one(&release, &name, place);
            // A line of SHA256SUMS and its file may each be the one at fault.
            if name != "SHA256SUMS" {
                assert_eq!(finding.file, name, "{finding:?}");
            }
            // What lies in a column is named, but for bits that no value needs.
            let Some(column) = column_at(&release.join(&name), place / 8) else { continue };
            inside += 1;
            if let Some(named) = finding.column {
                assert_eq!(named, column, "bit {place} of {name}");
                assert!(finding.row.is_some(), "bit {place} of {name}");
                placed += 1;
            }
        }
    }
    assert!(placed * 3 >= inside * 2 && inside > 10, "{placed} of {inside} findings name row and column");
}

#[test]
fn a_changed_value_is_found_in_its_row_and_column() {
    let bench = Bench::new();
    let release = small_release(&bench);
    let file = "data/en_2k_zero_shot/test-00000-of-00001.parquet";
    let path = release.join(file);
    let known = digests::read(&release).unwrap();
    let before = std::fs::read(&path).unwrap();
    for (column, row) in [("question", 1), ("id", 2), ("prompt", 3), ("certificate", 0), ("prompt_sha256", 4)] {
        change(&path, column, row, &|text| format!("{text}."));
        let report = check(&release, Depth::Quick);
        assert_eq!(report.n_findings, 1, "{:#?}", report.findings);
        let finding = &report.findings[0];
        assert_eq!((finding.file.as_str(), finding.column.as_deref()), (file, Some(column)));
        assert_eq!(finding.row.as_ref(), Some(&known[file].rows[row].0));
        // Sealed again, it is still another row than the one whose digest is published.
        reseal(&release);
        let report = check(&release, Depth::Sampled);
        assert!(report.findings.iter().any(|f| f.file == file && f.row.is_some()), "{:#?}", report.findings);
        std::fs::write(&path, &before).unwrap();
        reseal(&release);
    }
    // The same rows in other bytes.
    let batches = batches(&path);
    let out = std::fs::File::create(&path).unwrap();
    let mut writer = parquet::arrow::ArrowWriter::try_new(out, batches[0].schema(), None).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.close().unwrap();
    let report = check(&release, Depth::Quick);
    assert_eq!(report.n_findings, 1);
    assert!(report.findings[0].what.contains("its rows are the same"), "{:?}", report.findings);
    assert_eq!((&report.findings[0].row, &report.findings[0].column), (&None, &None));
}

#[test]
fn what_lists_the_files_may_be_at_fault() {
    let bench = Bench::new();
    let release = small_release(&bench);
    let path = release.join("SHA256SUMS");
    let text = std::fs::read_to_string(&path).unwrap();
    let says = |with: String, said: &str| {
        std::fs::write(&path, with).unwrap();
        for depth in [Depth::Quick, Depth::Sampled] {
            let report = check(&release, depth);
            assert_eq!(report.n_findings, 1, "{:#?}", report.findings);
            assert_eq!(report.findings[0].file, "SHA256SUMS");
            assert!(report.findings[0].what.contains(said), "{:?}", report.findings);
        }
    };
    let first = text.lines().next().unwrap();
    let digit = if first.starts_with('0') { "1" } else { "0" };
    says(text.replacen(&first[..1], digit, 1), "another SHA-256 than it has");
    says(text.replacen(&format!("{first}\n"), "", 1), "has no line for");
    says(text.replacen("  ", " ", 1), "is not `<SHA-256>  <path>`");
    says(format!("{text}{}  data/none.parquet\n", Digest::of("")), "is not there");
    says(format!("{text}{}  ../none\n", Digest::of("")), "not inside the release");
    says(format!("{text}{first}\n"), "once more");
    says(text.replacen(first, &first.to_uppercase(), 1), "is not `<SHA-256>  <path>`");
    let turned: String = text.lines().rev().map(|line| format!("{line}\n")).collect();
    says(turned, "sorted by path");
    says(String::new(), "lists nothing");
    std::fs::write(&path, text).unwrap();
    // What is no file of its own, wherever it leads.
    let link = release.join("data/en_2k_zero_shot/train.parquet");
    std::os::unix::fs::symlink(release.join("README.md"), &link).unwrap();
    let report = check(&release, Depth::Quick);
    assert_eq!(report.n_findings, 1, "{:#?}", report.findings);
    found(&report, "train.parquet", "is no regular file");
    std::fs::remove_file(link).unwrap();
    // A recipe that did not make the release, and a format that has less to hold, each with all digests made again.
    let recipe = release.join("recipe.toml");
    let before = std::fs::read_to_string(&recipe).unwrap();
    std::fs::write(&recipe, before.replacen("pool = 300", "pool = 301", 1)).unwrap();
    sign(&release);
    found(&check(&release, Depth::Sampled), "recipe.toml", "did not make this release");
    std::fs::write(&recipe, before).unwrap();
    let path = release.join("manifest.json");
    let before = std::fs::read_to_string(&path).unwrap();
    for older in [3, 4] {
        std::fs::write(&path, before.replacen("\"format\": 5", &format!("\"format\": {older}"), 1)).unwrap();
        reseal(&release);
        let said = format!("has keys that format {older} does not have");
        found(&check(&release, Depth::Quick), "manifest.json", &said);
    }
    std::fs::write(&path, before).unwrap();
    sign(&release);
    assert_eq!(check(&release, Depth::Full).n_findings, 0);
    // Sealed again, the statement is another one than the release's.
    let statement = release.join(provenance::FILE);
    let text = std::fs::read_to_string(&statement).unwrap();
    std::fs::write(&statement, text.replacen("urn:nihbuild:builder", "urn:nihbuild:other", 1)).unwrap();
    reseal(&release);
    found(&check(&release, Depth::Quick), provenance::FILE, "not the statement that this release makes");
    std::fs::remove_file(statement).unwrap();
    reseal(&release);
    found(&check(&release, Depth::Quick), provenance::FILE, "since format 4");
}
