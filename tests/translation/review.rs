//! The sheet for native reviewers, out and back.

use super::service::Service;
use super::*;
use nihbuild::translator::review::ONE_OF;

/// Rows of a sheet, its head first.
fn read(path: &Path) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(path).unwrap();
    let text = text.strip_prefix('\u{feff}').expect("the mark that spreadsheets know");
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
    reader.records().map(|row| row.unwrap().iter().map(str::to_owned).collect()).collect()
}

fn write(path: &Path, rows: &[Vec<String>], separator: u8) {
    let mut writer = csv::WriterBuilder::new().delimiter(separator).from_path(path).unwrap();
    rows.iter().for_each(|row| writer.write_record(row).unwrap());
    writer.flush().unwrap();
}

fn sheet(bench: &Bench, out: &str) -> PathBuf {
    bench.path(out).join("review/mt-1.0.0-xx.csv")
}

fn draft<'a>(service: &Service, more: &'a str) -> Draft<'a> {
    Draft { service: service.keys("libretranslate"), more, ..Draft::default() }
}

#[test]
fn the_sheet_is_a_seeded_sample() {
    let bench = Bench::new();
    let service = Service::sound();
    let draft = draft(&service, "[translation.languages.xx]\n");
    let release = build(&bench, &draft, &[]);
    let rows = read(&sheet(&bench, "build"));
    assert_eq!(rows[0], ["id", "source", "target", "back_translation", "similarity", "comment", "verdict"]);
    let texts: u64 = facts(&release).texts.values().sum();
    assert_eq!(rows.len() - 1, (texts as usize).div_ceil(ONE_OF));
    for row in &rows[1..] {
        assert_eq!(row[2], service::mirror(&row[1]), "{row:?}");
        assert_eq!(row[3], service::unmirror(&row[2]), "{row:?}");
        let similarity: f64 = row[4].parse().unwrap();
        assert!((0.0..=1.0).contains(&similarity) && row[5].is_empty() && row[6].is_empty(), "{row:?}");
    }
    assert!(card(&release).contains("no native reviewer has read it"));
    assert!(facts(&release).review.is_none());
    // The same in another run, another one of another seed.
    let bytes = |out: &str| std::fs::read(sheet(&bench, out)).unwrap();
    build(&bench, &draft, &["--out", "two"]);
    assert_eq!(bytes("build"), bytes("two"));
    build(&bench, &draft, &["--out", "three", "--seed", "6"]);
    let ids = |out: &str| read(&sheet(&bench, out)).into_iter().map(|row| row[0].clone()).collect::<Vec<_>>();
    assert_ne!(ids("build"), ids("three"));
}

#[test]
fn verdicts_stand_on_the_card() {
    let bench = Bench::new();
    let service = Service::sound();
    build(&bench, &draft(&service, "[translation.languages.xx]\n"), &["--out", "first"]);
    let mut rows = read(&sheet(&bench, "first"));
    let n = rows.len() - 1;
    assert!(n > 8);
    for row in &mut rows[1..] {
        row[6] = "OK".to_owned();
    }
    let verdict = |rows: &mut Vec<Vec<String>>, at: usize, verdict: &str| {
        rows[at][6] = verdict.to_owned();
        rows[at][0].clone()
    };
    let wrong = [verdict(&mut rows, 2, "wrong"), verdict(&mut rows, 5, " Wrong ")];
    verdict(&mut rows, 3, "unsure");
    // No verdict, a strange one, and one of a text that was changed on the way: none of them counts.
    verdict(&mut rows, 4, "");
    verdict(&mut rows, 6, "so so");
    rows[7][2] += " !";
    // As a spreadsheet of another land writes it.
    write(&bench.path("xx.csv"), &rows, b';');

    let read_back = draft(&service, "[translation.languages.xx]\nreview = \"xx.csv\"\n");
    let release = build(&bench, &read_back, &[]);
    verified(&bench, &release);
    let review = facts(&release).review.unwrap();
    assert_eq!((review.sampled, review.ok, review.unsure, review.missing), (n as u64, n as u64 - 6, 1, 3));
    assert_eq!(review.wrong, wrong);
    let card = card(&release);
    let said = format!("native reviewers: {} of {n} sampled texts good, 2 wrong, 1 unsure, 3 without a verdict", n - 6);
    assert!(card.contains(&said), "{card}");
    assert!(wrong.iter().all(|id| card.contains(&format!("\n  - wrong: {id}"))), "{card}");

    // A sheet that is not there, and one that is none.
    std::fs::remove_file(bench.path("xx.csv")).unwrap();
    let args = ["recipe", "r.toml", "--out", "third"];
    run(&bench, &args).failure(2, &["cannot read xx.csv"]);
    bench.write("xx.csv", "id,verdict\na,ok\n");
    run(&bench, &args).failure(2, &["xx.csv", "lacks the columns source, target"]);
}

#[test]
fn a_sheet_that_was_filled_in_is_kept() {
    let bench = Bench::new();
    let service = Service::sound();
    build(&bench, &draft(&service, "[translation.languages.xx]\n"), &[]);
    let path = sheet(&bench, "build");
    let mut rows = read(&path);
    rows[1..].iter_mut().for_each(|row| row[6] = "ok".to_owned());
    write(&path, &rows, b',');
    let filled = std::fs::read(&path).unwrap();
    // The same again, and a recipe that reads the sheet where it was written.
    run(&bench, &["recipe", "r.toml"]).success();
    assert!(std::fs::read(&path).unwrap() == filled, "the verdicts are gone");
    let place = "[translation.languages.xx]\nreview = \"build/review/mt-1.0.0-xx.csv\"\n";
    std::fs::remove_dir_all(bench.path("build/mt")).unwrap();
    let release = build(&bench, &draft(&service, place), &[]);
    assert_eq!(facts(&release).review.unwrap().ok, rows.len() as u64 - 1);
}
