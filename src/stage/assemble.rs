//! Fits distractors to a budget and renders a row: a pure function of the plan, an instance and its ranking.

use super::distractors;
use crate::error::{Error, Result};
use crate::fail;
use crate::family::reasoning::{CONTEXT, Example, LocalStory};
use crate::language::{Language, Pack};
use crate::plan::{FilePlan, Plan, Voice};
use crate::recipe::{Order, Position, Strategy};
use crate::record::{Instance, LocalPool, NeedleSpan, Row};
use crate::seed::mix;
use crate::tokenizer::Tokenizer;
use serde::{Deserialize, Serialize};

/// How a row comes out before it is rendered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowPlan {
    /// Index of the instance.
    pub instance: u32,
    /// How many of the ranked passages it takes.
    pub passages: u32,
    /// Tokens of the prompt.
    pub tokens: u32,
    /// Bytes of the prompt.
    pub bytes: u32,
    /// What only MLNeedle's rows have.
    pub needle: NeedlePlan,
}

/// Where a needle stands, and what stands there in its twin.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NeedlePlan {
    /// Where it is asked to stand; none where it stands alone.
    pub position: Option<Position>,
    /// In the needle-free twin: rank of the passage that takes its place.
    pub instead: Option<u32>,
    /// Bytes of the last passage's text that are kept, where it is cut.
    pub cut: Option<u32>,
}

/// Tokens of the parts of a story's prompt in one language.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Sizes {
    /// Tokens and bytes of head, facts and tail together.
    pub fixed_tokens: u32,
    /// See `fixed_tokens`.
    pub fixed_bytes: u32,
    head: u16,
    facts: Box<[u16]>,
}

impl Sizes {
    /// Counts a story's parts once; every length and kind uses the counts.
    pub fn of(local: &LocalStory, plan: &Plan, tokenizer: &Tokenizer) -> Sizes {
        let count = |text: &str| tokenizer.count_line(text) as u32;
        let facts: Vec<u32> = local.facts.iter().map(|line| count(line)).collect();
        let (head, tail) = (tokenizer.count(&local.head) as u32, count(&local.tail));
        let added = plan.ledger.added(tokenizer);
        let bytes = local.head.len() + local.tail.len() + local.facts.iter().map(String::len).sum::<usize>();
        Sizes {
            fixed_tokens: added + head + tail + facts.iter().sum::<u32>(),
            fixed_bytes: bytes as u32,
            head: head as u16,
            facts: facts.into_iter().map(|n| n as u16).collect(),
        }
    }
}

impl Sizes {
    /// Sizes of a story of which only the whole is known.
    pub fn for_tests(tokens: u32, bytes: u32) -> Sizes {
        Sizes { fixed_tokens: tokens, fixed_bytes: bytes, head: 0, facts: Box::default() }
    }
}

/// A story's text as a voice of the plan tells it.
pub fn local_story(plan: &Plan, instance: &Instance, voice: Voice, examples: &[Example]) -> LocalStory {
    let shown = if voice.2 == Strategy::FewShot { examples } else { &[] };
    LocalStory::new(&instance.story, &plan.voices(voice), shown)
}

/// The most of the ranked passages that fit, in whole passages: one more would be over. At 0k none.
///
/// Counts are the primary tokenizer's; `others` are further ones under which it must fit.
pub fn fit(
    index: usize,
    sizes: &Sizes,
    ranking: &[u32],
    pool: &LocalPool,
    budget: Option<u64>,
    others: &[Bounding<'_>],
) -> Result<RowPlan> {
    let mut row = RowPlan {
        instance: index as u32,
        passages: 0,
        tokens: sizes.fixed_tokens,
        bytes: sizes.fixed_bytes,
        needle: NeedlePlan::default(),
    };
    let Some(budget) = budget else { return Ok(row) };
    if u64::from(row.tokens) > budget {
        fail!("a story of {} tokens was admitted under a budget of {budget}", row.tokens);
    }
    let mut sums: Vec<u64> = others.iter().map(|other| u64::from(other.sizes.fixed_tokens)).collect();
    for &passage in ranking {
        let tokens = row.tokens + pool.tokens[passage as usize];
        for (sum, other) in sums.iter_mut().zip(others) {
            *sum += u64::from(other.tokens[passage as usize]);
        }
        if u64::from(tokens) > budget || sums.iter().any(|sum| *sum > budget) {
            return Ok(row);
        }
        row.tokens = tokens;
        row.bytes += pool.bytes(passage as usize) as u32;
        row.passages += 1;
    }
    Err(Error::new(format!("the pool runs out: its passages do not fill {budget} tokens for instance {index}"))
        .help("raise distractors.pool, or leave out the longest lengths"))
}

/// A story and its pool under one more tokenizer.
pub struct Bounding<'a> {
    /// Of the story.
    pub sizes: &'a Sizes,
    /// Of each passage.
    pub tokens: &'a [u32],
}

