//! Renders a row of the passage family, and proves it from its final text.

use super::assemble::RowPlan;
use super::counter::{Item, NeedleSizes, line};
use super::leaks::{Guard, patterns};
use super::passages::Inputs;
use super::render::{FileRows, Made, Rows};
use super::stats::Stats;
use crate::compact::{Layout, Parts, Recipe};
use crate::error::Result;
use crate::fail;
use crate::family::passage::{head, label, parse, tail};
use crate::plan::{Cell, FilePlan};
use crate::recipe::{Haystack as In, Last, Position, PromptKind};
use crate::record::{NeedleInstance, NeedleSpan, Row};
use crate::tokenizer::{first_token, last_token};

/// How rows of this family are proven.
pub const CERTIFICATE: &str = "contained";

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
        let (row, parts) = self.render(file, cell, instance, &items, planned, prompt);
        let repeated = self
            .certify(desk, file, cell, index, &row, prompt)
            .map_err(|e| e.at(format!("row {}", row.id)).help("this is a bug: no release was written"))?;
        let lines = u64::from(planned.passages) + 1;
        Ok(Made { row, stats: Stats { lines, repeated, ..Stats::default() }, parts })
    }

    fn id(&self, file: &FilePlan, planned: RowPlan) -> String {
        let cell = file.cell.expect("a file of this family has a cell");
        let kind = id_kind(cell.prompt, planned.needle.instead.is_some());
        row_id(&self.instances[planned.instance as usize].id, file, cell, planned.needle.position, kind)
    }

    fn slots(&self, _: &FilePlan, planned: RowPlan) -> Vec<u64> {
        planned.needle.instead.map(u64::from).into_iter().collect()
    }

    fn compact(&self, file: &FilePlan, planned: RowPlan, _: &Row, _: &str) -> Result<Recipe> {
        self.compact_row(file, planned)
    }

    fn parts(&self, files: &[FileRows], parts: &mut Parts) -> Result<Vec<Layout>> {
        self.compact_parts(files, parts)
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
    ) -> (Row, Vec<u32>) {
        let mut parts = Vec::new();
        let needle = &instance.by_language[&file.language];
        let question = &instance.by_language[&cell.question].question;
        let sizes = NeedleSizes::of(self.counter, needle, cell.prompt, question);
        let tokenizer = &self.counter.tokenizer;
        prompt.push_str(head(cell.prompt));
        parts.push(prompt.len() as u32);
        let start_tokens = tokenizer.count(head(cell.prompt)) as i64;
        let mut tokens = start_tokens;
        let mut spans = Vec::new();
        let mut ids = Vec::new();
        let mut closing = 0;
        for (n, entry) in self.printed(items, &planned, file.language).into_iter().enumerate() {
            prompt.push_str(&label(self.counter.first + n));
            parts.push(prompt.len() as u32);
            tokens += i64::from(self.counter.labels[n + 1] - self.counter.labels[n]);
            let (text, in_line, close) = match entry {
                None => (needle.context.as_str(), sizes.line, sizes.closing),
                Some(item) => {
                    let id = &self.counter.haystack.ids[item.passage as usize];
                    ids.push(match cell.haystack.unwrap_or(In::In(file.language)) == In::In(item.language) {
                        true => id.clone(),
                        false => format!("{id}-{}", item.language),
                    });
                    let counted = (self.counter.tokens(item), self.counter.closing(item));
                    Self::part(self.counter, self.counter.text(item), self.cut_of(items, &planned, item), counted)
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
                    supporting,
                    ..NeedleSpan::default()
                };
                spans.push(span(0, text.len() as u64, tokens, tokens + in_line, false));
                // The line begins with a space, one byte before the text.
                let ends = tokenizer.line_ends(&line(text));
                let from = tokens + first_token(&ends, needle.start as usize + 1) as i64;
                let to = tokens + last_token(&ends, needle.end as usize + 1) as i64;
                spans.push(span(u64::from(needle.start), u64::from(needle.end), from, to, true));
            }
            prompt.push_str(text);
            prompt.push('\n');
            parts.push(prompt.len() as u32);
            tokens += in_line;
            closing = close;
        }
        prompt.push('\n');
        // The blank line belongs to the last passage.
        if let Some(last) = parts.last_mut() {
            *last = prompt.len() as u32;
        }
        prompt.push_str(&tail(cell.prompt, question));
        parts.push(prompt.len() as u32);
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
        let row = Row {
            id: row_id(&instance.id, file, cell, position, id_kind(cell.prompt, twin)),
            instance_id: instance.id.clone(),
            task: "passage_retrieval",
            category: "retrieval",
            source_task: self.plan.recipe.source.dataset.as_ref().map(|name| name.0.clone()).unwrap_or_default(),
            position: position.map(|p| p.name().into()),
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
            ..Row::default()
        };
        (row, parts)
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
