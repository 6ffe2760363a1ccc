//! Rows of the passage family: fits passages to a budget, renders a row, proves it from its final text.

use super::assemble::{NeedlePlan, RowPlan};
use super::haystack::Haystack;
use super::leaks::{Apart, Guard, patterns};
use super::write::{Made, Rows, Stats};
use crate::error::{Error, Result};
use crate::fail;
use crate::family::passage::{head, label, parse, tail};
use crate::language::Language;
use crate::plan::{Cell, FilePlan, Plan};
use crate::recipe::{Bound, Haystack as In, Last, Length, Middle, Position, PromptKind, Ranking};
use crate::record::{LocalPool, Needle, NeedleInstance, NeedleSpan, Row};
use crate::store::Lists;
use crate::tokenizer::Tokenizer;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Raised when the same passages are fitted, placed or printed otherwise.
pub const VERSION: u32 = 1;

/// How rows of this family are proven.
pub const CERTIFICATE: &str = "contained";

/// Token counts of everything that does not depend on a question.
pub struct Counter<'a> {
    tokenizer: Tokenizer,
    /// Each passage's line without its label: space, text, line feed.
    pools: BTreeMap<Language, LocalPool>,
    /// Tokens more (or fewer) that a passage's line has with the blank line behind it.
    closing: BTreeMap<Language, Vec<i8>>,
    /// Tokens of the first so many labels.
    labels: Vec<u32>,
    first: usize,
    /// The least tokens that each passage has in any language.
    least: Vec<u32>,
    haystack: &'a Haystack,
}

/// A passage's line without its label.
fn line(text: &str) -> String {
    format!(" {text}\n")
}

impl<'a> Counter<'a> {
    /// Counts a haystack's passages.
    pub fn new(plan: &Plan, haystack: &'a Haystack) -> Counter<'a> {
        let tokenizer = plan.tokenizer;
        let first = plan.recipe.prompt.first_label.unwrap_or(1) as usize;
        let mut pools = BTreeMap::new();
        let mut closing = BTreeMap::new();
        for (language, texts) in &haystack.texts {
            let counts: Vec<(String, u32, i8)> = texts
                .par_iter()
                .map(|text| {
                    let (tokens, closing) = count_line(tokenizer, text);
                    (line(text), tokens, closing)
                })
                .collect();
            let mut pool = LocalPool::default();
            counts.iter().for_each(|(line, tokens, _)| pool.push(line, *tokens));
            pools.insert(*language, pool);
            closing.insert(*language, counts.into_iter().map(|(.., closing)| closing).collect());
        }
        let least = |n: usize| pools.values().map(|pool: &LocalPool| pool.tokens[n]).min().unwrap_or(0);
        let least = (0..haystack.ids.len()).map(least).collect();
        // One needle, all passages.
        let mut labels = vec![0];
        for n in 0..=haystack.ids.len() {
            labels.push(labels[n] + tokenizer.count(&label(first + n)) as u32);
        }
        Counter { tokenizer, pools, closing, labels, first, least, haystack }
    }

    /// The lines of a language.
    pub fn pool(&self, language: Language) -> &LocalPool {
        &self.pools[&language]
    }

    /// Tokens of each passage's line in a haystack; in a multilingual one the least over the languages.
    pub fn tokens_in(&self, haystack: In) -> &[u32] {
        match haystack {
            In::In(language) => &self.pools[&language].tokens,
            In::Multilingual => &self.least,
        }
    }

    /// Tokens that what is bounded may have at a length.
    pub fn limit(&self, plan: &Plan, length: Length) -> u64 {
        let budget = &plan.recipe.budget;
        match budget.counts {
            Bound::Prompt => budget.tokens(length).saturating_sub(budget.reserve(crate::recipe::Strategy::ZeroShot)),
            Bound::Passages => budget.tokens(length),
        }
    }

    fn text(&self, item: Item) -> &'a str {
        &self.haystack.texts[&item.language][item.passage as usize]
    }

    fn tokens(&self, item: Item) -> i64 {
        i64::from(self.pools[&item.language].tokens[item.passage as usize])
    }

