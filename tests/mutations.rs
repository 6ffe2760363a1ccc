//! Two hundred single changes to a release, drawn by lot: each is found, and named for what it is.

use crate::support::*;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, UInt32Array};
use nihbuild::seed::Seed;
use nihbuild::table;
use nihbuild::tokenizer::Tokenizer;
use nihbuild::verify::{Depth, Report, verify};
use parquet::arrow::ArrowWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const EACH: usize = 36;

fn small_release(bench: &Bench) -> PathBuf {
    let text = "[release]\nname = \"mutated\"\nversion = \"1.0.0\"\nseed = 8\n\n[stories]\n\
        tasks = { qa1 = 2, qa2 = 1, qa5 = 1, qa6 = 1, qa8 = 1 }\n\n[grid]\nlanguages = [\"en\", \"hi\", \"zh\"]\n\
        lengths = [\"0k\", \"2k\"]\n\n[distractors]\nkind = \"synthetic\"\npool = 300\n";
    bench.write("r.toml", text);
    bench.run(&["recipe", "r.toml"]).success().release(bench)
}

/// A release whose files are put back after each change.
struct Touched {
    release: PathBuf,
    bytes: Vec<(String, Vec<u8>)>,
    files: Vec<String>,
    seed: Seed,
}

impl Touched {
    fn draw(&self, what: &str, n: usize, below: usize) -> usize {
        self.seed.derive(what, &n.to_string()).below(below)
    }

    /// A file of that length and one of its rows.
    fn row(&self, kind: &str, n: usize, length: &str) -> (String, usize) {
        let files: Vec<&String> = self.files.iter().filter(|file| file.contains(length)).collect();
        let file = files[self.draw(&format!("{kind} file"), n, files.len())];
        (file.clone(), self.draw(&format!("{kind} row"), n, prompts(&self.release.join(file)).len()))
    }

    /// Changes the release, signs it if asked to, and says what `verify` says; then puts it back.
    fn report(&self, signed: bool, change: impl FnOnce(&Path)) -> Report {
        change(&self.release);
        if signed {
            sign(&self.release);
        }
        let report = verify(&self.release, Depth::Sampled, 2).unwrap();
        for (name, bytes) in &self.bytes {
            std::fs::write(self.release.join(name), bytes).unwrap();
        }
        report
    }

    /// One of the findings says one of these of that row of the file.
    #[track_caller]
    fn finds(&self, n: usize, file: &str, id: &str, said: &[&str], change: impl FnOnce(&Path)) {
        let report = self.report(true, change);
        let fits = |f: &nihbuild::verify::Finding| {
            f.file == file && f.row.as_deref() == Some(id) && said.iter().any(|said| f.what.contains(said))
        };
        assert!(
            report.findings.iter().any(fits),
            "{n}: {file} {id}: expected one of {said:?} in {:#?}",
            report.findings
        );
    }
}

