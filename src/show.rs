//! One prompt of a release, with its needles marked.

use crate::compact::{self, Release};
use crate::error::{Error, Result};
use crate::table::{self, SCHEMA, int, read_spans, text, texts};
use crate::verify::{is_inside, read_manifest};
use arrow_array::RecordBatch;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::fmt::Write as _;
use std::fs::File;
use std::path::Path;

/// A prompt as a person reads it.
pub struct Shown {
    /// The text, needles marked.
    pub text: String,
    /// The same as JSON, unmarked.
    pub json: serde_json::Value,
}

/// Finds a row by its id and prints it; the beginning of an id lists the rows that begin so. `color` marks needles with terminal colours, else with brackets.
pub fn show(folder: &Path, id: &str, color: bool) -> Result<Shown> {
    // A reader of Parquet may fail in its own ways on bytes that were made to break it.
    let shown = std::panic::catch_unwind(|| find(folder, id, color));
    shown.unwrap_or_else(|_| {
        Err(Error::new("a data file of this release breaks the Parquet reader").help("run verify on it"))
    })
}

fn find(folder: &Path, id: &str, color: bool) -> Result<Shown> {
    let manifest = read_manifest(folder)?;
    let compact = compact::is_compact(folder).then(|| Release::open(folder, manifest.format)).transpose()?;
    let mut near = None;
    let mut similar: Vec<String> = Vec::new();
    for file in &manifest.files {
        if !is_inside(&file.path) {
            return Err(Error::new(format!("the manifest names {:?}, which is not inside the release", file.path)));
        }
        if let Some(release) = &compact {
            let Some(index) = release.index.files.iter().find(|index| index.path == file.path) else { continue };
            let ids = release.ids(index)?;
            if let Some(row) = ids.iter().position(|this| this == id) {
                let batch = release.file(index)?.row(row as u64)?;
                return Ok(Shown { text: mark(&batch, color), json: json(&batch) });
            }
            similar.extend(ids.iter().filter(|this| !id.is_empty() && this.starts_with(id)).cloned());
            near = near.or(ids.into_iter().next());
            continue;
        }
        let path = folder.join(&file.path);
        let fault = |e: &dyn std::fmt::Display| Error::io("cannot read", &path, e);
        let open = || -> Result<ParquetRecordBatchReaderBuilder<File>> {
            let file = File::open(&path).map_err(|e| fault(&e))?;
            let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|e| fault(&e))?;
            match builder.schema().fields() == SCHEMA.fields() {
                true => Ok(builder),
                false => Err(fault(&"it has other columns than a release")),
            }
        };
        // The ids first: prompts are large.
        let builder = open()?;
        let only_ids = ProjectionMask::columns(builder.parquet_schema(), ["id"]);
        let mut at = 0;
        let mut found = None;
        for batch in builder.with_projection(only_ids).build().map_err(|e| fault(&e))? {
            let batch = batch.map_err(|e| fault(&e))?;
            for row in 0..batch.num_rows() {
                let this = text(&batch, "id", row);
                near.get_or_insert_with(|| this.to_owned());
                if this == id {
                    found = Some(at + row);
                } else if !id.is_empty() && this.starts_with(id) {
                    similar.push(this.to_owned());
                }
            }
            at += batch.num_rows();
        }
        let Some(row) = found else { continue };
        let mut batches = open()?.with_offset(row).with_limit(1).build().map_err(|e| fault(&e))?;
        let batch = batches.next().ok_or_else(|| fault(&"the row is gone"))?.map_err(|e| fault(&e))?;
        return Ok(Shown { text: mark(&batch, color), json: json(&batch) });
    }
    if !similar.is_empty() {
        let text = similar.join("\n") + "\n";
        return Ok(Shown { text, json: similar.into() });
    }
    let ids = match manifest.family.as_str() {
        "passage" => {
            "an id is <instance>-<needle>-<haystack>-<position>-<length>-<exact, existence or absent>, without haystack and position at 0k"
        }
        "factoid" => "an id is <needle>-<language>-l<length>d<depth>, both counted from 0",
        _ => "an id is <instance>-<language>-<length>-<strategy>-<kind>",
    };
    Err(Error::new(format!("no row {id:?} in {}", folder.display())).help(match near {
        Some(near) => format!("{ids}, such as {near}"),
        None => {
            let first = manifest.files.first().map_or("", |f| f.path.as_str());
            format!("{ids}; this release has {} files, the first is {first}", manifest.files.len())
        }
    }))
}

/// So many accepted answers are printed.
const ACCEPTED: usize = 12;

