//! Checks of one row: all that can be seen from the row itself, and what it must share with others.

use super::Checker;
use super::counts::Parts;
use crate::error::{Error, Result};
use crate::fail;
use crate::family::reasoning::{CONTEXT, Example, LocalStory, Voices, question_of};
use crate::hash::Digest;
use crate::language::{self, Pack};
use crate::plan::{FilePlan, tells_late};
use crate::recipe::{Kind, Order, Ranking, SourceKind, Strategy, Task};
use crate::seed::mix;
use crate::stage::assemble::row_id;
use crate::stage::certify::{certificate, split};
use crate::stage::distractors::{banned, holds, letter, story_actors};
use crate::stage::ledger::AlsoCounter;
use crate::stage::select::depths;
use crate::stage::stats::Stats;
use crate::story::{Answer, Fact, Question, Solution, SourceTask, Story, bind, solve};
use crate::table::{self, SINCE_2, SINCE_3, int, numbers, read_by_language, read_spans, text, texts};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use rustc_hash::FxHashMap;

/// Is one of the items null, or one of their fields?
fn has_null(items: &ArrayRef) -> bool {
    items.null_count() > 0 || items.as_struct_opt().is_some_and(|fields| fields.columns().iter().any(has_null))
}

/// Lists are there, and hold values.
pub(super) fn no_nulls(batch: &RecordBatch, row: usize) -> Result<()> {
    for column in ["answers", "answer_variants", "distractor_ids", "supporting", "needle_spans", "answers_by_language"]
    {
        let lists = table::column(batch, column).as_list::<i32>();
        if lists.is_null(row) || has_null(&lists.value(row)) {
            fail!("{column} is null, or holds a null");
        }
    }
    Ok(())
}

/// What reading one file keeps between its rows.
#[derive(Default)]
pub(super) struct Reading {
    /// Counts under the tokenizers beside the primary one.
    pub(super) also: Option<AlsoCounter>,
    /// Of the factoid family.
    pub(super) factoids: super::factoid::Desk,
    /// Of the passage family.
    pub(super) desk: super::passage::Desk,
    /// What a line says and how many tokens it has (with its line feed); no fact for clean text that is no sentence of ours. And the row
    /// that held it last.
    known: FxHashMap<String, (Known, u64)>,
    facts: Vec<Fact>,
    /// For each of the facts, whether it is a needle.
    is_needle: Vec<bool>,
    pub(super) banned: Option<Vec<String>>,
    pub(super) lines: u64,
    pub(super) proven: u64,
    pub(super) rederived: u64,
    pub(super) stats: Stats,
    rows: u64,
    pub(super) whole: u64,
}

impl Reading {
    /// Adds a row whose certificate holds.
    pub(super) fn add(&mut self, stats: &Stats) {
        let first = self.stats == Stats::default();
        self.stats.add(stats, first);
        self.proven += 1;
    }
}

/// What a line says, and its tokens.
type Known = (Option<Fact>, u32);

/// A line map beyond this size is begun anew, so that memory stays bounded.
const KNOWN: usize = 400_000;

