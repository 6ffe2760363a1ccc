//! Checks of one row of the passage family.

use super::Checker;
use super::counts::Parts;
use super::mates::Mate;
use crate::error::{Error, Result};
use crate::fail;
use crate::family::passage::{before, head, label, parse, tail};
use crate::hash::Digest;
use crate::language::{Finder, Language, Pattern, normalize};
use crate::plan::{Cell, FilePlan};
use crate::recipe::{Bound, Haystack, Position, PromptKind};
use crate::record::NeedleSpan;
use crate::stage::ledger::AlsoCounter;
use crate::stage::needles::{CERTIFICATE, id_kind, row_id};
use crate::stage::stats::Stats;
use crate::table::{self, int, numbers, read_by_language, read_spans, text, texts};
use crate::tokenizer::{first_token, last_token};
use arrow_array::{Array, RecordBatch};
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;

/// What reading one file keeps between its rows.
#[derive(Default)]
pub(super) struct Desk {
    /// Of a passage's line: tokens, and how many more with the blank line behind it.
    pub(super) counts: FxHashMap<String, (u64, i64)>,
    /// Texts that were compared with those of other files, by what they are.
    pub(super) compared: FxHashMap<String, String>,
    /// Answers of the instance at hand, and the passages that were found without them.
    guard: Option<(String, Finder, FxHashSet<String>)>,
    /// The last row with a needle.
    pub(super) mate: Option<Mate>,
}

/// A language's place among all.
fn order_of(code: &str) -> Option<usize> {
    Language::all().position(|language| language.code() == code)
}

/// The language that a distractor is printed in: named behind its id where it is not the haystack's.
pub(super) fn printed_in<'a>(id: &'a str, plan: &FilePlan, cell: Cell) -> &'a str {
    let own = match cell.haystack {
        Some(Haystack::In(language)) => language.code(),
        None => plan.language.code(),
        Some(Haystack::Multilingual) => "",
    };
    id.split_once('-').map_or(own, |(_, language)| language)
}

/// The passage's own id.
pub(super) fn bare(id: &str) -> &str {
    id.split('-').next().unwrap_or_default()
}

/// A row's prompt, taken apart.
pub(super) struct Taken<'a> {
    pub(super) prompt: &'a str,
    /// Their texts.
    pub(super) all: Vec<&'a str>,
    /// Those that are not the needle.
    pub(super) others: Vec<&'a str>,
    /// The ids of the others.
    pub(super) ids: Vec<String>,
    pub(super) needle: Option<Found>,
    pub(super) by_language: Vec<(String, Vec<String>)>,
}

/// A needle in its prompt: which passage it is, and what is recorded of it.
pub(super) struct Found {
    pub(super) passage: usize,
    pub(super) spans: [NeedleSpan; 2],
}

/// Where the parts of a prompt end whose token counts add up: the words before the passages, each label, each line
/// (the last with the blank line behind it), the words behind them.
fn part_ends(prompt: &str, kind: PromptKind, places: &[Range<usize>]) -> Vec<u32> {
    let mut ends = vec![head(kind).len() as u32];
    for (n, place) in places.iter().enumerate() {
        // A space stands before the text, a line feed behind it.
        ends.push(place.start as u32 - 1);
        ends.push(place.end as u32 + if n + 1 == places.len() { 2 } else { 1 });
    }
    ends.push(prompt.len() as u32);
    ends
}