    fn closing(&self, item: Item) -> i64 {
        i64::from(self.closing[&item.language][item.passage as usize])
    }
}

/// Tokens of a passage's line, and how many more it has with the blank line behind it.
fn count_line(tokenizer: Tokenizer, text: &str) -> (u32, i8) {
    let tokens = tokenizer.count(&line(text));
    let closed = tokenizer.count(&format!(" {text}\n\n"));
    (tokens as u32, (closed as i64 - tokens as i64) as i8)
}

/// Token and byte counts of a needle under one prompt.
#[derive(Clone, Copy, Debug)]
pub struct NeedleSizes {
    fixed: i64,
    fixed_bytes: usize,
    line: i64,
    closing: i64,
    bytes: usize,
}

impl NeedleSizes {
    /// Counts them.
    pub fn of(counter: &Counter<'_>, needle: &Needle, prompt: PromptKind, question: &str) -> NeedleSizes {
        let (line, closing) = count_line(counter.tokenizer, &needle.context);
        let tail = tail(prompt, question);
        NeedleSizes {
            fixed: (counter.tokenizer.count(head(prompt)) + counter.tokenizer.count(&tail)) as i64,
            // The blank line is one byte.
            fixed_bytes: head(prompt).len() + 1 + tail.len(),
            line: i64::from(line),
            closing: i64::from(closing),
            bytes: needle.context.len() + 2,
        }
    }

    /// Tokens of a prompt that has no other passage.
    pub fn alone(&self, counter: &Counter<'_>) -> u64 {
        (self.fixed + i64::from(counter.labels[1]) + self.line + self.closing) as u64
    }
}

/// A passage of the haystack in one language.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Item {
    /// The language it is printed in.
    pub language: Language,
    /// Its number.
    pub passage: u32,
}

/// The ranked passages of each instance.
pub enum Rankings {
    /// The same for every haystack.
    Pivot(Lists),
    /// One a haystack; in the multilingual one's a number is passage x languages + language.
    Each(BTreeMap<In, Lists>),
}

impl Rankings {
    /// All lists, in order.
    pub fn lists(&self) -> Box<dyn Iterator<Item = &Lists> + '_> {
        match self {
            Rankings::Pivot(lists) => Box::new(std::iter::once(lists)),
            Rankings::Each(each) => Box::new(each.values()),
        }
    }

    /// The ranked passages of an instance in a haystack; `alone` is the language that stands for it at 0k.
    fn of(&self, plan: &Plan, index: usize, id: &str, haystack: Option<In>, alone: Language) -> Result<Vec<Item>> {
        let languages: Vec<Language> = plan.packs.iter().map(|(l, _)| *l).collect();
        let asked = haystack.unwrap_or(In::In(alone));
        let list = match self {
            Rankings::Pivot(lists) => lists.get(index)?,
            Rankings::Each(each) => match each.get(&asked) {
                Some(lists) => lists.get(index)?,
                None => fail!("no ranking of the haystack {asked} was made"),
            },
        };
        let n = languages.len() as u32;
        Ok(match (asked, self) {
            (In::In(language), _) => list.into_iter().map(|passage| Item { language, passage }).collect(),
            (In::Multilingual, Rankings::Each(_)) => {
                let item = |code: u32| Item { language: languages[(code % n) as usize], passage: code / n };
                list.into_iter().map(item).collect()
            }
            (In::Multilingual, Rankings::Pivot(_)) => {
                // The languages take turns, in an order of the instance's own.
                let mut turns = languages;
                plan.seed.derive("multilingual", id).shuffle(&mut turns);
                let item = |(rank, passage): (usize, u32)| Item { language: turns[rank % turns.len()], passage };
                list.into_iter().enumerate().map(item).collect()
            }
        })
    }
}

/// Everything that rows are made of.
pub struct Inputs<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The instances.
    pub instances: &'a [NeedleInstance],
    /// By instance, what may not stand beside it.
    pub apart: &'a [Apart],
    /// Token counts.
    pub counter: &'a Counter<'a>,
    /// The rankings.
    pub rankings: &'a Rankings,
    /// Which languages and passages have a text.
    pub known: FxHashMap<&'a str, Vec<Item>>,
}

