//! Checks of one row of the factoid family.
//!
//! A file's longest prompt, its last, gives the running text; every other prompt must hold a beginning of it. Sentence
//! breaks, the needle's place and all counts are then found anew.

use super::Checker;
use super::counts::Parts;
use crate::error::{Error, Result};
use crate::fail;
use crate::family::factoid::gap;
use crate::hash::Digest;
use crate::language::Language;
use crate::language::breaks::{breaks, points_back};
use crate::language::essays::{digest as digest_of, essays_or_all};
use crate::plan::FilePlan;
use crate::recipe::{CollectionKind, Factoid, Fit, Layout, LengthOf, Percent};
use crate::record::AlsoTokens;
use crate::stage::factoids::{CERTIFICATE, cell_id, pair_id, row_id};
use crate::stage::ledger::whole;
use crate::stage::slots::{Prepared, Slot, begins_with_heading, nearest, tokens_before};
use crate::stage::splice::{Counted, count_alone};
use crate::stage::stats::Stats;
use crate::stage::texts::PARTED;
use crate::table::{self, int, numbers, read_by_language, read_messages, read_spans, text, texts};
use crate::tokenizer::{Tokenizer, Unit};
use arrow_array::{Array, RecordBatch};

/// What reading one file keeps between its rows.
#[derive(Default)]
pub(super) struct Desk {
    text: Option<Known>,
}

/// The running text of a file, and its needle.
struct Known {
    units: Vec<Unit>,
    places: Vec<Slot>,
    /// Tokens before each place, under each tokenizer at hand.
    tokens: Vec<Vec<u64>>,
    /// Bytes of the text told once, with what parts it from its next telling.
    once: usize,
    needle: Prepared,
    gap: &'static str,
    /// The text begins with a heading.
    heading: bool,
    /// Tokens by which rows of the file may be shorter than the longest needle allows.
    slack: u64,
}

/// A prompt, taken apart.
struct Taken {
    /// Bytes of the text before the needle.
    at: usize,
    /// Bytes of the text.
    end: usize,
    /// The needle's first byte in the prompt.
    start: usize,
}