fn rewrite(path: &Path, batch: &RecordBatch) {
    let properties = table::writer_properties();
    let mut writer =
        ArrowWriter::try_new(std::fs::File::create(path).unwrap(), batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
}

#[test]
fn two_hundred_changes_are_found_and_named() {
    let bench = Bench::new();
    let release = small_release(&bench);
    let touched =
        Touched { bytes: bytes_of(&release), files: data_files(&release), seed: Seed::new("mutations"), release };
    assert_eq!(touched.report(false, |_| {}).n_findings, 0);
    // To sign what is sound changes nothing.
    sign(&touched.release);
    assert_eq!(bytes_of(&touched.release), touched.bytes);
    let mut changes = 0;
    for n in 0..EACH {
        one_byte(&touched, n);
        swapped_rows(&touched, n);
        edited_answer(&touched, n);
        moved_fact(&touched, n);
        over_budget(&touched, n);
        changes += 5 + usize::from(answer_in_a_distractor(&touched, n));
    }
    assert!(changes >= 200, "{changes} changes");
}

/// Counts the tokens of a changed prompt, and the depths of its needles in it: whoever changed it knew of them.
fn settle(path: &Path, row: usize) {
    let tokenizer = Tokenizer::embedded("o200k_base").expect("it is embedded");
    let prompt = prompts(path).remove(row).1;
    let (head, lines, _) = parts(&prompt);
    let before = tokenizer.count(head) as i64;
    let context: i64 = lines.iter().map(|line| tokenizer.count_line(&format!("{line}\n")) as i64).sum();
    let count = tokenizer.count(&prompt) as i64;
    let batch = batches(path).remove(0);
    let spans = table::read_spans(&batch, row);
    change_spans(path, row, &|n, name, value| match name {
        "depth" => (spans[n].token_start as i64 - before) * 1_000_000 / context,
        _ => value,
    });
    change_numbers(path, "tokens", row, &|_, _, _| count);
    replace(path, "n_tokens", &|values: &ArrayRef| -> ArrayRef {
        let values = values.as_primitive::<Int64Type>().values().iter().enumerate();
        Arc::new(values.map(|(n, v)| if n == row { count } else { *v }).collect::<Int64Array>())
    });
}

fn one_byte(touched: &Touched, n: usize) {
    let (name, before) = &touched.bytes[touched.draw("byte file", n, touched.bytes.len())];
    let at = touched.draw("byte", n, before.len());
    let report = touched.report(false, |release| {
        let mut bytes = before.clone();
        bytes[at] ^= 1 + touched.draw("bits", n, 255) as u8;
        std::fs::write(release.join(name), bytes).unwrap();
    });
    assert_eq!(report.n_findings, 1, "byte {at} of {name}: {:#?}", report.findings);
    assert!(name == "SHA256SUMS" || report.findings[0].file == *name, "{:?}", report.findings);
}

fn swapped_rows(touched: &Touched, n: usize) {
    let (file, first) = touched.row("swap", n, "");
    let path = touched.release.join(&file);
    let rows = prompts(&path).len();
    let second = (first + 1 + touched.draw("swap with", n, rows - 1)) % rows;
    let report = touched.report(true, |_| {
        let batch = batches(&path).remove(0);
        let place = |n: usize| {
            if n == first {
                second
            } else if n == second {
                first
            } else {
                n
            }
        };
        let order = UInt32Array::from_iter_values((0..rows).map(|n| place(n) as u32));
        let columns = batch.columns().iter().map(|column| arrow_select::take::take(column, &order, None).unwrap());
        rewrite(&path, &RecordBatch::try_new(batch.schema(), columns.collect()).unwrap());
    });
    found(&report, &file, "are not the 6 instances in their order");
}

fn edited_answer(touched: &Touched, n: usize) {
    let (file, row) = touched.row("answer", n, "");
    let path = touched.release.join(&file);
    let all = batches(&path).remove(0);
    let id = table::text(&all, "id", row).to_owned();
    // The answer of another row, where it is another one.
    let own = table::texts(&all, "answers", row);
    let others = (0..all.num_rows()).map(|other| table::texts(&all, "answers", other)).filter(|other| *other != own);
    let others: Vec<Vec<String>> = others.collect();
    let other = others[touched.draw("answer of", n, others.len())].clone();
    touched.finds(n, &file, &id, &["the context's answer is"], |_| {
        change_list(&path, "answers", row, &|_| other.clone());
    });
}

fn moved_fact(touched: &Touched, n: usize) {
    let (file, row) = touched.row("fact", n, "2k");
    let path = touched.release.join(&file);
    let batch = batches(&path).remove(0);
    let id = table::text(&batch, "id", row).to_owned();
    let spans = table::read_spans(&batch, row);
    let span = spans[touched.draw("which fact", n, spans.len())];
    let said = ["begins inside a line or stands out of order", "is not a whole line", "another depth than recorded"];
    let said = [&said[..], &["is at tokens", "a pronoun stands behind", "context has no single answer"]].concat();
    touched.finds(n, &file, &id, &said, |_| {
        forge(&path, row, &|prompt| {
            let fact = &prompt[span.start as usize..span.end as usize];
            let without = prompt.replacen(&format!("{fact}\n"), "", 1);
            let (head, lines, tail) = parts(&without);
            // Anywhere but where it stood.
            let stood = parts(prompt).1.iter().position(|line| *line == fact).unwrap();
            let to = (stood + 1 + touched.draw("fact to", n, lines.len())) % (lines.len() + 1);
            let moved = lines[..to].iter().chain([&fact]).chain(&lines[to..]);
            let body: String = moved.map(|line| format!("{line}\n")).collect();
            format!("{head}{body}{tail}")
        });
    });
}

fn over_budget(touched: &Touched, n: usize) {
    let (file, row) = touched.row("budget", n, "2k");
    let path = touched.release.join(&file);
    let tokenizer = Tokenizer::embedded("o200k_base").expect("it is embedded");
    let batch = batches(&path).remove(0);
    let id = table::text(&batch, "id", row).to_owned();
    touched.finds(n, &file, &id, &["prompt, answer and template need", "tokens, 2k has"], |_| {
        forge(&path, row, &|prompt| {
            let (head, lines, tail) = parts(prompt);
            let mut body: String = lines.iter().map(|line| format!("{line}\n")).collect();
            // Sentences of its own distractors once more, behind all others.
            let last = table::read_spans(&batch, row).last().unwrap().end as usize;
            let free: Vec<&&str> = lines.iter().filter(|line| !prompt[..last].contains(**line)).collect();
            let line = free.get(touched.draw("again", n, free.len().max(1))).map_or(lines[0], |line| **line);
            while tokenizer.count(&format!("{head}{body}{tail}")) < 2000 {
                body += &format!("{line}\n");
            }
            format!("{head}{body}{tail}")
        });
        settle(&path, row);
    });
}

/// False where no sentence stands behind the last needle.
fn answer_in_a_distractor(touched: &Touched, n: usize) -> bool {
    let (file, row) = touched.row("distractor", n, "2k");
    let path = touched.release.join(&file);
    let batch = batches(&path).remove(0);
    let id = table::text(&batch, "id", row).to_owned();
    let prompt = table::text(&batch, "prompt", row).to_owned();
    let needles: Vec<&str> =
        table::read_spans(&batch, row).iter().map(|s| &prompt[s.start as usize..s.end as usize]).collect();
    let lines = parts(&prompt).1;
    // Behind the last needle, so that nothing else moves.
    let last = lines.iter().rposition(|line| needles.contains(line)).unwrap();
    let Some(line) = lines.get(last + 1 + touched.draw("which line", n, (lines.len() - last - 1).max(1))) else {
        return false;
    };
    let told = needles[touched.draw("told", n, needles.len())];
    let said = [
        "a distractor names an actor or a candidate answer",
        "context has no single answer",
        "the context's answer is",
    ];
    // Where the answer stays the same one: a sentence that no distractor holds.
    let more = ["are not where distractor_ids says", "sentences that are neither facts nor of its distractors"];
    touched.finds(n, &file, &id, &[&said[..], &more].concat(), |_| {
        forge(&path, row, &|prompt| {
            let at = prompt.rfind(&format!("{line}\n")).unwrap();
            format!("{}{told}{}", &prompt[..at], &prompt[at + line.len()..])
        });
        settle(&path, row);
    });
    true
}
