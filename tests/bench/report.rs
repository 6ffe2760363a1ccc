//! The page of the full MLRBench, with scores of two models: its size, and the time until a browser has opened it.

use crate::driver::Browser;
use crate::{Figures, build, now};
use nihbuild::table::text;
use std::io::Write;
use std::path::Path;
use std::process::Command;

/// Scores that fall with the length, as a line a row.
fn scores(release: &Path, file: &Path, worse: u64) {
    let release = nihbuild::release::Release::open(release).unwrap();
    let mut out = std::io::BufWriter::new(std::fs::File::create(file).unwrap());
    let mut n = 0u64;
    for data in 0..release.files().len() {
        let each = &mut |batch: &arrow_array::RecordBatch, row: usize| {
            n += 1;
            let length = u64::from(text(batch, "length", row).trim_end_matches('k').parse::<u32>().unwrap());
            // A number that goes through all rests.
            let right = n * 37 % 100 > worse + length / 2;
            writeln!(out, "{{\"id\": {:?}, \"exact\": {right}}}", text(batch, "id", row)).unwrap();
            Ok(())
        };
        release.each(data, &["id", "length"], each).unwrap();
    }
}

pub fn run(figures: &mut Figures) {
    println!("report of mlrbench");
    let root = tempfile::tempdir().unwrap();
    let built = build(root.path(), "out", &[]);
    let page = root.path().join("report.html");
    let mut args = vec![];
    for (name, worse) in [("one", 5), ("two", 20)] {
        let file = root.path().join(format!("{name}.jsonl"));
        scores(&built.folder, &file, worse);
        args.extend(["--scores".to_owned(), file.to_str().unwrap().to_owned()]);
    }
    let start = now();
    let status = Command::new(env!("CARGO_BIN_EXE_nihbuild"))
        .arg("report")
        .arg(&built.folder)
        .args(&args)
        .arg("--out")
        .arg(&page)
        .status()
        .unwrap();
    assert!(status.success());
    println!("       written in {:.1} s", start.elapsed().as_secs_f64());
    let bytes = std::fs::metadata(&page).unwrap().len();
    figures.check("report of mlrbench, bytes", bytes.to_string(), "< 5,000,000", bytes < 5_000_000);
    let Some(mut browser) = Browser::start("the report of mlrbench") else { return };
    browser.window(1280, 900, false);
    // The first page that a browser opens pays for its start.
    let slowest = (0..3).map(|_| browser.open(&page).as_secs_f64()).fold(0.0, f64::max);
    figures.check(
        "report of mlrbench, opened, the slowest of three",
        format!("{slowest:.2} s"),
        "< 2 s",
        slowest < 2.0,
    );
    browser.quiet();
    println!("       nothing on the console, no request");
}
