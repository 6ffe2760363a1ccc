//! Checks of one row of the passage family.

use super::rankings::Room;
use super::{Checker, Depth};
use crate::embedder::Role;
use crate::error::{Error, Result};
use crate::fail;
use crate::family::passage::{head, label, parse, tail};
use crate::hash::Digest;
use crate::language::{Finder, Language, Pack, Pattern, normalize};
use crate::plan::{Cell, FilePlan};
use crate::recipe::{Bound, Haystack, Last, Middle, Position, PromptKind, Ranking};
use crate::record::NeedleSpan;
use crate::seed::Seed;
use crate::stage::embed::text_digest;
use crate::stage::needles::{CERTIFICATE, id_kind, row_id};
use crate::stage::write::Stats;
use crate::table::{self, int, numbers, read_by_language, read_ledger, read_spans, text, texts};
use arrow_array::{Array, RecordBatch};
use rustc_hash::{FxHashMap, FxHashSet};

/// What reading one file keeps between its rows.
#[derive(Default)]
pub(super) struct Desk {
    /// Of a passage's line: tokens, and how many more with the blank line behind it.
    counts: FxHashMap<String, (u64, i64)>,
    /// Texts that were compared with those of other files, by what they are.
    compared: FxHashMap<String, String>,
    /// Answers of the instance at hand, and the passages that were found without them.
    guard: Option<(String, Finder, FxHashSet<String>)>,
    /// The last row with a needle.
    mate: Option<Mate>,
}

/// What a row with a needle has in common with the rows after it: those of its other positions, and its twin.
struct Mate {
    instance: String,
    pair: String,
    ids: Vec<String>,
    needle: String,
}

/// A language's place among all.
fn order_of(code: &str) -> Option<usize> {
    Language::all().position(|language| language.code() == code)
}

/// The language that a distractor is printed in: named behind its id where it is not the haystack's.
fn printed_in<'a>(id: &'a str, plan: &FilePlan, cell: Cell) -> &'a str {
    let own = match cell.haystack {
        Some(Haystack::In(language)) => language.code(),
        None => plan.language.code(),
        Some(Haystack::Multilingual) => "",
    };
    id.split_once('-').map_or(own, |(_, language)| language)
}

/// The passage's own id.
fn bare(id: &str) -> &str {
    id.split('-').next().unwrap_or_default()
}

/// A needle in its prompt: which passage it is, and what is recorded of it.
struct Found {
    passage: usize,
    spans: [NeedleSpan; 2],
}

