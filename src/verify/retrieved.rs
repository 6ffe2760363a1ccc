//! Rows with the best sentences alone: cut again from the whole prompts that stand beside them in the release.

use super::Checker;
use super::counts::Parts;
use super::row::Reading;
use crate::embedder::dot;
use crate::error::{Error, Result};
use crate::fail;
use crate::hash::Digest;
use crate::pinfile::parameters_digest;
use crate::plan::FilePlan;
use crate::recipe::{EmbedderName, Kind, RagOrder, Recipe, Retriever};
use crate::record::{NeedleSpan, Row};
use crate::reranker::Bm25;
use crate::reranker::memory::Scores;
use crate::stage::assemble::row_id;
use crate::stage::certify::split;
use crate::stage::embed::grams;
use crate::stage::retrieved::{CERTIFICATE, Cut};
use crate::stage::stats::Stats;
use crate::story::{Fact, Question, Solution, solve};
use crate::table::{column, has_columns, int, numbers, read_spans, text, texts};
use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use rustc_hash::FxHashMap;
use std::fs::File;
use std::path::Path;

/// The whole prompts of a file, row by row.
pub(super) struct Whole {
    reader: ParquetRecordBatchReader,
    batch: Option<(RecordBatch, usize)>,
    bm25: Bm25,
    vectors: FxHashMap<String, Vec<i8>>,
}

/// What is kept of distinct lines; then it begins anew.
const KNOWN: usize = 200_000;

/// Path of the file that a file of cut rows was cut from.
pub(super) fn whole(plan: &FilePlan) -> Option<String> {
    let (retriever, k) = plan.rag?;
    let end = format!("_rag_{}_{k}", retriever.name());
    let config = plan.config.strip_suffix(&end).unwrap_or(&plan.config).to_owned();
    Some(FilePlan { rag: None, config, ..plan.clone() }.path())
}

impl Whole {
    /// Opens the file that a file of cut rows was cut from.
    pub(super) fn open(folder: &Path, plan: &FilePlan, format: u32) -> Result<Whole> {
        let path = folder.join(whole(plan).ok_or_else(|| Error::new("its rows are whole"))?);
        let file = File::open(&path).map_err(|e| Error::io("cannot open", &path, e))?;
        let fault = |e: parquet::errors::ParquetError| Error::new(e.to_string()).at(path.display());
        let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(fault)?;
        if !has_columns(builder.schema(), format) {
            fail!("{} has other columns than a release", path.display());
        }
        let names = [
            "instance_id",
            "prompt",
            "question",
            "answers",
            "answer_variants",
            "needle_spans",
            "supporting",
            "examples",
            "example_labels",
        ];
        let mask = ProjectionMask::columns(builder.parquet_schema(), names);
        let reader = builder.with_projection(mask).with_batch_size(16).build().map_err(fault)?;
        Ok(Whole { reader, batch: None, bm25: Bm25::default(), vectors: FxHashMap::default() })
    }

    /// The next row.
    fn next(&mut self) -> Result<(RecordBatch, usize)> {
        loop {
            if let Some((batch, row)) = &mut self.batch
                && *row < batch.num_rows()
            {
                *row += 1;
                return Ok((batch.clone(), *row - 1));
            }
            let batch = self.reader.next().ok_or_else(|| Error::new("the file of whole prompts has fewer rows"))?;
            self.batch = Some((batch.map_err(|e| Error::new(e.to_string()))?, 0));
        }
    }
}