impl<'a> Inputs<'a> {
    /// Puts them together.
    pub fn new(
        plan: &'a Plan,
        instances: &'a [NeedleInstance],
        apart: &'a [Apart],
        counter: &'a Counter<'a>,
        rankings: &'a Rankings,
    ) -> Inputs<'a> {
        let mut known: FxHashMap<&str, Vec<Item>> = FxHashMap::default();
        for (language, texts) in &counter.haystack.texts {
            for (passage, text) in texts.iter().enumerate() {
                known.entry(text.as_str()).or_default().push(Item { language: *language, passage: passage as u32 });
            }
        }
        Inputs { plan, instances, apart, counter, rankings, known }
    }

    fn items(&self, index: usize, file: &FilePlan, cell: Cell) -> Result<Vec<Item>> {
        self.rankings.of(self.plan, index, &self.instances[index].id, cell.haystack, file.language)
    }

    /// The passages of a row in the order printed; none is the needle.
    pub fn order(&self, file: &FilePlan, row: &RowPlan) -> Result<Vec<Option<Item>>> {
        let cell = file.cell.expect("a file of this family has a cell");
        let items = match row.passages > 0 || row.needle.instead.is_some() {
            true => self.items(row.instance as usize, file, cell)?,
            false => Vec::new(),
        };
        Ok(self.printed(&items, row, file.language))
    }

    /// Plans the rows of a file that one instance gives: at each position one, and its twin.
    pub fn fit(&self, index: usize, file: &FilePlan) -> Result<Vec<RowPlan>> {
        let cell = file.cell.expect("a file of this family has a cell");
        let instance = &self.instances[index];
        let needle = &instance.by_language[&file.language];
        let question = &instance.by_language[&cell.question].question;
        let sizes = NeedleSizes::of(self.counter, needle, cell.prompt, question);
        let twins = cell.prompt == PromptKind::Existence;
        let items = match cell.haystack.is_some() || twins {
            true => self.items(index, file, cell)?,
            false => Vec::new(),
        };
        let mut fitted = match cell.haystack {
            Some(_) => self.fill(index, file, sizes, &items)?,
            None => Fitted { passages: 0, cut: None, limit: None },
        };
        let positions: Vec<Option<Position>> = match cell.haystack {
            Some(_) => self.plan.positions().iter().copied().map(Some).collect(),
            None => vec![None],
        };
        loop {
            let rows = positions.iter().map(|position| {
                let plan = NeedlePlan { position: *position, instead: None, cut: fitted.cut };
                let mut rows = vec![self.planned(index, &fitted, plan)];
                if twins {
                    let instead = Some(self.replacement(file, sizes, &items, &fitted, *position)?);
                    rows.push(self.planned(index, &fitted, NeedlePlan { instead, ..plan }));
                }
                Some(rows)
            });
            if let Some(rows) = rows.collect::<Option<Vec<_>>>() {
                let mut rows = rows.concat();
                for row in &mut rows {
                    (row.tokens, row.bytes) = self.size(sizes, &items, row, file.language);
                }
                return Ok(rows);
            }
            // No passage is as short as the needle: both do with one distractor less.
            if fitted.passages == 0 {
                return Err(Error::new(format!("no passage fits in the place of the needle of {}", instance.id))
                    .at(&file.config)
                    .help("give a larger haystack"));
            }
            fitted = Fitted { passages: fitted.passages - 1, cut: None, ..fitted };
        }
    }

    fn planned(&self, index: usize, fitted: &Fitted, needle: NeedlePlan) -> RowPlan {
        RowPlan { instance: index as u32, passages: fitted.passages, tokens: 0, bytes: 0, needle }
    }

    /// As many of the ranked passages as fit, whole; where the recipe says so, a part of the next.
    fn fill(&self, index: usize, file: &FilePlan, sizes: NeedleSizes, items: &[Item]) -> Result<Fitted> {
        let plan = self.plan;
        let counter = self.counter;
        let limit = counter.limit(plan, file.length) as i64;
        let bounded = plan.recipe.budget.counts == Bound::Prompt;
        // The needle may stand last, or a distractor: the dearer blank line is reckoned with, so that each
        // position takes the same passages.
        let used = |k: usize, sum: i64, closing: i64| match bounded {
            true => sizes.fixed + i64::from(counter.labels[k + 1]) + sizes.line + sum + closing.max(sizes.closing),
            false => sizes.line + sum,
        };
        let mut sum = 0;
        for (k, &item) in items.iter().enumerate() {
            let next = sum + counter.tokens(item);
            if used(k + 1, next, counter.closing(item)) <= limit {
                sum = next;
                continue;
            }
            let mut fitted = Fitted { passages: k as u32, cut: None, limit: Some(limit) };
            if plan.recipe.prompt.last == Some(Last::Cut) {
                // One token is left for a dearer blank line.
                let room = limit - used(k + 1, sum, sizes.closing) - i64::from(bounded);
                if let Some(bytes) = self.cut(index, item, room)? {
                    fitted.passages += 1;
                    fitted.cut = Some(bytes);
                }
            }
            return Ok(fitted);
        }
        let id = &self.instances[index].id;
        Err(Error::new(format!("the haystack runs out: its passages do not fill {} for {id}", file.length))
            .at(&file.config)
            .help("raise haystack.sample, give a larger collection, or leave out the longest lengths"))
    }

    /// Bytes of a passage's text that fit into so many tokens, cut between words, without an answer.
    fn cut(&self, index: usize, item: Item, room: i64) -> Result<Option<u32>> {
        let text = self.counter.text(item);
        let pack = self.plan.pack(item.language);
        let spaced = pack.writes_spaces();
        let ends: Vec<usize> =
            text.char_indices().filter(|(_, c)| !spaced || c.is_whitespace()).map(|(at, _)| at).collect();
        let fits = |at: &usize| i64::from(count_line(self.counter.tokenizer, text[..*at].trim_end()).0) <= room;
        let Some(&at) = ends[..ends.partition_point(fits)].last() else { return Ok(None) };
        let kept = text[..at].trim_end();
        // A word's beginning may be an answer where the whole word is none.
        let guard = Guard::new(&patterns(&self.plan.packs, &self.instances[index].by_language))?;
        Ok((!kept.is_empty() && !guard.holds(kept, pack)).then_some(kept.len() as u32))
    }

    /// Rank of the next passage that fits in the needle's place.
    fn replacement(
        &self,
        file: &FilePlan,
        sizes: NeedleSizes,
        items: &[Item],
        fitted: &Fitted,
        position: Option<Position>,
    ) -> Option<u32> {
        let bounded = self.plan.recipe.budget.counts == Bound::Prompt;
        let before: Vec<u32> = items[..fitted.passages as usize].iter().map(|item| item.passage).collect();
        let fits = |rank: &u32| {
            let Some(limit) = fitted.limit else { return true };
            let plan = NeedlePlan { position, instead: Some(*rank), cut: fitted.cut };
            let row = self.planned(0, fitted, plan);
            let tokens = i64::from(self.size(sizes, items, &row, file.language).0);
            let labels = i64::from(self.counter.labels[row.passages as usize + 1]);
            tokens - if bounded { 0 } else { sizes.fixed + labels } <= limit
        };
        // Where each language is ranked for itself, a passage may stand there already in another.
        let new = |rank: &u32| !before.contains(&items[*rank as usize].passage);
        (fitted.passages..items.len() as u32).filter(new).find(fits)
    }

    /// How many distractors stand before the needle.
    fn before(&self, items: &[Item], row: &RowPlan) -> usize {
        let k = row.passages as usize;
        match (row.needle.position, self.plan.recipe.prompt.middle) {
            (None | Some(Position::Start), _) => 0,
            (Some(Position::End), _) => k,
            (Some(Position::Middle), Some(Middle::Count)) => k / 2,
            (Some(Position::Middle), _) => {
                let tokens: Vec<i64> = items[..k].iter().map(|item| self.counter.tokens(*item)).collect();
                let all: i64 = tokens.iter().sum();
                let mut before = vec![0];
                tokens.iter().for_each(|n| before.push(before[before.len() - 1] + n));
                // The first of the nearest.
                (0..=k).min_by_key(|j| (2 * before[*j] - all).abs()).unwrap_or(0)
            }
        }
    }

    /// The passages in the order printed; none is the needle.
    fn printed(&self, items: &[Item], row: &RowPlan, needle: Language) -> Vec<Option<Item>> {
        let mut order: Vec<Option<Item>> = items[..row.passages as usize].iter().copied().map(Some).collect();
        // In the needle's language: else its language alone would tell a needle from none.
        let instead = row.needle.instead.map(|rank| Item { language: needle, ..items[rank as usize] });
        order.insert(self.before(items, row), instead);
        order
    }

    /// Text, tokens of its line, and what a blank line behind it adds.
    fn part<'t>(&self, text: &'t str, cut: Option<u32>, counted: (i64, i64)) -> (&'t str, i64, i64) {
        match cut {
            None => (text, counted.0, counted.1),
            Some(bytes) => {
                let text = &text[..bytes as usize];
                let (tokens, closing) = count_line(self.counter.tokenizer, text);
                (text, i64::from(tokens), i64::from(closing))
            }
        }
    }

    /// Is this the distractor that is cut?
    fn cut_of(&self, items: &[Item], row: &RowPlan, item: Item) -> Option<u32> {
        let last = row.passages.checked_sub(1).map(|n| items[n as usize]);
        row.needle.cut.filter(|_| last == Some(item))
    }

    /// Tokens and bytes of a row's prompt.
    fn size(&self, sizes: NeedleSizes, items: &[Item], row: &RowPlan, needle: Language) -> (u32, u32) {
        let order = self.printed(items, row, needle);
        let mut tokens = sizes.fixed + i64::from(self.counter.labels[order.len()]);
        let mut bytes = sizes.fixed_bytes;
        let mut closing = 0;
        for (n, entry) in order.iter().enumerate() {
            let (line, close, length) = match entry {
                None => (sizes.line, sizes.closing, sizes.bytes),
                Some(item) => {
                    let counted = (self.counter.tokens(*item), self.counter.closing(*item));
                    let cut = self.cut_of(items, row, *item);
                    let (text, line, close) = self.part(self.counter.text(*item), cut, counted);
                    (line, close, text.len() + 2)
                }
            };
            tokens += line;
            closing = close;
            bytes += length + label(self.counter.first + n).len();
        }
        ((tokens + closing) as u32, bytes as u32)
    }
}