impl Checker<'_> {
    /// Prepares a file from its last row.
    pub(super) fn open_text(
        &self,
        batch: &RecordBatch,
        row: usize,
        plan: &FilePlan,
        needle: u32,
        desk: &mut Desk,
    ) -> Result<()> {
        let factoid = self.factoid(needle)?;
        let pack = self.pack(plan.language)?;
        let prepared = Prepared::new(self.recipe, &self.ledger, factoid, pack);
        let gap = gap(pack.writes_spaces());
        let prompt = text(batch, "prompt", row);
        let document = prepared.frame.document(prompt).ok_or_else(layout_fault)?;
        let at = only(document, &prepared.text)?;
        // Before a heading a needle is a paragraph of its own; whether it should be is seen below.
        let behind = &document[at + prepared.text.len()..];
        let own = at == 0 && behind.starts_with(PARTED);
        let running = without(document, at, prepared.text.len(), if own { PARTED } else { gap })?;
        self.same_text(plan, &running)?;
        let marks = pack.marks();
        let start = Slot { at: 0, guarded: points_back(&running, &marks), soft: false };
        let places: Vec<Slot> = std::iter::once(start).chain(breaks(&running, &marks).iter().map(Slot::of)).collect();
        let units: Vec<Unit> = self.ledger.all().iter().map(|t| Unit::new(t, running.as_str())).collect();
        let each = self.ledger.all().iter().zip(&units);
        let heading = begins_with_heading(&running, places.get(1).map(|slot| slot.at));
        let tokens = each.map(|(tokenizer, unit)| tokens_before(tokenizer, unit, &places)).collect();
        let once = period(&running);
        let slack = self.slack(plan.language);
        desk.text = Some(Known { units, places, tokens, once, needle: prepared, gap, heading, slack });
        Ok(())
    }

    fn factoid(&self, needle: u32) -> Result<&Factoid> {
        self.recipe.needles.get(needle as usize).ok_or_else(|| Error::new("the recipe has no such needle"))
    }

    /// All files of a language hold one text; generated essays are made again from the seed.
    fn same_text(&self, plan: &FilePlan, running: &str) -> Result<()> {
        let key = format!("text {}", plan.language);
        let digest = Digest::of(running);
        {
            let mut shared = self.shared.lock().expect("no thread panics");
            let (first, other) = shared.meanings.entry(key).or_insert_with(|| (digest, plan.config.clone()));
            if *first != digest {
                fail!("its running text is not that of {other}");
            }
        }
        if self.recipe.haystack.kind != CollectionKind::Essays {
            return Ok(());
        }
        let said = self.texts.get(plan.language.code()).and_then(|facts| facts.patterns);
        let said = said.ok_or_else(|| Error::new("the manifest does not name the patterns of its essays"))?;
        let Some(seed) = &self.seed else { return Ok(()) };
        if said != digest_of(plan.language) {
            self.unchecked(format!("the essays in {}: this program has other patterns", plan.language));
            return Ok(());
        }
        let pack = self.pack(plan.language)?;
        let (again, ends) = essays_or_all(plan.language, pack, seed, running.len())?;
        // Told again from its beginning, where the recipe allows it.
        let again = match ends && self.recipe.haystack.repeat == Some(true) {
            true => vec![again.as_str(); running.len() / again.len().max(1) + 2].join(PARTED),
            false => again,
        };
        if !again.starts_with(running) {
            fail!("its running text is not the essays that the seed gives");
        }
        Ok(())
    }

    /// Needles of one language share their slots: the longest sets them.
    fn slack(&self, language: Language) -> u64 {
        let own = self.recipe.needles.iter().filter(|needle| needle.language == Some(language));
        let counts = own.map(|needle| {
            let text = [needle.needle.as_deref(), needle.question.as_deref()].map(Option::unwrap_or_default);
            text.iter().map(|text| self.tokenizer.count(text) as u64).sum::<u64>()
        });
        let counts: Vec<u64> = counts.collect();
        counts.iter().max().unwrap_or(&0) - counts.iter().min().unwrap_or(&0) + 16
    }

    pub(super) fn factoid_row(
        &self,
        batch: &RecordBatch,
        row: usize,
        plan: &FilePlan,
        needle: u32,
        desk: &mut Desk,
    ) -> Result<(Stats, bool)> {
        let get = |name: &str| text(batch, name, row);
        let known = desk.text.as_ref().ok_or_else(|| Error::new("the file's running text cannot be read"))?;
        let (id, prompt) = (get("id"), get("prompt"));
        let (length, depth, cell) = self.cell_of(get("instance_id"))?;
        self.factoid_labels(batch, row, plan, needle, &cell, (length, depth))?;
        if Digest::of(prompt).to_string() != get("prompt_sha256") {
            fail!("prompt_sha256 is not the prompt's");
        }
        let taken = self.take(prompt, known)?;
        let count = |(t, tokenizer): (usize, &Tokenizer)| {
            let apart = u64::from(self.ledger.added(tokenizer)) + known.needle.system_tokens(t);
            count_alone(tokenizer, &known.units[t], &known.needle.units[t], taken.at, taken.end, apart, known.heading)
        };
        let counted: Vec<Counted> = self.ledger.all().iter().enumerate().map(count).collect();
        let (best, last) = self.slot(batch, row, known, &taken, depth)?;
        self.span(batch, row, known, &taken, &counted[0], (best, last))?;
        let n_tokens = int(batch, "n_tokens", row) as u64;
        if counted[0].n_tokens != n_tokens {
            fail!("the prompt has {} tokens, recorded are {n_tokens}", counted[0].n_tokens);
        }
        let is_whole = self.counts_whole(id);
        if is_whole {
            let system = self.tokenizer.count(known.needle.frame.system.as_deref().unwrap_or_default()) as u64;
            let added = u64::from(self.ledger.added(&self.tokenizer));
            let anew = whole(&self.tokenizer, prompt, &read_spans(batch, row), added);
            if anew.n_tokens + system != n_tokens || anew.spans != [counted[0].span] {
                fail!("counted whole, the prompt has {} tokens", anew.n_tokens + system);
            }
        }
        self.length(batch, row, known, &counted, &taken, u64::from(length), last)?;
        self.same_slot(plan, &cell, &taken)?;
        let mut stats = Stats { tokens: n_tokens, tokens_min: n_tokens, tokens_max: n_tokens, ..Stats::default() };
        stats.prompt_bytes = prompt.len() as u64;
        stats.lines = 1;
        let also: Vec<AlsoTokens> =
            counted[1..].iter().map(|c| AlsoTokens { n_tokens: c.n_tokens, spans: vec![c.span] }).collect();
        // A system message that stands apart is not in the prompt: whole counts are compared without it.
        let parts = Parts { prompt, ends: &[], whole: is_whole && known.needle.frame.system.is_none() };
        self.counted(batch, row, plan, &parts, &also, &mut stats)?;
        Ok((stats, is_whole))
    }

    /// Asked length and depth of a cell.
    fn cell_of(&self, cell: &str) -> Result<(u32, Percent, String)> {
        let slots = &self.recipe.slots;
        let (lengths, depths) =
            (slots.lengths.as_deref().unwrap_or_default(), slots.depths.as_deref().unwrap_or_default());
        let parts = cell.strip_prefix('l').and_then(|rest| rest.split_once('d'));
        let numbers = parts.and_then(|(l, d)| Some((l.parse::<usize>().ok()?, d.parse::<usize>().ok()?)));
        let found = numbers.filter(|(l, d)| *l < lengths.len() && *d < depths.len() && cell_id(*l, *d) == cell);
        let Some((l, d)) = found else { fail!("instance_id is {cell:?}") };
        Ok((lengths[l], depths[d], cell.to_owned()))
    }

    /// The prompt is the layout around a beginning of the file's text with the needle in it, once.
    fn take(&self, prompt: &str, known: &Known) -> Result<Taken> {
        let document = known.needle.frame.document(prompt).ok_or_else(layout_fault)?;
        let needle = known.needle.text.as_str();
        let at = only(document, needle)?;
        let gap = if at == 0 && known.heading { PARTED } else { known.gap };
        let running = without(document, at, needle.len(), gap)?;
        let whole = known.units[0].text();
        if !whole.starts_with(running.as_str()) {
            fail!("the running text around the needle is not that of the other rows");
        }
        let before = if at == 0 { 0 } else { at - known.gap.len() };
        Ok(Taken { at: before, end: running.len(), start: at + known.needle.frame.head.len() })
    }

    /// The needle and the end of the text stand at sentence breaks, the needle at the one nearest to its depth.
    fn slot(
        &self,
        batch: &RecordBatch,
        row: usize,
        known: &Known,
        taken: &Taken,
        depth: Percent,
    ) -> Result<(usize, usize)> {
        let place = |byte: usize| known.places.binary_search_by_key(&byte, |slot| slot.at).ok();
        let (Some(at), Some(last)) = (place(taken.at), place(taken.end)) else {
            fail!("the needle, or the end of the text, is not at a sentence break");
        };
        let (best, moved) = nearest(&known.places, &known.tokens[0], taken.end, depth);
        if at != best {
            fail!("the needle stands at byte {} of the text, its depth asks for {}", taken.at, known.places[best].at);
        }
        if int(batch, "moved", row) != moved as i64 {
            fail!("moved is {}, the guard passed over {moved} breaks", int(batch, "moved", row));
        }
        Ok((best, last))
    }

    fn span(
        &self,
        batch: &RecordBatch,
        row: usize,
        known: &Known,
        taken: &Taken,
        counted: &Counted,
        (at, last): (usize, usize),
    ) -> Result<()> {
        let spans = read_spans(batch, row);
        let [span] = spans[..] else { fail!("{} needles are recorded", spans.len()) };
        let end = taken.start + known.needle.text.len();
        if (span.start, span.end) != (taken.start as u64, end as u64) || !span.supporting {
            fail!("the needle does not stand where it is recorded");
        }
        if (span.token_start, span.token_end) != counted.span {
            fail!("the needle is at tokens {}..{}", counted.span.0, counted.span.1);
        }
        let depth = known.tokens[0][at] * 1_000_000 / known.tokens[0][last].max(1);
        if span.depth != depth {
            fail!("the needle's depth is {depth} millionths, recorded are {}", span.depth);
        }
        Ok(())
    }

    /// Never over its length, and as long as sentences allow.
    #[allow(clippy::too_many_arguments, reason = "the parts of one row")]
    fn length(
        &self,
        batch: &RecordBatch,
        row: usize,
        known: &Known,
        counted: &[Counted],
        taken: &Taken,
        length: u64,
        last: usize,
    ) -> Result<()> {
        let own = counted[0].document;
        if int(batch, "haystack_tokens", row) != own as i64 {
            fail!("the text with its needle has {own} tokens, recorded are {}", int(batch, "haystack_tokens", row));
        }
        let reserve = self.recipe.budget.reserve(crate::recipe::Strategy::ZeroShot);
        let used = |counted: &Counted| match self.recipe.slots.length_of {
            Some(LengthOf::Haystack) => counted.document,
            _ => counted.n_tokens + reserve,
        };
        let bounding = if self.recipe.budget.fit == Fit::All { counted.len() } else { 1 };
        let bounding = counted[..bounding].iter().map(used).zip(&known.tokens);
        if let Some((used, _)) = bounding.clone().find(|(used, _)| *used > length) {
            fail!("{used} tokens count, its length is {length}");
        }
        let room = |(used, tokens): (u64, &Vec<u64>)| {
            tokens.get(last + 1).is_some_and(|next| used + (next - tokens[last]) + known.slack < length)
        };
        // A tokenizer that is not at hand may have set the end.
        let all_here = self.ledger.all().len() == self.tokenizers.len();
        if (all_here || self.fills()) && bounding.clone().all(room) {
            fail!("its text is shorter than its length allows: another sentence would have fitted");
        }
        let repeats = match self.recipe.haystack.repeat {
            Some(true) => taken.end.div_ceil(known.once).max(1) as i64,
            _ => 1,
        };
        if int(batch, "repeats", row) != repeats {
            fail!("repeats is {}, the text begins {repeats} times", int(batch, "repeats", row));
        }
        Ok(())
    }

    /// All needles of a language stand in the same text at the same place.
    fn same_slot(&self, plan: &FilePlan, cell: &str, taken: &Taken) -> Result<()> {
        let digest = Digest::of(format!("{} {}", taken.at, taken.end));
        let mut shared = self.shared.lock().expect("no thread panics");
        let entry = shared.meanings.entry(format!("slot {} {cell}", plan.language));
        let (first, other) = entry.or_insert_with(|| (digest, plan.config.clone()));
        match *first == digest {
            true => Ok(()),
            false => fail!("its text or its needle's place is another one than in {other}"),
        }
    }

    fn unchecked(&self, what: String) {
        let mut shared = self.shared.lock().expect("no thread panics");
        if !shared.report.unchecked.contains(&what) {
            shared.report.unchecked.push(what);
        }
    }

    /// Columns that say again what other columns or the recipe say.
    fn factoid_labels(
        &self,
        batch: &RecordBatch,
        row: usize,
        plan: &FilePlan,
        needle: u32,
        cell: &str,
        (length, depth): (u32, Percent),
    ) -> Result<()> {
        let get = |name: &str| text(batch, name, row);
        let factoid = self.factoid(needle)?;
        let language = plan.language.to_string();
        let layout = self.recipe.prompt.layout.unwrap_or(Layout::PlainTable6);
        let pair = factoid.pair.as_ref().map_or(String::new(), |pair| pair_id(&pair.0, &language, cell));
        let pack = self.pack(plan.language)?;
        let system = match layout {
            Layout::Messages => self.recipe.prompt.system.as_deref().unwrap_or(pack.system()),
            _ => "",
        };
        for (column, wanted) in [
            ("id", row_id(&factoid.name.0, &language, cell).as_str()),
            ("family", "factoid"),
            ("task", "in_context_recall"),
            ("category", "retrieval"),
            ("source_task", &factoid.name.0),
            ("language", &language),
            ("needle_language", &language),
            ("haystack_language", &language),
            ("question_language", &language),
            ("length", &length.to_string()),
            ("strategy", plan.strategy.name()),
            ("position", &depth.to_string()),
            ("prompt_kind", layout.name()),
            ("pair_id", &pair),
            ("system", system),
            ("question", factoid.question.as_deref().unwrap_or_default()),
            ("tokenizer", self.tokenizer.name()),
            ("certificate", CERTIFICATE),
        ] {
            if get(column) != wanted {
                fail!("{column} is {:?}, expected {wanted:?}", get(column));
            }
        }
        let null = |column: &str| table::column(batch, column).is_null(row);
        if let Some(column) =
            ["haystack_tokens", "moved", "repeats", "n_tokens"].into_iter().find(|column| null(column))
        {
            fail!("{column} is null");
        }
        for column in ["distractor_kind", "expected", "source_id"] {
            if !null(column) {
                fail!("{column} has a value, which this family does not have");
            }
        }
        if null("messages") != (layout != Layout::Messages) || null("system") != (layout != Layout::Messages) {
            fail!("system and messages do not fit the layout");
        }
        if layout == Layout::Messages {
            let wanted = [("system", system), ("user", get("prompt"))].map(|(a, b)| (a.to_owned(), b.to_owned()));
            if read_messages(batch, row) != wanted {
                fail!("messages are not system message and prompt");
            }
        }
        super::row::no_nulls(batch, row)?;
        let answers = factoid.answers.clone().unwrap_or_default();
        if texts(batch, "answers", row) != answers || !texts(batch, "answer_variants", row).is_empty() {
            fail!("answers are not the recipe's");
        }
        if let Some(answer) =
            answers.iter().find(|answer| !factoid.needle.as_deref().unwrap_or_default().contains(answer.as_str()))
        {
            fail!("the needle does not hold the answer {answer:?}");
        }
        if read_by_language(batch, row) != [(language, answers)] {
            fail!("answers_by_language are not the recipe's");
        }
        if numbers(batch, "supporting", row) != [0] || !texts(batch, "distractor_ids", row).is_empty() {
            fail!("supporting or distractor_ids are not those of one needle");
        }
        if int(batch, "n_distractors", row) != 0 {
            fail!("n_distractors is not 0");
        }
        Ok(())
    }
}