impl Checker<'_> {
    /// Checks a row against the whole prompt of its instance.
    pub(super) fn cut_row(
        &self,
        batch: &RecordBatch,
        row: usize,
        plan: &FilePlan,
        whole: &mut Whole,
        reading: &mut Reading,
    ) -> Result<()> {
        let get = |name: &str| text(batch, name, row);
        let (id, prompt, instance) = (get("id"), get("prompt"), get("instance_id"));
        let (from, at) = whole.next()?;
        if text(&from, "instance_id", at) != instance {
            fail!("it does not stand beside the whole prompt of its instance");
        }
        if id != row_id(instance, plan) || get("length") != plan.length.to_string() {
            fail!("the row belongs into another file");
        }
        for (name, expected) in [
            ("language", plan.language.code()),
            ("strategy", plan.strategy.name()),
            ("distractor_kind", plan.kind.name()),
        ] {
            if get(name) != expected {
                fail!("{name} is {:?}, expected {expected:?}", get(name));
            }
        }
        if Digest::of(prompt).to_string() != get("prompt_sha256") {
            fail!("prompt_sha256 is not the prompt's");
        }
        for name in ["n_tokens", "n_distractors", "top_k", "recall", "recall_supporting", "answerable", "retriever"] {
            if column(batch, name).is_null(row) {
                fail!("{name} is null");
            }
        }
        for name in ["examples", "example_labels"] {
            let null = |batch: &RecordBatch, row: usize| column(batch, name).is_null(row);
            if null(batch, row) != null(&from, at)
                || !null(batch, row) && texts(batch, name, row) != texts(&from, name, at)
            {
                fail!("{name} are not those of the whole prompt");
            }
        }
        for name in ["answers", "answer_variants"] {
            if texts(batch, name, row) != texts(&from, name, at) {
                fail!("{name} are not those of the whole prompt");
            }
        }
        if get("question") != text(&from, "question", at) {
            fail!("the question is not that of the whole prompt");
        }
        let voices = self.voices(plan)?;
        let haystack = self.pack(plan.haystack)?;
        let free = plan.kind != Kind::Synthetic;
        let read = voices.question.read(get("question")).ok();
        let question = read.and_then(Question::of).ok_or_else(|| Error::new("the question cannot be read"))?;
        let source = text(&from, "prompt", at);
        let spans = read_spans(&from, at);
        let in_whole = |span: &NeedleSpan| source.get(span.start as usize..span.end as usize);
        let fact = |span: &NeedleSpan| -> Result<Fact> {
            let line = in_whole(span).ok_or_else(|| Error::new("a needle of the whole prompt stands nowhere"))?;
            let read = voices.story.read(line).ok().and_then(Fact::of);
            read.ok_or_else(|| Error::new(format!("a needle of the whole prompt cannot be read: {line:?}")))
        };
        let facts = spans.iter().map(fact).collect::<Result<Vec<_>>>()?;
        let Solution::Unique { answer: gold, .. } = solve(question, facts.iter().copied()) else {
            fail!("the whole prompt's facts have no single answer");
        };
        let order = self.recipe.rag.as_ref().map_or(RagOrder::Chronological, |rag| rag.order);
        let rag = plan.rag.ok_or_else(|| Error::new("its rows are whole"))?;
        let lines: Vec<&str> = split(source)?.0.lines().collect();
        let scores = match (rag.0, self.recipe.retrieval.embedder) {
            (Retriever::Bm25, _) => bm25(whole, get("question"), &lines),
            (Retriever::Embedder, EmbedderName::Ngram) => similar(whole, get("question"), &lines),
            (Retriever::Command, _) => self.pinned_scores(get("question"), &lines)?,
            // A model's vectors are not at hand: the row must be some choice of so many lines, in order.
            _ => recorded(&lines, &split(prompt)?.0.lines().collect::<Vec<_>>(), order)?,
        };
        let supporting = numbers(&from, "supporting", at).into_iter().map(|n| n as u32).collect();
        let mut expected = Row { needle_spans: spans.clone(), supporting, ..Row::default() };
        let mut made = source.to_owned();
        let added = self.ledger.added(&self.tokenizer);
        let tokenizer = &self.tokenizer;
        let cut = Cut { voices: &voices, rag, order, question, gold, facts: facts.len(), tokenizer, added };
        let mut banned = reading.banned.take();
        let pairs: FxHashMap<&str, Fact> =
            spans.iter().zip(&facts).filter_map(|(span, fact)| Some((in_whole(span)?, *fact))).collect();
        let cell = std::cell::RefCell::new(&mut banned);
        let ends = cut.apply(&mut expected, &mut made, &scores, |line| match pairs.get(line) {
            Some(fact) => Ok(Some(*fact)),
            None => self.read_line(line, haystack, Some(voices.story), free, *cell.borrow_mut()),
        });
        reading.banned = banned;
        let ends = ends?;
        if made != prompt {
            recorded(&lines, &split(prompt)?.0.lines().collect::<Vec<_>>(), order)?;
            fail!("the sentences are not those that its retriever ranks first");
        }
        let found = expected.retrieved.clone().unwrap_or_default();
        let flag = column(batch, "answerable").as_boolean();
        let same = get("retriever") == found.retriever
            && int(batch, "top_k", row) as u64 == found.top_k
            && !flag.is_null(row)
            && flag.value(row) == found.answerable
            && int(batch, "recall", row) as u64 == found.recall
            && int(batch, "recall_supporting", row) as u64 == found.recall_supporting;
        if !same {
            fail!("retriever, top_k, answerable or recall are not what the sentences come to: {found:?}");
        }
        let n_tokens = int(batch, "n_tokens", row) as u64;
        if n_tokens != expected.n_tokens {
            fail!("the prompt has {} tokens, recorded are {n_tokens}", expected.n_tokens);
        }
        let bare = |span: &NeedleSpan| NeedleSpan { char_start: 0, char_end: 0, ..*span };
        if !read_spans(batch, row).iter().map(bare).eq(expected.needle_spans.iter().map(bare)) {
            fail!("the needles are not where they are recorded");
        }
        if numbers(batch, "supporting", row) != numbers(&from, "supporting", at) {
            fail!("the supporting facts are not those of the whole prompt");
        }
        if get("certificate") != CERTIFICATE {
            fail!("the certificate is {:?}", get("certificate"));
        }
        if !texts(batch, "distractor_ids", row).is_empty() || int(batch, "n_distractors", row) != 0 {
            fail!("a row of sentences has no passages");
        }
        self.labels(batch, row, gold, plan, &voices)?;
        let is_whole = self.counts_whole(id);
        if is_whole {
            reading.whole += 1;
            let counted = self.tokenizer.count(prompt) as u64 + u64::from(added);
            if counted != n_tokens {
                fail!("counted whole, the prompt has {counted} tokens, recorded are {n_tokens}");
            }
        }
        let reserve = self.recipe.budget.reserve(plan.strategy);
        let mut stats = Stats {
            tokens: n_tokens,
            tokens_min: n_tokens,
            tokens_max: n_tokens,
            prompt_bytes: prompt.len() as u64,
            lines: split(prompt)?.0.lines().count() as u64,
            fill: (n_tokens + reserve) * 1_000_000 / self.recipe.budget.tokens(plan.length).max(1),
            answerable: u64::from(found.answerable),
            recall: found.recall,
            recall_supporting: found.recall_supporting,
            ..Stats::default()
        };
        stats.fill_min = stats.fill;
        reading.lines += stats.lines;
        let parts = Parts { prompt, ends: &ends, whole: is_whole };
        self.counts(batch, row, plan, &parts, &mut reading.also, &mut stats)?;
        reading.add(&stats);
        // Its certificate proves nothing.
        reading.proven -= 1;
        Ok(())
    }

    fn pinned_scores(&self, question: &str, lines: &[&str]) -> Result<Vec<i64>> {
        let asked = Digest::of(question);
        let score = |line: &&str| {
            let known = self.reranked.as_ref().and_then(|scores| scores.get(&asked, &Digest::of(line)));
            known.ok_or_else(|| Error::new(format!("no score of a line is among the pins: {line:?}")))
        };
        lines.iter().map(score).collect()
    }
}

