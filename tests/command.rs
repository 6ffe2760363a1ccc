//! The command line as people meet it.

use crate::support::*;
use std::io::Write;

#[test]
fn help_and_usage() {
    let bench = Bench::new();
    let help = bench.run(&["--help"]).success();
    for word in ["recipe", "verify", "show", "Exit codes"] {
        assert!(help.out.contains(word), "{}", help.out);
    }
    let help = bench.run(&["recipe", "--help"]).success();
    for flag in [
        "--limit",
        "--languages",
        "--lengths",
        "--seed",
        "--out",
        "--data",
        "--jobs",
        "--offline",
        "--dry-run",
        "--json",
    ] {
        assert!(help.out.contains(flag), "{flag}");
    }
    let script = bench.run(&["completions", "bash"]).success().out;
    assert!(script.contains("--languages") && script.contains("verify"));
    bench.run(&["bake"]).failure(2, &["unrecognized subcommand"]);
    bench.run(&["recipe", "golden", "--languages", "fr"]).failure(2, &["unknown language `fr`", "en, de"]);
    bench.run(&["recipe", "golden", "--lengths", "8k"]).failure(2, &["the recipe has no 8k, it has 0k, 2k, 4k"]);
    bench.run(&["recipe", "golden", "--limit", "0"]).failure(2, &["leaves no instance"]);
    bench.run(&["recipe", "golden", "--jobs", "0"]).failure(2, &["at least one thread"]);
    bench.run(&["recipe", "golden", "--jobs", "40000"]).failure(2, &["at most 1024"]);
}

#[test]
fn show_marks_needles_and_prints_json() {
    let bench = Bench::new();
    let release = bench.run(&["recipe", "golden", "--languages", "de", "--lengths", "2k"]).success().release(&bench);
    let path = release.to_str().unwrap();
    let id = "qa1-00000-de-2k-zero_shot-synthetic";
    let shown = bench.run(&["show", path, id]).success();
    let body = shown.out.split("</context>").next().unwrap();
    assert_eq!(body.matches("[[").count(), 1, "qa1 rests on one fact: {}", shown.out);
    assert!(shown.out.contains("certificate  solved"), "{}", shown.out);
    let json: serde_json::Value =
        serde_json::from_str(&bench.run(&["show", path, id, "--json"]).success().out).unwrap();
    let span = json["needle_spans"].as_array().unwrap().iter().find(|s| s["supporting"] == true).unwrap();
    let (start, end) = (span["start"].as_u64().unwrap() as usize, span["end"].as_u64().unwrap() as usize);
    let needle = &json["prompt"].as_str().unwrap()[start..end];
    assert!(shown.out.contains(&format!("[[{needle}]]")), "{needle}");
    // The beginning of an id lists the rows that begin so.
    let listed = bench.run(&["show", path, "qa2"]).success().out;
    assert!(listed.lines().count() == 4 && listed.lines().all(|l| l.starts_with("qa2-0000")), "{listed}");
    bench.run(&["show", path, "qa1-99999-de-2k-zero_shot-synthetic"]).failure(2, &["no row", "such as qa"]);
    bench.run(&["show", path, "nonsense"]).failure(2, &["no row \"nonsense\"", "an id is"]);
}

#[test]
fn the_result_as_json() {
    let bench = Bench::new();
    let out = bench.run(&["recipe", "golden", "--languages", "vi", "--lengths", "0k", "--json"]).success().out;
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(json["accepted"], "same");
    assert_eq!(json["manifest"]["rows"], 40);
    assert!(json["manifest"]["canary"].as_str().unwrap().starts_with("golden 1.0.0 canary "));
}

const FACTS: &str = "1 Mary went to the garden.\n2 John moved to the park.\n3 Where is Mary? \tgarden\t1\n";

/// A recipe for one question of qa1, from a folder of bAbI files of our own.
fn babi_recipe(archive: &str) -> String {
    format!(
        "[release]\nname = \"own\"\nversion = \"1.0.0\"\nseed = 1\n[source]\nkind = \"babi\"\n{archive}\n[stories]\ntasks = {{ basic_factoid = 1 }}\n\
         [grid]\nlengths = [\"0k\", \"2k\"]\nlanguages = [\"en\", \"zh\"]\n[distractors]\npool = 300\n"
    )
}