fn layout_fault() -> Error {
    Error::new("the prompt is not in the recipe's layout, with its system message and question")
}

/// Where the needle stands, which must be once.
fn only(document: &str, needle: &str) -> Result<usize> {
    let mut found = document.match_indices(needle).map(|(at, _)| at);
    match (found.next(), found.next()) {
        (Some(at), None) => Ok(at),
        (None, _) => fail!("the needle does not stand in the prompt"),
        _ => fail!("the needle stands there more than once"),
    }
}

/// The text without its needle, and without what parts the two.
fn without(document: &str, at: usize, needle: usize, gap: &str) -> Result<String> {
    let (before, behind) = (&document[..at], &document[at + needle..]);
    let parts = match at {
        0 => behind.strip_prefix(gap).map(|behind| (before, behind)),
        _ => before.strip_suffix(gap).map(|before| (before, behind)),
    };
    match parts {
        Some((before, behind)) => Ok([before, behind].concat()),
        None => fail!("nothing parts the needle from the text"),
    }
}

/// Bytes after which a text begins again; more than it has where it does not.
fn period(text: &str) -> usize {
    let start = &text[..text.floor_char_boundary(200)];
    let again = text.match_indices(start).map(|(at, _)| at).find(|at| *at > 0);
    again.filter(|at| text.starts_with(&text[*at..])).unwrap_or(usize::MAX)
}