/// The scores of a release's program, from its pins; none where no program ranks.
pub(super) fn scores(folder: &Path, recipe: &Recipe) -> Result<Option<Scores>> {
    let reranker = recipe.rag.as_ref().and_then(|rag| rag.reranker.as_ref());
    reranker
        .map(|settings| Scores::of_pins(&[folder.join("pins")], &parameters_digest(&settings.parameters())))
        .transpose()
}

fn bm25(whole: &mut Whole, question: &str, lines: &[&str]) -> Vec<i64> {
    if whole.bm25.len() > KNOWN {
        whole.bm25 = Bm25::default();
    }
    let prepared: Vec<_> = lines.iter().map(|line| whole.bm25.prepare(line)).collect();
    whole.bm25.rank(question, &prepared)
}

fn similar(whole: &mut Whole, question: &str, lines: &[&str]) -> Vec<i64> {
    if whole.vectors.len() > KNOWN {
        whole.vectors.clear();
    }
    let asked = grams(&[question]);
    let score = |line: &&str| {
        if !whole.vectors.contains_key(*line) {
            whole.vectors.insert((*line).to_owned(), grams(&[line]).data);
        }
        i64::from(dot(&whole.vectors[*line], asked.of(0)))
    };
    lines.iter().map(score).collect()
}

/// Scores under which exactly the recorded lines are kept.
fn recorded(lines: &[&str], kept: &[&str], order: RagOrder) -> Result<Vec<i64>> {
    let mut scores = vec![0; lines.len()];
    let mut from = 0;
    for (rank, line) in kept.iter().enumerate() {
        let free = |n: &usize| lines[*n] == *line && scores[*n] == 0;
        let found = match order {
            RagOrder::Chronological => (from..lines.len()).find(free),
            RagOrder::Similarity => (0..lines.len()).find(free),
        };
        let n =
            found.ok_or_else(|| Error::new(format!("no such line in the whole prompt, or out of order: {line:?}")))?;
        scores[n] = (kept.len() - rank) as i64;
        from = n + 1;
    }
    Ok(scores)
}