#[test]
fn babi_from_a_folder_and_its_faults() {
    let bench = Bench::new();
    bench.write("r.toml", &babi_recipe(""));
    bench.run(&["recipe", "r.toml"]).failure(2, &["reads bAbI's files, and pins none", "--data DIR"]);
    std::fs::create_dir(bench.path("empty")).unwrap();
    bench
        .run(&["recipe", "r.toml", "--data", "empty"])
        .failure(2, &["holds neither en/qa1_*.txt nor tasks_1-20_v1-2.tar.gz"]);
    bench.write("data/en/qa1_single-supporting-fact_test.txt", FACTS);
    let release = bench.run(&["recipe", "r.toml", "--data", "data"]).success().release(&bench);
    bench.run(&["verify", release.to_str().unwrap()]).success();
    bench.write("pinned.toml", &babi_recipe("archive = \"babi-v1.2\""));
    bench
        .run(&["recipe", "pinned.toml", "--data", "data", "--out", "p"])
        .failure(2, &["is not the pinned file", "SHA-256", "leave out `archive`"]);
    bench.write("unknown.toml", &babi_recipe("archive = \"babi-v9\""));
    bench.run(&["recipe", "unknown.toml", "--data", "data"]).failure(2, &["babi-v9", "has no pin", "babi-v1.2"]);
    bench.write("bad/en/qa1_x_test.txt", "1 Mary went to the moon.\n");
    bench.run(&["recipe", "r.toml", "--data", "bad"]).failure(2, &["qa1_x_test.txt, line 1"]);
    std::fs::write(bench.path("bad/en/qa1_x_test.txt"), b"1 Mary went to the garden.\n\xff\n").unwrap();
    bench.run(&["recipe", "r.toml", "--data", "bad"]).failure(2, &["not UTF-8", "line 2"]);
    // A file under another task's name is not that task.
    let other = "1 Mary got the milk.\n2 What is Mary carrying?\tmilk\t1\n";
    bench.write("misnamed/en/qa1_x_test.txt", other);
    bench.run(&["recipe", "r.toml", "--data", "misnamed"]).failure(2, &["not a question of qa1", "line 2"]);
    bench.write("few.toml", &babi_recipe("").replace("basic_factoid = 1", "basic_factoid = 3"));
    bench.run(&["recipe", "few.toml", "--data", "data"]).failure(2, &["no file qa5_*_test.txt"]);
}

fn archive(bench: &Bench, name: &str, members: &[(&str, &[u8])]) {
    let file = std::fs::File::create(bench.path(name)).unwrap();
    let mut tar = tar::Builder::new(flate2::write::GzEncoder::new(file, flate2::Compression::fast()));
    for (path, bytes) in members {
        let mut header = tar::Header::new_gnu();
        // set_path refuses what leaves the archive, so the name is put in raw.
        header.as_gnu_mut().unwrap().name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        tar.append(&header, *bytes).unwrap();
    }
    tar.into_inner().unwrap().finish().unwrap().flush().unwrap();
}

#[test]
fn babi_from_an_archive_and_its_faults() {
    let bench = Bench::new();
    bench.write("r.toml", &babi_recipe(""));
    std::fs::create_dir(bench.path("d")).unwrap();
    let name = "d/tasks_1-20_v1-2.tar.gz";
    let good = ("tasks_1-20_v1-2/en/qa1_single-supporting-fact_test.txt", FACTS.as_bytes());
    archive(&bench, name, &[good, ("tasks_1-20_v1-2/hn/qa1_single-supporting-fact_test.txt", b"other")]);
    let release = bench.run(&["recipe", "r.toml", "--data", "d"]).success().release(&bench);
    bench.run(&["verify", release.to_str().unwrap()]).success();
    bench.write("pinned.toml", &babi_recipe("archive = \"babi-v1.2\""));
    bench.run(&["recipe", "pinned.toml", "--data", "d", "--out", "p"]).failure(2, &["bytes, pinned are 15719851"]);
    archive(&bench, name, &[("../en/qa1_x_test.txt", FACTS.as_bytes())]);
    bench.run(&["recipe", "r.toml", "--data", "d", "--out", "o"]).failure(2, &["leads out of it"]);
    // A bomb: one member larger than any bAbI file, a few kilobytes packed.
    archive(&bench, name, &[("t/en/qa1_x_test.txt", &vec![b' '; (64 << 20) + 1])]);
    bench.run(&["recipe", "r.toml", "--data", "d", "--out", "o"]).failure(2, &["is larger than"]);
    archive(&bench, name, &[good, good]);
    bench.run(&["recipe", "r.toml", "--data", "d", "--out", "o"]).failure(2, &["as a link, a device, or twice"]);
    archive(&bench, name, &[good]);
    let bytes = std::fs::read(bench.path(name)).unwrap();
    std::fs::write(bench.path(name), &bytes[..bytes.len() / 2]).unwrap();
    bench.run(&["recipe", "r.toml", "--data", "d", "--out", "o"]).failure(2, &["cannot read the archive", "truncated"]);
}

#[test]
fn the_official_files_build() {
    let Some(data) = real_data("mlrbench-babi") else { return };
    let bench = Bench::new();
    let data = data.join("babi");
    let args = ["recipe", "mlrbench-babi", "--limit", "10", "--lengths", "0k,2k", "--data", data.to_str().unwrap()];
    let outcome = bench.run(&args).success();
    assert!(outcome.out.contains("343 several places"), "{}", outcome.out);
    let release = outcome.release(&bench);
    bench.run(&["verify", "--full", release.to_str().unwrap()]).success();
}

#[test]
fn a_closed_pipe_is_no_panic() {
    let bench = Bench::new();
    let mut child = bench
        .command(&["recipe", "golden", "--dry-run"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(!String::from_utf8_lossy(&output.stderr).contains("panicked"));
}
