//! The verb `score`.

use super::{print, print_json, threads};
use crate::error::{Error, Result};
use crate::release::Release;
use crate::report::Progress;
use crate::score::{self, Faults, Options, Predictions, Rule, Scored, Scorer, Words, report, write_rows};
use crate::store::keep_apart;
use clap::Args;
use std::path::PathBuf;

#[derive(Args)]
pub(super) struct ScoreArgs {
    /// Folder of the release, full or compact
    release: PathBuf,
    /// Predictions as JSON Lines: {"id", "output", "output_en"?} or {"id", "mark": 1 to 5}; several files, or - for standard input
    #[arg(required_unless_present = "python")]
    predictions: Vec<PathBuf>,
    /// Columns to group rows by [default: language,length and what else a release has several of; of the recall test
    /// source_task,language,length]
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    by: Option<Vec<String>>,
    /// The matching rule: sound (our own), contains (the papers': an accepted answer occurs anywhere), released (that of MLRBench's
    /// released code)
    #[arg(long, value_name = "NAME", default_value = "sound")]
    rule: Rule,
    /// Another run's predictions: paired tests of the difference; may be given again for more files of that run
    #[arg(long, value_name = "FILE")]
    against: Vec<PathBuf>,
    /// Write the rows' results to FILE as JSON Lines: {"id", "exact", "any", "existence", "mark"}
    #[arg(long, value_name = "FILE")]
    rows: Option<PathBuf>,
    /// Score what is there; else rows without a prediction are wrong, and a fault
    #[arg(long)]
    allow_missing: bool,
    /// Predictions for no row of the release are no fault
    #[arg(long)]
    allow_unknown: bool,
    /// Predictions given again are no fault; the first counts
    #[arg(long)]
    allow_duplicates: bool,
    /// Accuracy by sample size for every group, not only for all rows (in --json and --csv)
    #[arg(long)]
    samples: bool,
    /// Name so many ids of each fault
    #[arg(long, value_name = "N", default_value_t = 10)]
    limit: usize,
    /// Threads [default: one a core]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// Print the result as JSON
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Print the result as CSV, one line a group and metric
    #[arg(long)]
    csv: bool,
    /// Write the matching rule as a Python module, with this release's words, to DIR (nihbuild_score.py, words.json)
    #[arg(long, value_name = "DIR")]
    python: Option<PathBuf>,
}

/// Scores predictions. True: every row has one, and no other is there.
pub(super) fn score(args: ScoreArgs) -> Result<bool> {
    let release = Release::open(&args.release)?;
    for out in args.rows.iter().chain(&args.python) {
        keep_apart(out, &args.release, &[args.predictions.as_slice(), &args.against].concat())?;
    }
    let words = Words::of(&release)?;
    if let Some(folder) = &args.python {
        let folder = std::path::absolute(folder).map_err(|e| Error::io("cannot write", folder, e))?;
        let json = serde_json::to_string(&words).map_err(|e| Error::new(e.to_string()))? + "\n";
        for (name, text) in [("nihbuild_score.py", score::PYTHON), ("words.json", &json)] {
            crate::store::write_aside(&folder.join(name), |out| out.write_all(text.as_bytes()))?;
        }
        if args.predictions.is_empty() {
            print(&format!(
                "{}\n{}\n",
                folder.join("nihbuild_score.py").display(),
                folder.join("words.json").display()
            ))?;
            return Ok(true);
        }
    }
    let by = match args.by {
        Some(by) => by,
        None => columns(&release)?,
    };
    score::check_columns(&release, &by)?;
    let scorer = Scorer::new(words, args.rule)?;
    let jobs = threads(args.jobs)?;
    let pool = crate::parallel::pool(jobs)?;
    let run = |files: &[PathBuf]| -> Result<(Vec<Scored>, Faults)> {
        let stdin = files.iter().filter(|path| path.as_os_str() == "-").count();
        if stdin > 1 {
            return Err(Error::new("standard input (-) can be read once only"));
        }
        let predictions = pool.install(|| Predictions::read(files))?;
        let progress = Progress::new("score", release.manifest.rows, "rows");
        let scored = score::score(&release, &predictions, &scorer, &by, jobs);
        progress.finish();
        scored
    };
    let (rows, mut faults) = run(&args.predictions)?;
    let other = match args.against.is_empty() {
        true => None,
        false => Some(run(&args.against)?),
    };
    if args.allow_missing {
        faults.missing.clear();
    }
    if args.allow_unknown {
        faults.unknown.clear();
    }
    if args.allow_duplicates {
        faults.duplicate.clear();
    }
    let options = Options { leave_missing: args.allow_missing, samples: args.samples };
    if let Some(path) = &args.rows {
        write_rows(path, &rows, options)?;
    }
    let manifest = &release.manifest;
    let head = (format!("{} {}", manifest.name, manifest.version), manifest.rows_digest.to_string(), args.rule.name());
    let other = other.as_ref().map(|(rows, _)| &rows[..]);
    let report = pool.install(|| report(head, &by, &rows, other, options));
    if args.json {
        let placed = |all: &[(String, String)]| -> Vec<serde_json::Value> {
            all.iter().map(|(id, at)| serde_json::json!({"id": id, "at": at})).collect()
        };
        let faults = serde_json::json!({
            "missing": faults.missing, "duplicate": placed(&faults.duplicate), "unknown": placed(&faults.unknown),
        });
        print_json(&serde_json::json!({"score": report, "faults": faults}))?;
    } else if args.csv {
        print(&report.csv()?)?;
        eprint!("{}", faults.text(args.limit));
    } else {
        let text = faults.text(args.limit);
        let gap = if text.is_empty() { "" } else { "\n" };
        print(&format!("{}{gap}{text}", report.table()))?;
    }
    Ok(faults.is_empty())
}

/// What a release is grouped by where nothing is said.
fn columns(release: &Release) -> Result<Vec<String>> {
    let mut by: Vec<&str> = match release.manifest.family.as_str() {
        "factoid" => vec!["source_task", "language", "length"],
        _ => vec!["language", "length"],
    };
    let has = |name: &str| release.schema().column_with_name(name).is_some();
    let mut seen: Vec<std::collections::BTreeSet<String>> = vec![Default::default(); 3];
    let names: Vec<&str> = ["strategy", "distractor_kind", "retriever"].into_iter().filter(|name| has(name)).collect();
    for file in 0..release.files().len() {
        // The rows of a file have these in common.
        if let Some(batch) = release.batches(file, &names, Some(&[0]))?.next() {
            let batch = batch?;
            for (n, name) in names.iter().enumerate().filter(|_| batch.num_rows() > 0) {
                seen[n].insert(crate::table::text(&batch, name, 0).to_owned());
            }
        }
    }
    let several: Vec<&str> =
        names.iter().zip(&seen).filter(|(_, seen)| seen.len() > 1).map(|(name, _)| *name).collect();
    by.extend(&several);
    if several.contains(&"retriever") {
        by.push("top_k");
    }
    Ok(by.into_iter().map(str::to_owned).collect())
}