impl Checker<'_> {
    pub(super) fn passage_row(
        &self,
        batch: &RecordBatch,
        row: usize,
        plan: &FilePlan,
        cell: Cell,
        desk: &mut Desk,
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
        let all: Vec<&str> = parts.passages.iter().map(|span| &prompt[span.clone()]).collect();
        let needle = match spans[..] {
            [] => None,
            [passage, answer] => {
                let at = |span: &std::ops::Range<usize>| (span.start as u64, span.end as u64);
                let place = parts.passages.iter().position(|span| at(span) == (passage.start, passage.end));
                let place = place.ok_or_else(|| Error::new("the needle is not one whole passage"))?;
                Some(Found { passage: place, spans: [passage, answer] })
            }
            _ => fail!("{} spans are recorded, expected the needle and its answer", spans.len()),
        };
        let by_language = read_by_language(batch, row);
        let gold = by_language.iter().find(|(l, _)| l == plan.language.code()).map(|(_, answers)| answers);
        let gold = gold.ok_or_else(|| Error::new("answers_by_language lacks the needle's language"))?;
        if let Some(found) = &needle {
            self.needle(prompt, &all, found, gold)?;
        }
        let ids = texts(batch, "distractor_ids", row);
        // What a reader would be misled by comes first, then what only counts.
        self.clean(instance, plan, cell, &all, &needle, &ids, &by_language, desk)?;
        self.tokens(batch, row, plan, cell, &parts.passages, &needle, desk)?;
        let lines: Vec<(u64, i64)> = all.iter().map(|text| desk.counts[*text]).collect();
        self.place(position, &needle, &lines)?;
        let stats = self.passage_stats(batch, row, plan, cell, &all, &lines, &needle)?;
        self.same(batch, row, plan, cell, &all, &needle, &ids, desk)?;
        let whole = self.depth == Depth::Full || Seed::new("verify").derive("whole", id).below(100) == 0;
        if whole && self.tokenizer.count(prompt) as i64 != int(batch, "n_tokens", row) {
            fail!("counted whole, the prompt has {} tokens", self.tokenizer.count(prompt));
        }
        let n_tokens = int(batch, "n_tokens", row);
        if read_ledger(batch, row) != [(self.tokenizer.name().to_owned(), n_tokens)] {
            fail!("the token ledger does not say what n_tokens says");
        }
        Ok((stats, whole))
    }

    fn positions(&self) -> &[Position] {
        self.recipe.grid.positions.as_deref().unwrap_or_default()
    }

    /// The needle stands there once, and its answer in it.
    fn needle(&self, prompt: &str, all: &[&str], found: &Found, gold: &[String]) -> Result<()> {
        let [passage, answer] = found.spans;
        let text = all[found.passage];
        if all.iter().filter(|other| **other == text).count() != 1 {
            fail!("the needle stands there more than once");
        }
        if answer.start < passage.start || answer.end > passage.end || answer.start >= answer.end {
            fail!("the answer's span does not lie in the needle");
        }
        if prompt.get(answer.start as usize..answer.end as usize) != gold.first().map(String::as_str) {
            fail!("the answer does not stand at its span");
        }
        if let Some(other) = gold.iter().find(|answer| !text.contains(answer.as_str())) {
            fail!("the needle does not hold the answer {other:?}");
        }
        Ok(())
    }

    /// Counts tokens by seams; spans and depths must be those.
    #[allow(clippy::too_many_arguments, reason = "the parts of one row")]
    fn tokens(
        &self,
        batch: &RecordBatch,
        row: usize,
        plan: &FilePlan,
        cell: Cell,
        passages: &[std::ops::Range<usize>],
        needle: &Option<Found>,
        desk: &mut Desk,
    ) -> Result<()> {
        let prompt = text(batch, "prompt", row);
        let count = |text: &str| self.tokenizer.count(text) as u64;
        let start = count(head(cell.prompt));
        let mut tokens = start as i64;
        let mut closing = 0;
        let first = self.recipe.prompt.first_label.unwrap_or(1) as usize;
        let mut line_of = (0, 0);
        for (n, span) in passages.iter().enumerate() {
            let text = &prompt[span.clone()];
            if !desk.counts.contains_key(text) {
                let line = count(&format!(" {text}\n"));
                let closed = count(&format!(" {text}\n\n"));
                desk.counts.insert(text.to_owned(), (line, closed as i64 - line as i64));
            }
            let (line, close) = desk.counts[text];
            tokens += count(&label(first + n)) as i64;
            if needle.as_ref().is_some_and(|found| found.passage == n) {
                line_of = (tokens as u64, line);
            }
            tokens += line as i64;
            closing = close;
        }
        tokens += closing;
        let context = (tokens as u64 - start).max(1);
        tokens += count(&tail(cell.prompt, text(batch, "question", row))) as i64;
        let recorded = int(batch, "n_tokens", row);
        if tokens != recorded {
            fail!("the prompt has {tokens} tokens, recorded are {recorded} ({})", plan.config);
        }
        let Some(found) = needle else { return Ok(()) };
        let [passage, answer] = found.spans;
        if (passage.token_start, passage.token_end) != (line_of.0, line_of.0 + line_of.1) {
            fail!("the needle is at tokens {}..{}", line_of.0, line_of.0 + line_of.1);
        }
        let line = format!(" {}\n", &prompt[passages[found.passage].clone()]);
        let ends = self.tokenizer.ends(&line);
        let token = |byte: u64| line_of.0 + ends.partition_point(|end| *end as u64 <= byte) as u64;
        let (from, to) = (answer.start - passage.start, answer.end - passage.start);
        if (answer.token_start, answer.token_end) != (token(from + 1), token(to) + 1) {
            fail!("the answer is at tokens {}..{}", token(from + 1), token(to) + 1);
        }
        for span in [passage, answer] {
            if span.depth != (span.token_start - start) * 1_000_000 / context {
                fail!("a span has another depth than recorded");
            }
        }
        Ok(())
    }

    /// How many distractors stand before the needle, or before what stands in its place, given their lines' tokens.
    fn expected(&self, position: Option<Position>, others: &[i64]) -> usize {
        match (position, self.recipe.prompt.middle) {
            (None | Some(Position::Start), _) => 0,
            (Some(Position::End), _) => others.len(),
            (Some(Position::Middle), Some(Middle::Count)) => others.len() / 2,
            (Some(Position::Middle), _) => {
                let all: i64 = others.iter().sum();
                let before = |j: usize| others[..j].iter().sum::<i64>();
                (0..=others.len()).min_by_key(|j| (2 * before(*j) - all).abs()).unwrap_or(0)
            }
        }
    }

    /// Does the needle stand where it is asked to?
    fn place(&self, position: Option<Position>, needle: &Option<Found>, lines: &[(u64, i64)]) -> Result<()> {
        let Some(found) = needle else { return Ok(()) };
        let others: Vec<i64> =
            lines.iter().enumerate().filter(|(n, _)| *n != found.passage).map(|(_, (line, _))| *line as i64).collect();
        let expected = self.expected(position, &others);
        if found.passage != expected {
            fail!("the needle is passage {}, its position asks for {expected}", found.passage);
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments, reason = "the parts of one row")]
    fn passage_stats(
        &self,
        batch: &RecordBatch,
        row: usize,
        plan: &FilePlan,
        cell: Cell,
        all: &[&str],
        lines: &[(u64, i64)],
        needle: &Option<Found>,
    ) -> Result<Stats> {
        let tokens = int(batch, "n_tokens", row) as u64;
        let mut stats = Stats { tokens, tokens_min: tokens, tokens_max: tokens, ..Stats::default() };
        stats.prompt_bytes = text(batch, "prompt", row).len() as u64;
        stats.lines = all.len() as u64;
        let mut others: Vec<&str> = all
            .iter()
            .enumerate()
            .filter(|(n, _)| needle.as_ref().is_none_or(|found| found.passage != *n))
            .map(|(_, text)| *text)
            .collect();
        let n = others.len();
        others.sort_unstable();
        others.dedup();
        stats.repeated = (n - others.len()) as u64;
        if cell.haystack.is_none() {
            let alone = usize::from(needle.is_none());
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
            Bound::Passages => lines.iter().map(|(line, _)| line).sum(),
        };
        if used > most {
            fail!("{used} tokens count, {} has {most}", plan.length);
        }
        Ok(stats)
    }

    /// No passage but the needle holds an answer, in any language.
    #[allow(clippy::too_many_arguments, reason = "the parts of one row")]
    fn clean(
        &self,
        instance: &str,
        plan: &FilePlan,
        cell: Cell,
        all: &[&str],
        needle: &Option<Found>,
        ids: &[String],
        by_language: &[(String, Vec<String>)],
        desk: &mut Desk,
    ) -> Result<()> {
        // A twin has no needle to tell how its answer stands in it: it is looked through with its mate's guard.
        let key = instance.to_owned();
        if desk.guard.as_ref().is_none_or(|(known, ..)| *known != key) {
            let mut patterns = Vec::new();
            for (language, answers) in by_language {
                let rules = self.pack(language)?.matching();
                let own = needle.as_ref().filter(|_| language == plan.language.code());
                for answer in answers {
                    let place = own.map(|found| {
                        let text = all[found.passage];
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
        let others = all.iter().enumerate().filter(|(n, _)| needle.as_ref().is_none_or(|found| found.passage != *n));
        for ((_, text), id) in others.zip(ids) {
            if fine.contains(*text) {
                continue;
            }
            let language = printed_in(id, plan, cell);
            if !finder.find(&normalize(text), self.pack(language)?.matching()).is_empty() {
                fail!("passage {id} holds an answer");
            }
            fine.insert((*text).to_owned());
        }
        Ok(())
    }

    fn pack(&self, language: &str) -> Result<&Pack> {
        self.packs.get(language).ok_or_else(|| Error::new(format!("the release has no pack of {language}")))
    }

    /// What rows have in common with others.
    #[allow(clippy::too_many_arguments, reason = "the parts of one row")]
    fn same(
        &self,
        batch: &RecordBatch,
        row: usize,
        plan: &FilePlan,
        cell: Cell,
        all: &[&str],
        needle: &Option<Found>,
        ids: &[String],
        desk: &mut Desk,
    ) -> Result<()> {
        let get = |name: &str| text(batch, name, row);
        let (id, instance) = (get("id"), get("instance_id"));
        let others: Vec<&str> = all
            .iter()
            .enumerate()
            .filter(|(n, _)| needle.as_ref().is_none_or(|found| found.passage != *n))
            .map(|(_, text)| *text)
            .collect();
        if others.len() != ids.len() || int(batch, "n_distractors", row) != ids.len() as i64 {
            fail!("{} distractors stand there, {} are named", others.len(), ids.len());
        }
        let mut facts = vec![
            (format!("{instance} question {}", cell.question), Digest::of(get("question"))),
            (instance.to_owned(), Digest::of(format!("{:?} {}", read_by_language(batch, row), get("source_id")))),
        ];
        if let Some(found) = needle {
            let text = all[found.passage];
            let at = found.spans[1].start - found.spans[0].start;
            facts.push((format!("{instance} needle {}", plan.language), Digest::of(format!("{at} {text}"))));
        }
        let lines: Vec<i64> = others.iter().map(|text| desk.counts[*text].0 as i64).collect();
        match needle {
            Some(found) => {
                let text = all[found.passage];
                if let Some(mate) = desk.mate.as_ref().filter(|mate| mate.instance == instance)
                    && mate.ids != ids
                {
                    fail!("its passages are not those of the row before, whose needle stands elsewhere");
                }
                let (pair, needle) = (get("pair_id").to_owned(), text.to_owned());
                desk.mate = Some(Mate { instance: instance.to_owned(), pair, ids: ids.to_vec(), needle });
            }
            None => self.twin(get("pair_id"), get("position"), plan, cell, ids, &others, &lines, desk)?,
        }
        for (n, (id, text)) in ids.iter().zip(&others).enumerate() {
            // The last one may be cut, and then differs.
            if self.recipe.prompt.last == Some(Last::Cut) && n + 1 >= ids.len().saturating_sub(1) {
                continue;
            }
            let language = printed_in(id, plan, cell);
            let key = format!("passage {} {language}", bare(id));
            match desk.compared.get(&key) {
                Some(known) if known == text => {}
                Some(_) => fail!("the text of passage {id} is another one than in an earlier row"),
                None => {
                    self.pinned_text("passages", language, bare(id), text)?;
                    facts.push((key.clone(), Digest::of(text)));
                    desk.compared.insert(key, (*text).to_owned());
                }
            }
        }
        let asked = format!("question {instance} {}", cell.question);
        if desk.compared.insert(asked, String::new()).is_none() {
            self.pinned_text("questions", cell.question.code(), instance, get("question"))?;
        }
        let pivot = self.recipe.retrieval.ranking == Ranking::Pivot;
        if pivot && cell.haystack == Some(Haystack::Multilingual) && needle.is_some() {
            self.turns(instance, plan, cell, ids)?;
        }
        let list: Vec<String> = ids.iter().map(|id| if pivot { bare(id).to_owned() } else { id.clone() }).collect();
        let mut distinct = list.clone();
        distinct.sort_unstable();
        distinct.dedup();
        if distinct.len() != list.len() {
            fail!("a distractor stands there twice");
        }
        let ranking = match (pivot, cell.haystack) {
            (true, _) => instance.to_owned(),
            (false, Some(haystack)) => format!("{instance} {haystack}"),
            (false, None) => format!("{instance} {}", plan.language),
        };
        let mut shared = self.shared.lock().expect("no thread panics");
        for (key, digest) in facts {
            let (first, other) = shared.meanings.entry(key.clone()).or_insert_with(|| (digest, id.to_owned()));
            if *first != digest {
                fail!("{key} is another one than in {other}");
            }
        }
        if let Some(Haystack::In(language)) = cell.haystack {
            for (id, text) in ids.iter().zip(&others).filter(|(id, _)| !id.contains('-')) {
                let (line, closing) = desk.counts[*text];
                shared.counts.entry((id.clone(), language)).or_insert((line as u32, closing as i8));
            }
        }
        let Some(found) = needle else {
            shared.twins.push((ranking, list, id.to_owned()));
            return Ok(());
        };
        let exact = cell.prompt == PromptKind::Exact
            && self.recipe.budget.counts == Bound::Prompt
            && self.recipe.prompt.last != Some(Last::Cut);
        if let (Some(Haystack::In(language)), true, "start") = (cell.haystack, exact, get("position")) {
            let (_, closing) = desk.counts[all[found.passage]];
            let last = desk.counts[*all.last().expect("the needle is there")].1;
            let used = int(batch, "n_tokens", row) - last + self.recipe.budget.reserve(plan.strategy) as i64;
            let number = self.recipe.prompt.first_label.unwrap_or(1) as usize + all.len();
            let used = used + self.tokenizer.count(&label(number)) as i64;
            let room = self.recipe.budget.tokens(plan.length) as i64 - used;
            shared.rooms.push(Room {
                ranking: ranking.clone(),
                taken: ids.len(),
                language,
                room,
                closing,
                id: id.to_owned(),
            });
        }
        let order = shared.orders.entry(ranking).or_default();
        let common = order.len().min(list.len());
        if order[..common] != list[..common] {
            fail!("its distractors are not in the order of the instance's one ranking");
        }
        if list.len() > order.len() {
            *order = list;
        }
        Ok(())
    }

    /// A twin has its mate's passages in their order, one in the needle's place and language, and after a long needle more.
    #[allow(clippy::too_many_arguments, reason = "the parts of one row")]
    fn twin(
        &self,
        pair: &str,
        position: &str,
        plan: &FilePlan,
        cell: Cell,
        ids: &[String],
        others: &[&str],
        lines: &[i64],
        desk: &Desk,
    ) -> Result<()> {
        let Some(mate) = desk.mate.as_ref().filter(|mate| mate.pair == pair) else {
            fail!("its mate with the needle does not stand before it");
        };
        if others.contains(&mate.needle.as_str()) {
            fail!("the needle stands in the twin");
        }
        let position = Position::ALL.into_iter().find(|p| p.name() == position);
        let own = |id: &str| match cell.haystack {
            Some(Haystack::In(language)) => printed_in(id, plan, cell) == language.code(),
            Some(Haystack::Multilingual) => true,
            None => printed_in(id, plan, cell) == plan.language.code(),
        };
        let fits = |odd: usize| {
            let without = |n: &usize| *n != odd;
            let rest: Vec<&String> = (0..ids.len()).filter(without).map(|n| &ids[n]).collect();
            let tokens: Vec<i64> = (0..ids.len()).filter(without).map(|n| lines[n]).collect();
            printed_in(&ids[odd], plan, cell) == plan.language.code()
                && rest.len() >= mate.ids.len()
                && rest.iter().zip(&mate.ids).all(|(a, b)| *a == b)
                && rest.iter().all(|id| own(id))
                && self.expected(position, &tokens) == odd
        };
        if !(0..ids.len()).any(fits) {
            fail!("its passages are not its mate's, with one in the needle's place and language");
        }
        Ok(())
    }

    /// In a multilingual haystack the languages take turns, in an order that the seed gives.
    fn turns(&self, instance: &str, plan: &FilePlan, cell: Cell, ids: &[String]) -> Result<()> {
        let Some(seed) = &self.seed else { return Ok(()) };
        let mut turns = self.recipe.grid.languages.clone();
        seed.derive("multilingual", instance).shuffle(&mut turns);
        for (rank, id) in ids.iter().enumerate() {
            if printed_in(id, plan, cell) != turns[rank % turns.len()].code() {
                fail!("passage {id} is not in the language whose turn it is");
            }
        }
        Ok(())
    }

    /// A text that was embedded is the one that its pin names.
    fn pinned_text(&self, what: &str, language: &str, id: &str, text: &str) -> Result<()> {
        let Some(pins) = &self.pinned else { return Ok(()) };
        let Some(known) = pins.texts.get(&format!("{what} {language}")) else { return Ok(()) };
        let role = if what == "questions" { Role::Query } else { Role::Passage };
        if known.get(id) != Some(&text_digest(role, text)) {
            fail!("the text of {id} in {language} is not the one whose vector is pinned");
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
        for column in ["system", "messages", "repeats"] {
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