fn mark(batch: &RecordBatch, color: bool) -> String {
    let prompt = text(batch, "prompt", 0);
    let (strong, weak, end) = if color { ("\x1b[1;32m", "\x1b[33m", "\x1b[0m") } else { ("[[", "[", "]") };
    let mut out = String::with_capacity(prompt.len() + 1000);
    let system = text(batch, "system", 0);
    if !system.is_empty() {
        let _ = writeln!(out, "system       {system}\n");
    }
    let mut at = 0;
    // Where a mark opens or closes. An answer lies inside its needle: whose mark goes on after it.
    let spans = read_spans(batch, 0);
    let mut edges: Vec<(usize, bool, usize)> = Vec::new();
    for (n, span) in spans.iter().enumerate() {
        let (start, stop) = (span.start as usize, span.end as usize);
        // Spans that do not fit the prompt are for `verify` to report.
        if start < stop && prompt.get(start..stop).is_some() {
            edges.extend([(start, true, n), (stop, false, n)]);
        }
    }
    edges.sort_by_key(|(place, opens, n)| (*place, *opens, if *opens { *n } else { usize::MAX - n }));
    let mut open: Vec<usize> = Vec::new();
    for (place, opens, n) in edges {
        out.push_str(&prompt[at..place]);
        at = place;
        if opens {
            out.push_str(if spans[n].supporting { strong } else { weak });
            open.push(n);
        } else {
            out.push_str(end);
            out.push_str(if spans[n].supporting && !color { "]" } else { "" });
            open.retain(|other| *other != n);
            if color && let Some(outer) = open.last() {
                out.push_str(if spans[*outer].supporting { strong } else { weak });
            }
        }
    }
    out.push_str(&prompt[at..]);
    out.push_str("\n\n");
    let _ = writeln!(out, "answer       {}", texts(batch, "answers", 0).join(" | "));
    let variants = texts(batch, "answer_variants", 0);
    let more = variants.len().saturating_sub(ACCEPTED);
    if !variants.is_empty() {
        let _ = writeln!(out, "accepted     {}", variants[..variants.len() - more].join(" | "));
    }
    if more > 0 {
        let _ = writeln!(out, "             and {more} more (--json lists all)");
    }
    if text(batch, "family", 0) == "passage" {
        for (language, answers) in table::read_by_language(batch, 0) {
            let _ = writeln!(out, "  in {language}      {}", answers.join(" | "));
        }
    }
    let _ = writeln!(out, "task         {} ({})", text(batch, "task", 0), text(batch, "source_task", 0));
    for (tokenizer, _, tokens) in table::read_ledger(batch, 0) {
        let _ = writeln!(out, "tokens       {tokens} ({tokenizer})");
    }
    let factoid = text(batch, "family", 0) == "factoid";
    match factoid {
        true => {
            let _ = writeln!(
                out,
                "text         {} tokens with its needle, asked {}",
                int(batch, "haystack_tokens", 0),
                text(batch, "length", 0)
            );
            let _ = writeln!(
                out,
                "asked depth  {}% ({} nearer breaks passed over)",
                text(batch, "position", 0),
                int(batch, "moved", 0)
            );
        }
        false => {
            let _ = writeln!(out, "distractors  {}", int(batch, "n_distractors", 0));
        }
    }
    let _ = writeln!(out, "certificate  {}", text(batch, "certificate", 0));
    let depth = |depth: u64| match factoid {
        true => format!("{}.{:03}%", depth / 10_000, depth / 10 % 1_000),
        false => format!("{}%", depth / 10_000),
    };
    let depths: Vec<String> = read_spans(batch, 0).iter().map(|s| depth(s.depth)).collect();
    if !color {
        let marks = match text(batch, "family", 0) {
            "passage" if depths.is_empty() => "none: this twin has no needle",
            "passage" => "[the needle [[its answer]]]",
            "factoid" => "[[the needle]]",
            _ => "[[a fact that the answer rests on]] [another fact of the story]",
        };
        let _ = writeln!(out, "marks        {marks}");
    }
    let _ = writeln!(out, "depths       {}", depths.join(" "));
    out
}

fn json(batch: &RecordBatch) -> serde_json::Value {
    let spans: Vec<serde_json::Value> = read_spans(batch, 0)
        .iter()
        .map(|s| {
            serde_json::json!({
                "start": s.start, "end": s.end, "char_start": s.char_start, "char_end": s.char_end,
                "token_start": s.token_start, "token_end": s.token_end, "depth": s.depth, "supporting": s.supporting,
            })
        })
        .collect();
    let texts_of = [
        "id",
        "instance_id",
        "task",
        "category",
        "source_task",
        "language",
        "length",
        "strategy",
        "distractor_kind",
        "prompt",
        "question",
        "tokenizer",
        "family",
        "needle_language",
        "haystack_language",
        "question_language",
        "position",
        "prompt_kind",
        "pair_id",
        "expected",
        "source_id",
        "certificate",
        "prompt_sha256",
    ];
    let mut row: serde_json::Map<String, serde_json::Value> =
        texts_of.into_iter().map(|name| (name.to_owned(), text(batch, name, 0).into())).collect();
    for name in ["answers", "answer_variants", "distractor_ids"] {
        row.insert(name.to_owned(), texts(batch, name, 0).into());
    }
    let by_language = table::read_by_language(batch, 0).into_iter().map(|(l, answers)| (l, answers.into()));
    row.insert("answers_by_language".to_owned(), serde_json::Value::Object(by_language.collect()));
    row.insert("supporting".to_owned(), table::numbers(batch, "supporting", 0).into());
    row.insert("n_tokens".to_owned(), int(batch, "n_tokens", 0).into());
    row.insert("needle_spans".to_owned(), spans.into());
    let ledger = table::read_ledger(batch, 0).into_iter().map(|(name, _, tokens)| (name, tokens.into()));
    row.insert("tokens".to_owned(), serde_json::Value::Object(ledger.collect()));
    if text(batch, "family", 0) == "factoid" {
        row.insert("system".to_owned(), text(batch, "system", 0).into());
        for name in ["haystack_tokens", "moved", "repeats"] {
            row.insert(name.to_owned(), int(batch, name, 0).into());
        }
    }
    row.into()
}
