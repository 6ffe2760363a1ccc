//! Fits passages to budgets in the passage family: which ones, in which order, in which language.

use super::assemble::{NeedlePlan, RowPlan};
use super::counter::{Counter, Item, NeedleSizes, count_line};
use super::leaks::{Apart, Guard, patterns};
use crate::error::{Error, Result};
use crate::fail;
use crate::family::passage::{before, label};
use crate::language::Language;
use crate::plan::{Cell, FilePlan, Plan};
use crate::recipe::{Bound, Haystack as In, Last, Position, PromptKind, Ranking};
use crate::record::NeedleInstance;
use crate::store::Lists;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Raised when the same passages are fitted, placed or printed otherwise.
pub const VERSION: u32 = 1;

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
    /// Token counts under each bounding tokenizer.
    pub counters: &'a [Counter<'a>],
    /// Those of the primary one.
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
        counters: &'a [Counter<'a>],
        rankings: &'a Rankings,
    ) -> Inputs<'a> {
        let counter = &counters[0];
        let mut known: FxHashMap<&str, Vec<Item>> = FxHashMap::default();
        for (language, texts) in &counter.haystack.texts {
            for (passage, text) in texts.iter().enumerate() {
                known.entry(text.as_str()).or_default().push(Item { language: *language, passage: passage as u32 });
            }
        }
        Inputs { plan, instances, apart, counters, counter, rankings, known }
    }

    pub(crate) fn items(&self, index: usize, file: &FilePlan, cell: Cell) -> Result<Vec<Item>> {
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

    /// How many of the ranked passages an instance's rows have in a file.
    pub fn most(&self, index: usize, file: &FilePlan) -> Result<u32> {
        self.fit(index, file, None).map(|rows| rows.iter().map(|row| row.passages).min().unwrap_or(0))
    }

    /// Plans the rows of a file that one instance gives: at each position one, and its twin. `cap`: no more passages than these.
    pub fn fit(&self, index: usize, file: &FilePlan, cap: Option<u32>) -> Result<Vec<RowPlan>> {
        let cell = file.cell.expect("a file of this family has a cell");
        let instance = &self.instances[index];
        let needle = &instance.by_language[&file.language];
        let question = &instance.by_language[&cell.question].question;
        let sizes: Vec<NeedleSizes> =
            self.counters.iter().map(|counter| NeedleSizes::of(counter, needle, cell.prompt, question)).collect();
        let twins = cell.prompt == PromptKind::Existence;
        let items = match cell.haystack.is_some() || twins {
            true => self.items(index, file, cell)?,
            false => Vec::new(),
        };
        let mut fitted = match cell.haystack {
            Some(_) => self.fill(index, file, &sizes, &items)?,
            None => Fitted { passages: 0, cut: None, limit: None, capped: false },
        };
        if let Some(cap) = cap {
            fitted.passages = fitted.passages.min(cap);
            fitted.capped = true;
        }
        let positions: Vec<Option<Position>> = match cell.haystack {
            Some(_) => self.plan.positions().iter().copied().map(Some).collect(),
            None => vec![None],
        };
        loop {
            let rows = positions.iter().map(|position| {
                let plan = NeedlePlan { position: *position, instead: None, cut: fitted.cut };
                let mut rows = vec![self.planned(index, &fitted, plan)];
                if twins {
                    rows.push(self.twin(index, file, &sizes, &items, &fitted, *position)?);
                }
                Some(rows)
            });
            if let Some(rows) = rows.collect::<Option<Vec<_>>>() {
                let mut rows = rows.concat();
                for row in &mut rows {
                    (row.tokens, row.bytes) = self.size(self.counter, sizes[0], &items, row, file.language);
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
    fn fill(&self, index: usize, file: &FilePlan, sizes: &[NeedleSizes], items: &[Item]) -> Result<Fitted> {
        let bounds: Vec<Filling<'_>> =
            self.counters.iter().zip(sizes).map(|(c, s)| self.filling(file, c, *s)).collect();
        let limit = Some(bounds[0].limit);
        let mut sums = vec![0; bounds.len()];
        for (k, &item) in items.iter().enumerate() {
            let next: Vec<i64> = bounds.iter().zip(&sums).map(|(b, sum)| sum + b.counter.tokens(item)).collect();
            if bounds.iter().zip(&next).all(|(b, next)| b.used(k + 1, *next, b.counter.closing(item)) <= b.limit) {
                sums = next;
                continue;
            }
            let mut fitted = Fitted { passages: k as u32, cut: None, limit, capped: false };
            if self.plan.recipe.prompt.last == Some(Last::Cut) {
                // One token is left for a dearer blank line.
                let room = |(b, sum): (&Filling<'_>, &i64)| {
                    b.limit - b.used(k + 1, *sum, b.sizes.closing) - i64::from(b.bounded)
                };
                let rooms: Vec<i64> = bounds.iter().zip(&sums).map(room).collect();
                if let Some(bytes) = self.cut(index, item, &rooms)? {
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

    fn filling<'s>(&'s self, file: &FilePlan, counter: &'s Counter<'s>, sizes: NeedleSizes) -> Filling<'s> {
        let limit = counter.limit(self.plan, file.length) as i64;
        Filling { counter, sizes, limit, bounded: self.plan.recipe.budget.counts == Bound::Prompt }
    }

    /// Bytes of a passage's text that fit into so many tokens (under each bounding tokenizer), cut between words,
    /// without an answer.
    fn cut(&self, index: usize, item: Item, rooms: &[i64]) -> Result<Option<u32>> {
        let text = self.counter.text(item);
        let pack = self.plan.pack(item.language);
        let spaced = pack.writes_spaces();
        let ends: Vec<usize> =
            text.char_indices().filter(|(_, c)| !spaced || c.is_whitespace()).map(|(at, _)| at).collect();
        let fits = |at: &usize| {
            let kept = text[..*at].trim_end();
            let mut each = self.counters.iter().zip(rooms);
            each.all(|(counter, room)| i64::from(count_line(&counter.tokenizer, kept).0) <= *room)
        };
        let Some(&at) = ends[..ends.partition_point(fits)].last() else { return Ok(None) };
        let kept = text[..at].trim_end();
        // A word's beginning may be an answer where the whole word is none.
        let guard = Guard::new(&patterns(&self.plan.packs, &self.instances[index].by_language))?;
        Ok((!kept.is_empty() && !guard.holds(kept, pack)).then_some(kept.len() as u32))
    }

    /// The needle-free twin: the next-ranked passage that fits stands in the needle's place; after a long needle there is
    /// room for more of those that follow, so that the twin is no shorter than its mate must be.
    fn twin(
        &self,
        index: usize,
        file: &FilePlan,
        sizes: &[NeedleSizes],
        items: &[Item],
        fitted: &Fitted,
        position: Option<Position>,
    ) -> Option<RowPlan> {
        let bounded = self.plan.recipe.budget.counts == Bound::Prompt;
        let fits = |row: &RowPlan| {
            let Some(limit) = fitted.limit else { return true };
            self.counters.iter().zip(sizes).all(|(counter, sizes)| {
                let tokens = i64::from(self.size(counter, *sizes, items, row, file.language).0);
                let labels = i64::from(counter.labels[row.passages as usize + 1]);
                tokens - if bounded { 0 } else { sizes.fixed + labels } <= limit
            })
        };
        // Where each language is ranked for itself, a passage may stand there already in another.
        let taken: Vec<u32> = items[..fitted.passages as usize].iter().map(|item| item.passage).collect();
        let new = |rank: &u32| {
            let passage = items[*rank as usize].passage;
            !taken.contains(&passage) && self.apart[index].allows(self.plan, file.language, passage)
        };
        let with =
            |rank: u32| self.planned(index, fitted, NeedlePlan { position, instead: Some(rank), cut: fitted.cut });
        let mut twin = (fitted.passages..items.len() as u32).filter(new).map(with).find(fits)?;
        let more = fitted.limit.is_some() && fitted.cut.is_none() && !fitted.capped;
        while more && (twin.passages as usize) + 1 < items.len() {
            let next = RowPlan { passages: twin.passages + 1, ..twin };
            if !fits(&next) {
                break;
            }
            twin = next;
        }
        Some(twin)
    }

    /// The passages of a row in the order printed; none is the needle.
    pub(crate) fn printed(&self, items: &[Item], row: &RowPlan, needle: Language) -> Vec<Option<Item>> {
        let instead = row.needle.instead.map(|rank| rank as usize);
        let others = items.iter().enumerate().filter(|(rank, _)| Some(*rank) != instead).map(|(_, item)| *item);
        let distractors: Vec<Item> = others.take(row.passages as usize).collect();
        let tokenizer = &self.counter.tokenizer;
        let mut tokens: Vec<i64> = distractors.iter().map(|item| self.counter.tokens(*item)).collect();
        if let (Some(bytes), Some(last), Some(item)) = (row.needle.cut, tokens.last_mut(), distractors.last()) {
            let text = &self.counter.text(*item)[..bytes as usize];
            *last = i64::from(count_line(tokenizer, text).0);
        }
        let at = before(row.needle.position, self.plan.recipe.prompt.middle, &tokens);
        let mut order: Vec<Option<Item>> = distractors.into_iter().map(Some).collect();
        // In the needle's language: else its language alone would tell a needle from none.
        order.insert(at, instead.map(|rank| Item { language: needle, ..items[rank] }));
        order
    }

    /// Text, tokens of its line, and what a blank line behind it adds.
    pub(super) fn part<'t>(
        counter: &Counter<'_>,
        text: &'t str,
        cut: Option<u32>,
        counted: (i64, i64),
    ) -> (&'t str, i64, i64) {
        match cut {
            None => (text, counted.0, counted.1),
            Some(bytes) => {
                let text = &text[..bytes as usize];
                let (tokens, closing) = count_line(&counter.tokenizer, text);
                (text, i64::from(tokens), i64::from(closing))
            }
        }
    }

    /// Is this the distractor that is cut?
    pub(super) fn cut_of(&self, items: &[Item], row: &RowPlan, item: Item) -> Option<u32> {
        let last = row.passages.checked_sub(1).map(|n| items[n as usize]);
        row.needle.cut.filter(|_| last == Some(item))
    }

    /// Tokens and bytes of a row's prompt.
    fn size(
        &self,
        counter: &Counter<'_>,
        sizes: NeedleSizes,
        items: &[Item],
        row: &RowPlan,
        needle: Language,
    ) -> (u32, u32) {
        let order = self.printed(items, row, needle);
        let mut tokens = sizes.fixed + i64::from(counter.labels[order.len()]);
        let mut bytes = sizes.fixed_bytes;
        let mut closing = 0;
        for (n, entry) in order.iter().enumerate() {
            let (line, close, length) = match entry {
                None => (sizes.line, sizes.closing, sizes.bytes),
                Some(item) => {
                    let counted = (counter.tokens(*item), counter.closing(*item));
                    let cut = self.cut_of(items, row, *item);
                    let (text, line, close) = Self::part(counter, counter.text(*item), cut, counted);
                    (line, close, text.len() + 2)
                }
            };
            tokens += line;
            closing = close;
            bytes += length + label(counter.first + n).len();
        }
        ((tokens + closing) as u32, bytes as u32)
    }
}

/// What filling a length under one tokenizer needs.
struct Filling<'a> {
    counter: &'a Counter<'a>,
    sizes: NeedleSizes,
    /// Tokens that what is bounded may have.
    limit: i64,
    /// The whole prompt is bounded.
    bounded: bool,
}

impl Filling<'_> {
    /// Tokens of what is bounded, with the needle and so many passages of `sum` tokens. The needle may stand last, or a
    /// distractor: the dearer blank line is reckoned with, so that each position takes the same passages.
    fn used(&self, k: usize, sum: i64, closing: i64) -> i64 {
        let sizes = &self.sizes;
        match self.bounded {
            true => {
                let labels = i64::from(self.counter.labels[k + 1]);
                sizes.fixed + labels + sizes.line + sum + closing.max(sizes.closing)
            }
            false => sizes.line + sum,
        }
    }
}

/// How many passages fit.
struct Fitted {
    passages: u32,
    cut: Option<u32>,
    /// Tokens that what is bounded may have; none at 0k.
    limit: Option<i64>,
    /// No more passages may follow, since another language has no room for them.
    capped: bool,
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