/// How many passages fit.
struct Fitted {
    passages: u32,
    cut: Option<u32>,
    /// Tokens that what is bounded may have; none at 0k.
    limit: Option<i64>,
}

/// Id of a row: instance, needle, haystack, position, length, and what is asked for. The twin of an existence
/// prompt is called `absent`.
pub fn row_id(instance: &str, file: &FilePlan, cell: Cell, position: Option<Position>, kind: &str) -> String {
    let mut parts = vec![instance.to_owned(), file.language.to_string()];
    parts.extend(cell.haystack.map(|h| h.to_string()));
    parts.extend(position.map(|p| p.name().to_owned()));
    parts.push(file.length.to_string());
    if !kind.is_empty() {
        parts.push(kind.to_owned());
    }
    parts.join("-")
}

/// The last part of an id.
pub fn id_kind(prompt: PromptKind, twin: bool) -> &'static str {
    match (prompt, twin) {
        (PromptKind::Exact, _) => "exact",
        (PromptKind::Existence, false) => "existence",
        (PromptKind::Existence, true) => "absent",
    }
}

/// What a thread keeps between rows.
#[derive(Default)]
pub struct Desk {
    /// Which instance the rest belongs to.
    instance: Option<usize>,
    guard: Option<Guard>,
}

impl Rows for Inputs<'_> {
    type Desk = Desk;

    fn row(&self, desk: &mut Desk, file: &FilePlan, planned: RowPlan, prompt: &mut String) -> Result<Made> {
        let cell = file.cell.expect("a file of this family has a cell");
        let index = planned.instance as usize;
        let instance = &self.instances[index];
        let items = match planned.passages > 0 || planned.needle.instead.is_some() {
            true => self.items(index, file, cell)?,
            false => Vec::new(),
        };
        let row = self.render(file, cell, instance, &items, planned, prompt);
        let repeated = self
            .certify(desk, file, cell, index, &row, prompt)
            .map_err(|e| e.at(format!("row {}", row.id)).help("this is a bug: no release was written"))?;
        let lines = u64::from(planned.passages) + 1;
        Ok(Made { row, stats: Stats { lines, repeated, ..Stats::default() } })
    }
}

