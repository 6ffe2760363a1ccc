//! Prompts of a million tokens: built, certified and verified, and what memory that takes beside shorter ones.

use super::{Figures, PEAK};
use std::path::Path;
use std::process::Command;

/// How much memory a token more may cost, in bytes: a prompt is held as text (about five bytes a token), as it is written, as it is
/// compressed, and as numbers of tokens.
const BYTES: f64 = 64.0;

/// One process: what it printed, and its peak memory in MiB.
fn process(args: &[&str], folder: &Path) -> (String, f64) {
    let output = Command::new("/usr/bin/env")
        .args(["python3", "-c", PEAK, env!("CARGO_BIN_EXE_nihbuild")])
        .args(args)
        .current_dir(folder)
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{args:?}: {out}{err}");
    let peak = err.lines().find_map(|line| line.strip_prefix("peak")?.trim().parse::<f64>().ok()).expect("a figure");
    (out.into_owned(), peak / 1024.0)
}

/// Builds one prompt of each length from the same sources, and verifies it in full.
pub fn run(figures: &mut Figures) {
    println!("one prompt of 1,000,000 tokens");
    let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let stories = "[release]\nname = \"long\"\nversion = \"1.0.0\"\nseed = 4\n[stories]\ntasks = { qa1 = 1 }\n[distractors]\npool = 32000\n";
    let text = "[release]\nname = \"long\"\nversion = \"1.0.0\"\nseed = 4\n[source]\nkind = \"text\"\n";
    for family in ["stories", "running text"] {
        let mut peaks = Vec::new();
        for tokens in [128_000, 1_000_000] {
            let more = match family {
                "stories" => format!("{stories}[grid]\nlanguages = [\"en\"]\nlengths = [\"{}k\"]\n", tokens / 1000),
                _ => format!(
                    "{text}[grid]\nlanguages = [\"en\"]\n[slots]\nwindow = {tokens}\nn_lengths = 1\nn_depths = 1\nfirst = {tokens}\n"
                ),
            };
            let folder = root.path().join(format!("{family}-{tokens}"));
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("r.toml"), more).unwrap();
            let (out, built) = process(&["recipe", "r.toml", "--jobs", "1", "--json"], &folder);
            let json: serde_json::Value = serde_json::from_str(&out).unwrap();
            let release = json["release"].as_str().unwrap().to_owned();
            let (rows, came) =
                (json["manifest"]["rows"].as_u64().unwrap(), json["manifest"]["tokens"].as_u64().unwrap());
            let (_, verified) = process(&["verify", "--full", &release, "--jobs", "1"], &folder);
            println!("       {family}: {rows} prompt of {came} tokens; build {built:.0} MiB, verify {verified:.0} MiB");
            peaks.push((came as f64 / rows as f64, built, verified));
        }
        let [short, long] = peaks[..] else { unreachable!("two lengths") };
        figures.check(
            &format!("{family}: tokens of the long prompt"),
            format!("{:.0}", long.0),
            ">= 990,000",
            long.0 >= 990_000.0,
        );
        let tokens = long.0 - short.0;
        for (what, peak) in [("build", long.1 - short.1), ("verify --full", long.2 - short.2)] {
            let bytes = peak * f64::from(1 << 20) / tokens;
            figures.check(
                &format!("{family}: {what}, memory a token more"),
                format!("{bytes:.0} bytes"),
                &format!("<= {BYTES:.0}"),
                bytes <= BYTES,
            );
        }
    }
    println!("a worker's memory by rows");
    let plan = [
        "plan",
        "mlrbench",
        "--languages",
        "en",
        "--lengths",
        "128k",
        "--limit",
        "1000",
        "--jobs",
        "2",
        "--to",
        "plan",
    ];
    process(&plan, root.path());
    let mut peaks = Vec::new();
    for part in ["1/4", "1/1"] {
        let plan = "plan";
        let (_, peak) =
            process(&["worker", "render", plan, "--part", part, "--to", "rows", "--jobs", "2"], root.path());
        peaks.push(peak);
    }
    let bytes: u64 =
        nihbuild::remote::Place::of(&root.path().join("rows")).list("").unwrap().iter().map(|(_, n)| n).sum();
    let dry =
        ["recipe", "mlrbench", "--languages", "en", "--lengths", "128k", "--limit", "1000", "--dry-run", "--json"];
    let dry: serde_json::Value = serde_json::from_str(&process(&dry, root.path()).0).unwrap();
    // A quarter came twice.
    let share = bytes as f64 * 4.0 / 5.0 / dry["prompt_rows_about"].as_f64().unwrap();
    figures.check(
        "prompt rows against the dry run's word",
        format!("{share:.2}"),
        "0.8 to 1.25",
        (0.8..=1.25).contains(&share),
    );
    let growth = peaks[1] / peaks[0];
    figures.check(
        "worker, peak of 1000 instances at 128k against 250",
        format!("{:.0}/{:.0} MiB", peaks[1], peaks[0]),
        "<= 1.15 times",
        growth <= 1.15,
    );
}