/// A row with fewer passages than it could have: the first so many of its ranking.
pub fn shorten(row: RowPlan, passages: u32, ranking: &[u32], pool: &LocalPool) -> RowPlan {
    let mut row = row;
    while row.passages > passages {
        row.passages -= 1;
        let passage = ranking[row.passages as usize] as usize;
        row.tokens -= pool.tokens[passage];
        row.bytes -= pool.bytes(passage) as u32;
    }
    row
}

/// What rendering needs of one file.
pub struct Material<'a> {
    /// The file.
    pub file: &'a FilePlan,
    /// The instance's worked examples.
    pub examples: &'a [Example],
    /// Its passages.
    pub pool: &'a LocalPool,
}

/// The passages of a row in the order in which they are printed.
///
/// The shuffled order sorts by a key that depends on instance and passage only: the same passages
/// stand in the same order in every language and length.
pub fn printed_order(plan: &Plan, instance: &Instance, chosen: &[u32]) -> Vec<u32> {
    let mut order = chosen.to_vec();
    if plan.recipe.prompt.order == Order::Shuffled {
        let key = plan.seed.derive("order", &instance.id).bits();
        order.sort_by_cached_key(|&n| (mix(key, n), n));
    }
    order
}

/// `<instance>-<language>-<length>-<strategy>-<kind>`; where story, haystack and question speak several languages,
/// `<story>.<haystack>.<question>`; of rows cut down to their best sentences, retriever and number follow.
pub fn row_id(instance: &str, file: &FilePlan) -> String {
    let FilePlan { language, haystack, question, length, .. } = file;
    let spoken = match file.is_monolingual() {
        true => language.to_string(),
        false => format!("{language}.{haystack}.{question}"),
    };
    let id = format!("{instance}-{spoken}-{length}-{}-{}", file.strategy.name(), file.kind.name());
    match file.rag {
        Some((retriever, k)) => format!("{id}-{}-{k}", retriever.name()),
        None => id,
    }
}

/// Renders a row: its prompt into the buffer, the rest as a value; and where the parts of the prompt end whose token
/// counts add up.
pub fn render(
    plan: &Plan,
    material: &Material<'_>,
    instance: &Instance,
    sizes: &Sizes,
    planned: RowPlan,
    ranking: &[u32],
    prompt: &mut String,
) -> (Row, Vec<u32>) {
    let mut parts = Vec::new();
    let file = material.file;
    let local = local_story(plan, instance, file.voice(), material.examples);
    let chosen = printed_order(plan, instance, &ranking[..planned.passages as usize]);
    prompt.push_str(&local.head);
    debug_assert!(prompt.ends_with(CONTEXT));
    parts.push(prompt.len() as u32);
    let mut tokens = u64::from(sizes.head);
    let mut spans: Vec<NeedleSpan> = Vec::with_capacity(local.facts.len());
    let slots = chosen.len() as u64 + 1;
    for slot in 0..=chosen.len() {
        // A depth of 0 is before the first passage, one of a million behind the last.
        while let Some(&depth) = instance.depths.get(spans.len())
            && u64::from(depth) * slots / 1_000_001 == slot as u64
        {
            let n = spans.len();
            let start = prompt.len() as u64;
            prompt.push_str(&local.facts[n]);
            parts.push(prompt.len() as u32);
            let token_end = tokens + u64::from(sizes.facts[n]);
            let end = prompt.len() as u64 - 1;
            let supporting = instance.support.contains(&(n as u32));
            spans.push(NeedleSpan { start, end, token_start: tokens, token_end, supporting, ..NeedleSpan::default() });
            tokens = token_end;
        }
        if let Some(&passage) = chosen.get(slot) {
            prompt.push_str(material.pool.passage(passage as usize));
            parts.push(prompt.len() as u32);
            tokens += u64::from(material.pool.tokens[passage as usize]);
        }
    }
    let head = u64::from(sizes.head);
    let context = (tokens - head).max(1);
    for span in &mut spans {
        span.depth = (span.token_start - head) * 1_000_000 / context;
    }
    prompt.push_str(&local.tail);
    parts.push(prompt.len() as u32);
    let voices = plan.voices(file.voice());
    let (answers, answer_variants) = voices.gold(instance.answer);
    let by_language = |(language, pack): &(Language, Pack)| {
        (language.to_string(), voices.gold_in(instance.answer, pack, file.is_monolingual()))
    };
    let examples = (file.strategy == Strategy::FewShot).then_some(material.examples);
    let row = Row {
        id: row_id(&instance.id, file),
        instance_id: instance.id.clone(),
        task: instance.task.name(),
        category: instance.task.category(),
        source_task: instance.source_task().to_string(),
        question: local.question,
        answers,
        answer_variants,
        answers_by_language: plan.packs.iter().map(by_language).collect(),
        n_tokens: u64::from(planned.tokens),
        needle_spans: spans,
        supporting: instance.support.clone(),
        distractor_ids: chosen.iter().map(|&n| distractors::id(file.kind, n)).collect(),
        source_id: instance.source_id.clone(),
        certificate: "",
        examples: examples.map(|all| all.iter().map(|example| example.id.clone()).collect()),
        example_labels: examples.map(|all| all.iter().map(|example| voices.gold(example.answer).0.remove(0)).collect()),
        ..Row::default()
    };
    (row, parts)
}