impl Inputs<'_> {
    fn render(
        &self,
        file: &FilePlan,
        cell: Cell,
        instance: &NeedleInstance,
        items: &[Item],
        planned: RowPlan,
        prompt: &mut String,
    ) -> Row {
        let needle = &instance.by_language[&file.language];
        let question = &instance.by_language[&cell.question].question;
        let sizes = NeedleSizes::of(self.counter, needle, cell.prompt, question);
        let tokenizer = self.counter.tokenizer;
        prompt.push_str(head(cell.prompt));
        let start_tokens = tokenizer.count(head(cell.prompt)) as i64;
        let mut tokens = start_tokens;
        let mut spans = Vec::new();
        let mut ids = Vec::new();
        let mut closing = 0;
        for (n, entry) in self.printed(items, &planned, file.language).into_iter().enumerate() {
            prompt.push_str(&label(self.counter.first + n));
            tokens += i64::from(self.counter.labels[n + 1] - self.counter.labels[n]);
            let (text, line, close) = match entry {
                None => (needle.context.as_str(), sizes.line, sizes.closing),
                Some(item) => {
                    let id = &self.counter.haystack.ids[item.passage as usize];
                    ids.push(match cell.haystack.unwrap_or(In::In(file.language)) == In::In(item.language) {
                        true => id.clone(),
                        false => format!("{id}-{}", item.language),
                    });
                    let counted = (self.counter.tokens(item), self.counter.closing(item));
                    self.part(self.counter.text(item), self.cut_of(items, &planned, item), counted)
                }
            };
            prompt.push(' ');
            if entry.is_none() {
                let at = prompt.len() as u64;
                let span = |start: u64, end: u64, from: i64, to: i64, supporting| NeedleSpan {
                    start: at + start,
                    end: at + end,
                    token_start: from as u64,
                    token_end: to as u64,
                    depth: 0,
                    supporting,
                };
                spans.push(span(0, text.len() as u64, tokens, tokens + line, false));
                // The line begins with a space, one byte before the text.
                let ends = tokenizer.ends(&self::line(text));
                let token = |byte: u32| tokens + ends.partition_point(|end| *end <= byte as usize) as i64;
                let (from, to) = (token(needle.start + 1), token(needle.end) + 1);
                spans.push(span(u64::from(needle.start), u64::from(needle.end), from, to, true));
            }
            prompt.push_str(text);
            prompt.push('\n');
            tokens += line;
            closing = close;
        }
        prompt.push('\n');
        prompt.push_str(&tail(cell.prompt, question));
        let context = (tokens + closing - start_tokens).max(1) as u64;
        for span in &mut spans {
            span.depth = (span.token_start - start_tokens as u64) * 1_000_000 / context;
        }
        let twin = planned.needle.instead.is_some();
        let expected = match (cell.prompt, twin) {
            (PromptKind::Exact, _) => None,
            (PromptKind::Existence, false) => Some("Yes"),
            (PromptKind::Existence, true) => Some("No"),
        };
        let position = planned.needle.position;
        Row {
            id: row_id(&instance.id, file, cell, position, id_kind(cell.prompt, twin)),
            instance_id: instance.id.clone(),
            task: "passage_retrieval",
            category: "retrieval",
            source_task: self.plan.recipe.source.dataset.as_ref().map(|name| name.0.clone()).unwrap_or_default(),
            position: position.map(Position::name),
            pair_id: expected.map(|_| row_id(&instance.id, file, cell, position, "")),
            expected,
            question: question.clone(),
            answers: match expected {
                Some(word) => vec![word.to_owned()],
                None => needle.answers.clone(),
            },
            answer_variants: Vec::new(),
            answers_by_language: instance.by_language.iter().map(|(l, n)| (l.to_string(), n.answers.clone())).collect(),
            n_tokens: u64::from(planned.tokens),
            supporting: if spans.is_empty() { Vec::new() } else { vec![1] },
            needle_spans: spans,
            distractor_ids: ids,
            source_id: Some(instance.source_id.clone()),
            certificate: CERTIFICATE,
        }
    }

    /// Proves a row from its final text: how many of its passages repeat another.
    fn certify(
        &self,
        desk: &mut Desk,
        file: &FilePlan,
        cell: Cell,
        index: usize,
        row: &Row,
        prompt: &str,
    ) -> Result<u64> {
        let instance = &self.instances[index];
        let needle = &instance.by_language[&file.language];
        if desk.instance != Some(index) {
            *desk = Desk { instance: Some(index), guard: None };
        }
        let parts = parse(cell.prompt, prompt, self.counter.first)?;
        if parts.question != row.question {
            fail!("the prompt asks {:?}", parts.question);
        }
        let mut needles = 0;
        let mut texts: Vec<&str> = Vec::with_capacity(parts.passages.len());
        for span in &parts.passages {
            let text = &prompt[span.clone()];
            if text == needle.context {
                needles += 1;
                let recorded = row.needle_spans.first().map(|s| (s.start as usize, s.end as usize));
                if recorded != Some((span.start, span.end)) {
                    fail!("the needle does not stand where it is recorded");
                }
                continue;
            }
            texts.push(text);
            match self.known.get(text) {
                // A text that is the same in two languages, or twice in one, has one verdict a language.
                Some(items) => {
                    let twin = row.expected == Some("No");
                    let wanted = |item: &&Item| match cell.haystack {
                        Some(In::In(language)) => item.language == language || twin && item.language == file.language,
                        None => item.language == file.language,
                        Some(In::Multilingual) => true,
                    };
                    let mut items = items.iter().filter(wanted).peekable();
                    if items.peek().is_none() {
                        fail!("a passage is not in the haystack's language: {text:?}");
                    }
                    if let Some(item) = items.find(|i| !self.apart[index].allows(self.plan, i.language, i.passage)) {
                        fail!(
                            "passage {} may not stand beside this question",
                            self.counter.haystack.ids[item.passage as usize]
                        );
                    }
                }
                None if self.plan.recipe.prompt.last == Some(Last::Cut) => {
                    if desk.guard.is_none() {
                        desk.guard = Some(Guard::new(&patterns(&self.plan.packs, &instance.by_language))?);
                    }
                    let guard = desk.guard.as_ref().expect("just made");
                    if self.plan.packs.iter().any(|(_, pack)| guard.holds(text, pack)) {
                        fail!("a passage that was cut holds an answer");
                    }
                }
                None => fail!("a passage is not of the haystack: {text:?}"),
            }
        }
        let wanted = usize::from(row.expected != Some("No"));
        if needles != wanted {
            fail!("the needle stands there {needles} times, expected {wanted}");
        }
        if let Some(answer) = row.needle_spans.get(1)
            && prompt.get(answer.start as usize..answer.end as usize) != Some(needle.answers[0].as_str())
        {
            fail!("the answer does not stand where it is recorded");
        }
        let all = texts.len();
        texts.sort_unstable();
        texts.dedup();
        Ok((all - texts.len()) as u64)
    }
}

/// Which rankings a recipe's files need.
pub fn haystacks(plan: &Plan) -> Vec<In> {
    match plan.recipe.retrieval.ranking {
        Ranking::Pivot => Vec::new(),
        Ranking::PerLanguage => {
            let asked = |file: &FilePlan| {
                let cell = file.cell?;
                // A needle-free twin at 0k takes a passage of the needle's language.
                let alone = (cell.prompt == PromptKind::Existence).then_some(In::In(file.language));
                cell.haystack.or(alone)
            };
            let mut all: Vec<In> = plan.grid.iter().filter_map(asked).collect();
            all.sort();
            all.dedup();
            all
        }
    }
}