impl Checker<'_> {
    pub(super) fn passage_row(
        &self,
        batch: &RecordBatch,
        row: usize,
        plan: &FilePlan,
        cell: Cell,
        desk: &mut Desk,
        also: &mut Option<AlsoCounter>,
    ) -> Result<(Stats, bool)> {
        let get = |name: &str| text(batch, name, row);
        let (id, prompt, instance) = (get("id"), get("prompt"), get("instance_id"));
        let position = Position::ALL.into_iter().find(|p| p.name() == get("position"));
        let spans = read_spans(batch, row);
        let twin = spans.is_empty();
        if position.is_some() != cell.haystack.is_some() || position.is_some_and(|p| !self.positions().contains(&p)) {
            fail!("position is {:?}", get("position"));
        }
        if twin && cell.prompt == PromptKind::Exact {
            fail!("the needle is not recorded");
        }
        if id != row_id(instance, plan, cell, position, id_kind(cell.prompt, twin)) {
            fail!("the id is not made of instance, languages, position, length and kind");
        }
        if Digest::of(prompt).to_string() != get("prompt_sha256") {
            fail!("prompt_sha256 is not the prompt's");
        }
        self.passage_labels(batch, row, plan, cell, twin)?;
        let first = self.recipe.prompt.first_label.unwrap_or(1) as usize;
        let parts = parse(cell.prompt, prompt, first)?;
        if parts.question != get("question") {
            fail!("the question column is not the prompt's question");
        }
        let places: Vec<Range<usize>> = parts.passages;
        let all: Vec<&str> = places.iter().map(|span| &prompt[span.clone()]).collect();
        let needle = match spans[..] {
            [] => None,
            [passage, answer] => {
                let place =
                    places.iter().position(|span| (span.start as u64, span.end as u64) == (passage.start, passage.end));
                let place = place.ok_or_else(|| Error::new("the needle is not one whole passage"))?;
                Some(Found { passage: place, spans: [passage, answer] })
            }
            _ => fail!("{} spans are recorded, expected the needle and its answer", spans.len()),
        };
        let mut others = all.clone();
        if let Some(found) = &needle {
            others.remove(found.passage);
        }
        let ids = texts(batch, "distractor_ids", row);
        let by_language = read_by_language(batch, row);
        let taken = Taken { prompt, all, others, ids, needle, by_language };
        // What a reader would be misled by comes first, then what only counts.
        self.needle(plan, &taken)?;
        self.clean(instance, plan, cell, &taken, desk)?;
        let (there, named) = (taken.others.len(), taken.ids.len());
        if there != named || int(batch, "n_distractors", row) != named as i64 {
            fail!("{there} distractors stand there, {named} are named");
        }
        self.tokens(batch, row, plan, cell, &taken, desk)?;
        let lines: Vec<i64> = taken.others.iter().map(|text| desk.counts[*text].0 as i64).collect();
        if let Some(found) = &taken.needle {
            let expected = before(position, self.recipe.prompt.middle, &lines);
            if found.passage != expected {
                fail!("the needle is passage {}, its position asks for {expected}", found.passage);
            }
        }
        let mut stats = self.passage_stats(batch, row, plan, cell, &taken, desk)?;
        self.same(batch, row, plan, cell, &taken, &lines, desk)?;
        if !twin {
            let key = format!("{instance} {}", plan.length);
            self.same_content(id, &key, taken.ids.iter().map(|id| bare(id)))?;
        }
        let whole = self.counts_whole(id);
        let added = i64::from(self.ledger.added(&self.tokenizer));
        let n_tokens = int(batch, "n_tokens", row);
        if whole && self.tokenizer.count(prompt) as i64 + added != n_tokens {
            fail!("counted whole, the prompt has {} tokens", self.tokenizer.count(prompt) as i64 + added);
        }
        let ends = part_ends(prompt, cell.prompt, &places);
        let parts = Parts { prompt, ends: &ends, whole };
        self.counts(batch, row, plan, &parts, also, &mut stats)?;
        Ok((stats, whole))
    }

    fn positions(&self) -> &[Position] {
        self.recipe.grid.positions.as_deref().unwrap_or_default()
    }

    /// The needle stands there once, and its answer in it.
    fn needle(&self, plan: &FilePlan, taken: &Taken<'_>) -> Result<()> {
        let gold = taken.by_language.iter().find(|(l, _)| l == plan.language.code()).map(|(_, answers)| answers);
        let gold = gold.ok_or_else(|| Error::new("answers_by_language lacks the needle's language"))?;
        let Some(found) = &taken.needle else { return Ok(()) };
        let [passage, answer] = found.spans;
        let text = taken.all[found.passage];
        if taken.others.contains(&text) {
            fail!("the needle stands there more than once");
        }
        if answer.start < passage.start || answer.end > passage.end || answer.start >= answer.end {
            fail!("the answer's span does not lie in the needle");
        }
        if taken.prompt.get(answer.start as usize..answer.end as usize) != gold.first().map(String::as_str) {
            fail!("the answer does not stand at its span");
        }
        if let Some(other) = gold.iter().find(|answer| !text.contains(answer.as_str())) {
            fail!("the needle does not hold the answer {other:?}");
        }
        Ok(())
    }

    /// Counts tokens by seams; spans and depths must be those.
    fn tokens(
        &self,
        batch: &RecordBatch,
        row: usize,
        plan: &FilePlan,
        cell: Cell,
        taken: &Taken<'_>,
        desk: &mut Desk,
    ) -> Result<()> {
        let count = |text: &str| self.tokenizer.count_line(text) as u64;
        let start = self.tokenizer.count(head(cell.prompt)) as u64;
        let mut tokens = start as i64;
        let mut closing = 0;
        let first = self.recipe.prompt.first_label.unwrap_or(1) as usize;
        let mut line_of = (0, 0);
        for (n, &text) in taken.all.iter().enumerate() {
            if !desk.counts.contains_key(text) {
                let line = count(&format!(" {text}\n"));
                let closed = count(&format!(" {text}\n\n"));
                desk.counts.insert(text.to_owned(), (line, closed as i64 - line as i64));
            }
            let (line, close) = desk.counts[text];
            tokens += count(&label(first + n)) as i64;
            if taken.needle.as_ref().is_some_and(|found| found.passage == n) {
                line_of = (tokens as u64, line);
            }
            tokens += line as i64;
            closing = close;
        }
        tokens += closing;
        let context = (tokens as u64 - start).max(1);
        tokens += count(&tail(cell.prompt, text(batch, "question", row))) as i64;
        tokens += i64::from(self.ledger.added(&self.tokenizer));
        let recorded = int(batch, "n_tokens", row);
        if tokens != recorded {
            fail!("the prompt has {tokens} tokens, recorded are {recorded} ({})", plan.config);
        }
        let Some(found) = &taken.needle else { return Ok(()) };
        let [passage, answer] = found.spans;
        if (passage.token_start, passage.token_end) != (line_of.0, line_of.0 + line_of.1) {
            fail!("the needle is at tokens {}..{}", line_of.0, line_of.0 + line_of.1);
        }
        let line = format!(" {}\n", taken.all[found.passage]);
        let ends = self.tokenizer.line_ends(&line);
        let (from, to) = (answer.start - passage.start, answer.end - passage.start);
        // The line begins with a space, one byte before the text.
        let first = line_of.0 + first_token(&ends, from as usize + 1) as u64;
        let last = line_of.0 + last_token(&ends, to as usize + 1) as u64;
        if (answer.token_start, answer.token_end) != (first, last) {
            fail!("the answer is at tokens {first}..{last}");
        }
        for span in [passage, answer] {
            if span.depth != (span.token_start - start) * 1_000_000 / context {
                fail!("a span has another depth than recorded");
            }
        }
        Ok(())
    }

    fn passage_stats(
        &self,
        batch: &RecordBatch,
        row: usize,
        plan: &FilePlan,
        cell: Cell,
        taken: &Taken<'_>,
        desk: &Desk,
    ) -> Result<Stats> {
        let tokens = int(batch, "n_tokens", row) as u64;
        let mut stats = Stats { tokens, tokens_min: tokens, tokens_max: tokens, ..Stats::default() };
        stats.prompt_bytes = taken.prompt.len() as u64;
        stats.lines = taken.all.len() as u64;
        let n = taken.others.len();
        let mut distinct = taken.others.clone();
        distinct.sort_unstable();
        distinct.dedup();
        stats.repeated = (n - distinct.len()) as u64;
        if cell.haystack.is_none() {
            let alone = usize::from(taken.needle.is_none());
            if n != alone {
                fail!("{n} distractors stand at 0k");
            }
            return Ok(stats);
        }
        let budget = &self.recipe.budget;
        let most = budget.tokens(plan.length);
        stats.fill = (tokens + budget.reserve(plan.strategy)) * 1_000_000 / most;
        stats.fill_min = stats.fill;
        let used = match budget.counts {
            Bound::Prompt => tokens + budget.reserve(plan.strategy),
            Bound::Passages => taken.all.iter().map(|text| desk.counts[*text].0).sum(),
        };
        if used > most {
            fail!("{used} tokens count, {} has {most}", plan.length);
        }
        Ok(stats)
    }

    /// No passage but the needle holds an answer, in any language.
    fn clean(&self, instance: &str, plan: &FilePlan, cell: Cell, taken: &Taken<'_>, desk: &mut Desk) -> Result<()> {
        // A twin has no needle to tell how its answer stands in it: it is looked through with its mate's guard.
        let key = instance.to_owned();
        if desk.guard.as_ref().is_none_or(|(known, ..)| *known != key) {
            let mut patterns = Vec::new();
            for (language, answers) in &taken.by_language {
                let rules = self.pack_of(language)?.matching();
                let own = taken.needle.as_ref().filter(|_| language == plan.language.code());
                for answer in answers {
                    let place = own.map(|found| {
                        let text = taken.all[found.passage];
                        let at = found.spans[1].start - found.spans[0].start;
                        let at =
                            if *answer == answers[0] { at as usize } else { text.find(answer.as_str()).unwrap_or(0) };
                        (text, text.get(..at).map_or(0, |before| before.chars().count()))
                    });
                    patterns.push(Pattern::new(answer, rules, place));
                }
            }
            desk.guard = Some((key, Finder::new(&patterns)?, FxHashSet::default()));
        }
        let (_, finder, fine) = desk.guard.as_mut().expect("just made");
        for (text, id) in taken.others.iter().zip(&taken.ids) {
            if fine.contains(*text) {
                continue;
            }
            let language = printed_in(id, plan, cell);
            if !finder.find(&normalize(text), self.pack_of(language)?.matching()).is_empty() {
                fail!("passage {id} holds an answer");
            }
            fine.insert((*text).to_owned());
        }
        Ok(())
    }

    /// Columns that say again what other columns or the recipe say.
    fn passage_labels(&self, batch: &RecordBatch, row: usize, plan: &FilePlan, cell: Cell, twin: bool) -> Result<()> {
        let get = |name: &str| text(batch, name, row);
        let haystack = cell.haystack.map(|h| h.to_string()).unwrap_or_default();
        let dataset = self.recipe.source.dataset.as_ref().map(|name| name.0.clone()).unwrap_or_default();
        let (language, question, length) =
            (plan.language.to_string(), cell.question.to_string(), plan.length.to_string());
        let position = Position::ALL.into_iter().find(|p| p.name() == get("position"));
        let pair = row_id(get("instance_id"), plan, cell, position, "");
        let expected = match (cell.prompt, twin) {
            (PromptKind::Exact, _) => "",
            (PromptKind::Existence, false) => "Yes",
            (PromptKind::Existence, true) => "No",
        };
        for (column, wanted) in [
            ("family", "passage"),
            ("task", "passage_retrieval"),
            ("category", "retrieval"),
            ("source_task", dataset.as_str()),
            ("language", language.as_str()),
            ("needle_language", language.as_str()),
            ("haystack_language", haystack.as_str()),
            ("question_language", question.as_str()),
            ("length", length.as_str()),
            ("strategy", plan.strategy.name()),
            ("distractor_kind", plan.kind.name()),
            ("prompt_kind", cell.prompt.name()),
            ("pair_id", if expected.is_empty() { "" } else { pair.as_str() }),
            ("expected", expected),
            ("tokenizer", self.tokenizer.name()),
            ("certificate", CERTIFICATE),
        ] {
            if get(column) != wanted {
                fail!("{column} is {:?}, expected {wanted:?}", get(column));
            }
        }
        let since_2 = if self.format > 1 { &["haystack_tokens", "moved"][..] } else { &[] };
        for column in ["system", "messages", "repeats"].iter().chain(since_2) {
            if !table::column(batch, column).is_null(row) {
                fail!("{column} has a value, which this family does not have");
            }
        }
        super::row::no_nulls(batch, row)?;
        let by_language = read_by_language(batch, row);
        let known = |code: &str| self.recipe.grid.languages.iter().any(|l| l.code() == code);
        if by_language.iter().any(|(code, answers)| !known(code) || answers.is_empty()) {
            fail!("answers_by_language holds a language that the recipe does not have, or one without answer");
        }
        if !by_language.windows(2).all(|pair| order_of(&pair[0].0) < order_of(&pair[1].0)) {
            fail!("answers_by_language are not one entry a language, in order");
        }
        let answers = texts(batch, "answers", row);
        let gold = by_language.iter().find(|(code, _)| *code == language).map(|(_, answers)| answers.clone());
        let wanted = if expected.is_empty() { gold.unwrap_or_default() } else { vec![expected.to_owned()] };
        if answers != wanted || !texts(batch, "answer_variants", row).is_empty() {
            fail!("answers are {answers:?}, expected {wanted:?} without variants");
        }
        let supporting: &[i64] = if twin { &[] } else { &[1] };
        if numbers(batch, "supporting", row) != supporting {
            fail!("supporting does not name the answer's span");
        }
        let spans = read_spans(batch, row);
        if !twin && (spans.len() != 2 || spans[0].supporting || !spans[1].supporting) {
            fail!("the spans are not the needle's and its answer's");
        }
        if get("source_id").is_empty() {
            fail!("source_id is missing");
        }
        Ok(())
    }
}