impl Checker<'_> {
    pub(super) fn row(&self, batch: &RecordBatch, row: usize, plan: &FilePlan, reading: &mut Reading) -> Result<()> {
        if let Some(needle) = plan.needle {
            let (stats, whole) = self.factoid_row(batch, row, plan, needle, &mut reading.factoids)?;
            reading.lines += stats.lines;
            reading.whole += u64::from(whole);
            reading.add(&stats);
            return Ok(());
        }
        if let Some(cell) = plan.cell {
            let (stats, whole) = self.passage_row(batch, row, plan, cell, &mut reading.desk, &mut reading.also)?;
            reading.lines += stats.lines;
            reading.whole += u64::from(whole);
            reading.add(&stats);
            return Ok(());
        }
        let get = |name: &str| text(batch, name, row);
        let (id, prompt, instance) = (get("id"), get("prompt"), get("instance_id"));
        if id != row_id(instance, plan) {
            fail!("the id is not made of instance, languages, length, strategy and kind of its file");
        }
        let columns = ["language", "length", "strategy", "distractor_kind"].map(get);
        let place = [plan.language.code(), &plan.length.to_string(), plan.strategy.name(), plan.kind.name()];
        if columns != place {
            fail!("the row belongs into another file");
        }
        if Digest::of(prompt).to_string() != get("prompt_sha256") {
            fail!("prompt_sha256 is not the prompt's");
        }
        let voices = self.voices(plan)?;
        let haystack = self.pack(plan.haystack)?;
        let free = plan.kind != Kind::Synthetic;
        let (context, tail) = split(prompt)?;
        let question = question_of(tail, voices.question)
            .ok_or_else(|| Error::new("the question after the context cannot be read"))?;
        if voices.question.sentence(question.message()) != get("question") {
            fail!("the question column is not the prompt's question");
        }
        let head = prompt.len() - tail.len() - context.len();
        let task = get("source_task").parse::<SourceTask>().map_err(Error::new)?;
        // Lines: meaning, and tokens by seams.
        debug_assert!(prompt[..head].ends_with(CONTEXT));
        if reading.known.len() > KNOWN {
            reading.known.clear();
        }
        let mut tokens = self.tokenizer.count(&prompt[..head]) as u64;
        let head_tokens = tokens;
        let spans = read_spans(batch, row);
        let mut next = 0;
        let mut at = head;
        let mut ends = vec![head as u32];
        reading.facts.clear();
        reading.is_needle.clear();
        let mut needles: Vec<Fact> = Vec::with_capacity(spans.len());
        let (mut behind_clean, mut behind_needle) = (false, false);
        let (mut lines, mut repeated, mut longest) = (0, 0, 0);
        reading.rows += 1;
        for line in context.split_inclusive('\n') {
            reading.lines += 1;
            lines += 1;
            let sentence = line.strip_suffix('\n').ok_or_else(|| Error::new("the context's last line has no end"))?;
            if sentence.chars().next().is_none_or(|c| !self.tokenizer.seam_adds(c)) {
                fail!("a line of the context is empty or begins with whitespace or a slash");
            }
            let is_needle = spans.get(next).is_some_and(|span| span.start == at as u64);
            // Facts and distractors may speak two languages.
            let alone = is_needle && plan.language != plan.haystack;
            let (fact, count) = match reading.known.get_mut(sentence) {
                Some((known, last)) if !alone => {
                    repeated += u64::from(*last == reading.rows && !is_needle);
                    *last = reading.rows;
                    *known
                }
                _ => {
                    let pack = if is_needle { voices.story } else { haystack };
                    let fact =
                        self.read_line(sentence, pack, Some(voices.story), free && !is_needle, &mut reading.banned)?;
                    let known = (fact, self.tokenizer.count_line(line) as u32);
                    if !alone {
                        reading.known.insert(sentence.to_owned(), (known, reading.rows));
                    }
                    known
                }
            };
            if behind_clean && fact.is_some_and(Fact::leans) {
                fail!("a pronoun stands behind a line that is no sentence of a story");
            }
            // Whoever built the row put it right behind its own antecedent, wherever that stands.
            if is_needle && !behind_needle && fact.is_some_and(Fact::leans) {
                fail!("a pronoun stands behind a line that is not of its story");
            }
            (behind_clean, behind_needle) = (fact.is_none(), is_needle);
            if is_needle {
                let span = spans[next];
                if span.end != (at + sentence.len()) as u64 {
                    fail!("needle {next} is not a whole line");
                }
                if (span.token_start, span.token_end) != (tokens, tokens + u64::from(count)) {
                    fail!(
                        "needle {next} is at tokens {}..{}, recorded are {}..{}",
                        tokens,
                        tokens + u64::from(count),
                        span.token_start,
                        span.token_end
                    );
                }
                needles.push(fact.ok_or_else(|| Error::new(format!("needle {next} is no fact")))?);
                next += 1;
            }
            reading.is_needle.extend(fact.map(|_| is_needle));
            reading.facts.extend(fact);
            at += line.len();
            ends.push(at as u32);
            tokens += u64::from(count);
            longest = longest.max(u64::from(count));
        }
        let context_tokens = (tokens - head_tokens).max(1);
        ends.push(prompt.len() as u32);
        tokens += self.tokenizer.count_line(tail) as u64;
        let added = u64::from(self.ledger.added(&self.tokenizer));
        tokens += added;
        if next != spans.len() {
            fail!("needle {next} begins inside a line or stands out of order");
        }
        for (n, span) in spans.iter().enumerate() {
            if span.depth != (span.token_start - head_tokens) * 1_000_000 / context_tokens {
                fail!("needle {n} has another depth than recorded");
            }
        }
        let n_tokens = int(batch, "n_tokens", row) as u64;
        if tokens != n_tokens {
            fail!("the prompt has {tokens} tokens, recorded are {n_tokens}");
        }
        let is_whole = self.counts_whole(id);
        if is_whole {
            reading.whole += 1;
            let whole = self.tokenizer.count(prompt) as u64 + added;
            if whole != n_tokens {
                fail!("counted whole, the prompt has {whole} tokens, recorded are {n_tokens}");
            }
        }
        let mut stats = Stats { tokens: n_tokens, tokens_min: n_tokens, tokens_max: n_tokens, ..Stats::default() };
        stats.prompt_bytes = prompt.len() as u64;
        (stats.lines, stats.repeated) = (lines, repeated);
        let parts = Parts { prompt, ends: &ends, whole: is_whole };
        self.counts(batch, row, plan, &parts, &mut reading.also, &mut stats)?;
        self.budget(plan, id, instance, n_tokens, longest, &mut stats)?;
        let support = numbers(batch, "supporting", row);
        let flagged: Vec<i64> = (0..spans.len() as i64).filter(|n| spans[*n as usize].supporting).collect();
        if support != flagged {
            fail!("the supporting facts are {support:?}, the needles say {flagged:?}");
        }
        // Languages that write pronouns alike tell the same story.
        bind(&mut needles).map_err(|n| Error::new(format!("the pronoun of needle {n} stands for nobody")))?;
        let answer = self.answer(batch, row, question, &voices, reading)?;
        let story = Story { task, facts: needles.clone(), question };
        self.frame(batch, row, &story, &voices, [&prompt[..head], tail])?;
        self.labels(batch, row, answer, plan, &voices)?;
        match solve(question, needles.iter().copied()) {
            Solution::Unique { answer: bare, support: facts } if bare == answer => {
                if !facts.iter().map(|n| *n as i64).eq(support.iter().copied()) {
                    fail!("the supporting facts are {facts:?}, recorded are {support:?}");
                }
            }
            _ => fail!("the facts alone do not give the context's answer"),
        }
        if get("certificate") != certificate(plan.kind) {
            fail!("the certificate is {:?}", get("certificate"));
        }
        reading.add(&stats);
        self.meaning(id, instance, question, &needles)?;
        if self.recipe.prompt.strategies.len() > 1 {
            self.same_context(plan, id, instance, context)?;
        }
        self.set(batch, row, plan.kind, context, &needles, reading)
    }

    pub(super) fn read_line(
        &self,
        line: &str,
        pack: &Pack,
        story: Option<&Pack>,
        free: bool,
        banned_names: &mut Option<Vec<String>>,
    ) -> Result<Option<Fact>> {
        match pack.read(line) {
            Ok(message) => {
                Fact::of(message).map(Some).ok_or_else(|| Error::new(format!("a question in the context: {line:?}")))
            }
            Err(_) if free => {
                let names = banned_names.get_or_insert_with(|| {
                    let mut names = banned(pack, tells_late(self.recipe));
                    // Of a story in another language, its persons: a sentence about them must not hide in free text.
                    if let Some(story) = story.filter(|story| story.code() != pack.code()) {
                        let actors = story_actors().flat_map(|actor| story.forms_of(language::Kind::Actor, actor));
                        names.extend(actors.map(|name| name.to_lowercase()));
                    }
                    names
                });
                if holds(line, names) {
                    fail!("a distractor names an actor or a candidate answer: {line:?}");
                }
                Ok(None)
            }
            Err(e) => Err(Error::new(format!("{e}: {line:?}"))),
        }
    }

    /// Head and tail are those of packs, task, strategy and examples.
    fn frame(
        &self,
        batch: &RecordBatch,
        row: usize,
        story: &Story,
        voices: &Voices<'_>,
        [head, tail]: [&str; 2],
    ) -> Result<()> {
        let few = voices.strategy == Strategy::FewShot;
        if few && !self.examples.is_known() {
            // The seed is held out, or the program draws other examples: what stands around them is known.
            let place = voices.template.split_once("{examples}");
            let (before, after) = place.ok_or_else(|| Error::new("the template has no place for examples"))?;
            let around = |template: &str| LocalStory::new(story, &Voices { template, ..*voices }, &[]);
            let (before, after) = (around(before), around(&format!("{{context}}{after}")));
            if before.head != head || !tail.starts_with(&before.tail) || !tail.ends_with(&after.tail) {
                fail!("the text around context and examples is not that of pack and task");
            }
            return Ok(());
        }
        let shown = match few {
            true => self.shown(batch, row, story)?,
            false => Vec::new(),
        };
        if few {
            let ids: Vec<String> = shown.iter().map(|example| example.id.clone()).collect();
            let labels: Vec<String> = shown.iter().map(|example| voices.gold(example.answer).0.remove(0)).collect();
            if texts(batch, "examples", row) != ids || texts(batch, "example_labels", row) != labels {
                fail!("the examples are not those that seed and similarity give: {}", ids.join(", "));
            }
        }
        let local = LocalStory::new(story, voices, &shown);
        if local.head != head || local.tail != tail {
            fail!("the text around the context is not that of pack and task");
        }
        Ok(())
    }

    /// The examples of a row, drawn and chosen again.
    fn shown(&self, batch: &RecordBatch, row: usize, story: &Story) -> Result<Vec<Example>> {
        let recorded = texts(batch, "examples", row);
        self.examples.of(self.recipe, text(batch, "instance_id", row), story, &recorded, self.pack_of("en")?)
    }

    /// Strategies share contexts.
    fn same_context(&self, plan: &FilePlan, id: &str, instance: &str, context: &str) -> Result<()> {
        let key = format!("context {instance} {:?}", plan.context());
        let digest = Digest::of(context);
        let mut shared = self.shared.lock().expect("no thread panics");
        let (first, other) = shared.meanings.entry(key).or_insert_with(|| (digest, id.to_owned()));
        if *first != digest {
            fail!("its context is not that of {other}, which differs in strategy alone");
        }
        Ok(())
    }

    /// Never over; and not so short that one more passage would surely have fitted. Of strategies that share a context
    /// the longest alone must fill it.
    fn budget(
        &self,
        plan: &FilePlan,
        id: &str,
        instance: &str,
        n_tokens: u64,
        longest: u64,
        stats: &mut Stats,
    ) -> Result<()> {
        if plan.length.0 == 0 {
            return Ok(());
        }
        let budget = &self.recipe.budget;
        let all = n_tokens + budget.reserve(plan.strategy);
        let most = budget.tokens(plan.length);
        if all > most {
            fail!("prompt, answer and template need {all} tokens, {} has {most}", plan.length);
        }
        // The next passage has seven lines at most; none is much longer than the longest here.
        let limit = 7 * 3 * longest.max(8);
        if self.fills() && self.recipe.prompt.strategies.len() > 1 {
            let key = format!("{instance} {:?}", plan.context());
            let mut shared = self.shared.lock().expect("no thread panics");
            let short = (most - all, limit, id.to_owned());
            shared.short.entry(key).and_modify(|least| *least = short.clone().min(least.clone())).or_insert(short);
        } else if self.fills() && most - all > limit {
            fail!("prompt, answer and template need only {all} tokens of {most}");
        }
        stats.fill = all * 1_000_000 / most;
        stats.fill_min = stats.fill;
        Ok(())
    }

    fn answer(
        &self,
        batch: &RecordBatch,
        row: usize,
        question: Question,
        voices: &Voices<'_>,
        reading: &Reading,
    ) -> Result<Answer> {
        let answer = match solve(question, reading.facts.iter().copied()) {
            Solution::Unique { answer, .. } => answer,
            Solution::Faulty(fault) => fail!("the context has no single answer: {}", fault.name()),
        };
        let (gold, variants) = voices.gold(answer);
        if texts(batch, "answers", row) != gold {
            fail!("the context's answer is {gold:?}, the gold {:?}", texts(batch, "answers", row));
        }
        if texts(batch, "answer_variants", row) != variants {
            fail!("answer_variants are not those of the pack");
        }
        Ok(answer)
    }

    /// The same facts, question and supporting facts in every language and length.
    fn meaning(&self, id: &str, instance: &str, question: Question, needles: &[Fact]) -> Result<()> {
        // Verbs that a translation tells alike are one.
        let translated = self.packs.values().any(Pack::is_translated);
        let events: Vec<Fact> = needles.iter().map(|fact| if translated { fact.event() } else { *fact }).collect();
        let digest = Digest::of(postcard::to_stdvec(&(question, events)).expect("plain data"));
        let mut shared = self.shared.lock().expect("no thread panics");
        let (first, row) = shared.meanings.entry(instance.to_owned()).or_insert_with(|| (digest, id.to_owned()));
        if *first != digest {
            fail!("tells another story than {row}");
        }
        Ok(())
    }

    fn set(
        &self,
        batch: &RecordBatch,
        row: usize,
        kind: Kind,
        context: &str,
        needles: &[Fact],
        reading: &mut Reading,
    ) -> Result<()> {
        let get = |name: &str| text(batch, name, row);
        let ids = texts(batch, "distractor_ids", row);
        let n = int(batch, "n_distractors", row);
        if n != ids.len() as i64 {
            fail!("n_distractors is {n}, there are {} distractor_ids", ids.len());
        }
        let size = ids.len() as u32;
        let number = |id: &String| {
            let digits = id.strip_prefix(letter(kind))?;
            digits.parse::<u32>().ok().filter(|n| format!("{n:05}") == digits)
        };
        let Some(numbers) = ids.iter().map(number).collect::<Option<Vec<u32>>>() else {
            fail!("a distractor id is not its kind's letter and a number");
        };
        let key = [get("instance_id"), get("length"), get("strategy"), get("distractor_kind")].join(" ");
        self.same_content(get("id"), &key, ids.iter().map(String::as_str))?;
        if let (Order::Shuffled, Some(seed)) = (self.recipe.prompt.order, &self.seed) {
            let key = seed.derive("order", get("instance_id")).bits();
            if !numbers.is_sorted_by_key(|n| (mix(key, *n), *n)) {
                fail!("the distractors do not stand in the order of their instance");
            }
        }
        let mut sorted = numbers.clone();
        sorted.sort_unstable();
        sorted.dedup();
        if sorted.len() != ids.len() {
            fail!("a distractor stands there twice");
        }
        // A passage has three to seven sentences; a natural one is a line.
        let lines = context.bytes().filter(|b| *b == b'\n').count() - needles.len();
        let whole = matches!(kind, Kind::Natural | Kind::Written);
        let (least, most) = if whole { (1, 1) } else { (3, 7) };
        if lines < least * ids.len() || lines > most * ids.len() {
            fail!("{} distractors cannot have {lines} lines", ids.len());
        }
        if kind == Kind::Synthetic {
            reading.rederived += u64::from(self.rederive(&numbers, get("instance_id"), reading)?);
        }
        if self.recipe.retrieval.ranking != Ranking::Pivot || ids.is_empty() {
            return Ok(());
        }
        let key = (get("instance_id").to_owned(), get("distractor_kind").to_owned());
        let mut shared = self.shared.lock().expect("no thread panics");
        let (levels, sizes) = shared.sets.entry(key).or_default();
        for number in numbers {
            let level = levels.entry(number).or_insert(size);
            *level = size.min(*level);
        }
        sizes.push((size, get("id").to_owned()));
        Ok(())
    }

    /// Are the context's other sentences those of the named passages, in this order, and do the facts stand
    /// between them at the depths of their instance? False where this cannot be made again.
    fn rederive(&self, numbers: &[u32], instance: &str, reading: &Reading) -> Result<bool> {
        let (Some(pool), Some(seed)) = (&self.pool, &self.seed) else { return Ok(false) };
        let translated = self.packs.values().any(Pack::is_translated);
        let facts = reading.facts.iter().zip(&reading.is_needle).filter(|(_, is)| **is).map(|(fact, _)| *fact);
        let depths = depths(seed, instance, &facts.collect::<Vec<Fact>>());
        // The passage before which each fact stands.
        let mut slots =
            depths.iter().map(|depth| u64::from(*depth) * (numbers.len() as u64 + 1) / 1_000_001).peekable();
        let mut lines = reading.facts.iter().zip(&reading.is_needle);
        for slot in 0..=numbers.len() as u64 {
            while slots.next_if(|s| *s == slot).is_some() {
                if lines.next().is_none_or(|(_, needle)| !needle) {
                    fail!("a fact does not stand at the depth of its instance");
                }
            }
            let Some(&number) = numbers.get(slot as usize) else { continue };
            let Some(passage) = pool.get(number as usize) else { fail!("there is no passage {number} in the pool") };
            for sentence in &passage.sentences {
                let same = |fact: &Fact| {
                    fact.message() == *sentence
                        || translated && Fact::of(*sentence).map(Fact::event) == Some(fact.event())
                };
                if lines.next().is_none_or(|(fact, needle)| *needle || !same(fact)) {
                    fail!("the sentences of passage {number} are not where distractor_ids says");
                }
            }
        }
        if lines.next().is_some() {
            fail!("the context holds sentences that are neither facts nor of its distractors");
        }
        Ok(true)
    }

    /// Columns that say again what other columns, the recipe or the packs say.
    pub(super) fn labels(
        &self,
        batch: &RecordBatch,
        row: usize,
        answer: Answer,
        plan: &FilePlan,
        voices: &Voices<'_>,
    ) -> Result<()> {
        let get = |name: &str| text(batch, name, row);
        let instance = get("instance_id");
        let number = instance.split('-').next().unwrap_or_default();
        let Ok(source) = number.parse::<SourceTask>() else { fail!("instance_id is {instance:?}") };
        let task = Task::of_source(source);
        let language = get("language");
        for (column, expected) in [
            ("family", "reasoning"),
            ("task", task.name()),
            ("category", task.category()),
            ("source_task", number),
            ("needle_language", language),
            ("haystack_language", plan.haystack.code()),
            ("question_language", plan.question.code()),
            ("tokenizer", self.tokenizer.name()),
        ] {
            if get(column) != expected {
                fail!("{column} is {:?}, expected {expected:?}", get(column));
            }
        }
        let expected: Vec<(String, Vec<String>)> = self
            .recipe
            .grid
            .languages
            .iter()
            .filter_map(|l| {
                let gold = voices.gold_in(answer, self.packs.get(l.code())?, plan.is_monolingual());
                Some((l.to_string(), gold))
            })
            .collect();
        if read_by_language(batch, row) != expected {
            fail!("answers_by_language are not the gold in every language");
        }
        let since_2 = if self.format > 1 { &SINCE_2[..] } else { &[] };
        let shows = |column: &&&str| !(plan.strategy == Strategy::FewShot && column.starts_with("example"));
        let since_3 = if self.format > 2 && plan.rag.is_none() { &SINCE_3[..] } else { &[] };
        let own = ["position", "prompt_kind", "pair_id", "system", "messages", "expected", "repeats"];
        for column in own.iter().chain(since_2).chain(since_3.iter().filter(shows)) {
            if !table::column(batch, column).is_null(row) {
                fail!("{column} has a value, which this family does not have");
            }
        }
        no_nulls(batch, row)?;
        let simulated = self.recipe.source.kind == SourceKind::Simulate;
        if table::column(batch, "source_id").is_null(row) != simulated {
            fail!("source_id does not fit the source");
        }
        Ok(())
    }
}
