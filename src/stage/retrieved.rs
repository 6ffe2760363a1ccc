//! Prompts cut down to the sentences most like their question: what a retriever in front of a model would hand it
//! (the paper's section 3.3). Facts may be lost on the way; that is what these rows measure.

use super::certify::split;
use super::localize::Lines;
use crate::embedder::dot;
use crate::error::{Error, Result};
use crate::family::reasoning::Voices;
use crate::language::Language;
use crate::recipe::{Kind, RagOrder, Retriever};
use crate::record::{NeedleSpan, Retrieved, Row};
use crate::reranker::{Bm25, CommandReranker, Prepared, Reranker};
use crate::stage::embed::Vectors;
use crate::story::{Answer, Fact, Question, Solution, solve};
use crate::tokenizer::Tokenizer;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Mutex;

/// What ranking needs of a set of sentences, by their numbers.
#[derive(Default)]
pub struct Known {
    vectors: Option<Vectors>,
    prepared: Vec<Prepared>,
}

impl Known {
    /// Sentences, with their vectors where an embedder ranks them, read for BM25 where that does.
    pub fn new(sentences: &[&str], vectors: Option<Vectors>, bm25: Option<&mut Bm25>) -> Known {
        let prepared = bm25.map_or_else(Vec::new, |bm25| sentences.iter().map(|s| bm25.prepare(s)).collect());
        Known { vectors, prepared }
    }
}

/// Everything that ranks sentences.
#[derive(Default)]
pub struct Retrievers<'a> {
    /// The words of all sentences.
    pub bm25: Bm25,
    /// The lines of each pool.
    pub pools: BTreeMap<(Language, Kind), (&'a Lines<'a>, Known)>,
    /// The facts of all stories in a language, and their numbers.
    pub facts: BTreeMap<Language, (FxHashMap<String, u32>, Known)>,
    /// The questions' vectors, by the languages of question and story, one an instance.
    pub questions: BTreeMap<(Language, Language), Vectors>,
    /// The program, where one ranks.
    pub command: Option<Mutex<CommandReranker>>,
}

/// [`Retrievers`] as a part of a plan: all but the pools' lines, which are read back from the pools, and the program.
#[derive(Serialize, Deserialize)]
pub struct Packed {
    /// BM25 ranks too.
    words: bool,
    pools: Vec<((Language, Kind), Option<Vectors>)>,
    facts: Vec<(Language, Vec<String>, Option<Vectors>)>,
    questions: Vec<((Language, Language), Vectors)>,
}

impl Packed {
    /// The pools whose lines are ranked.
    pub fn sides(&self) -> impl Iterator<Item = (Language, Kind)> + '_ {
        self.pools.iter().map(|(side, _)| *side)
    }
}

/// The lines of a pool by their numbers.
pub fn numbered<'a>(lines: &Lines<'a>) -> Vec<&'a str> {
    let mut sentences: Vec<(u32, &str)> = lines.iter().map(|(line, (_, n))| (*n, *line)).collect();
    sentences.sort_unstable();
    sentences.into_iter().map(|(_, line)| line).collect()
}

impl<'a> Retrievers<'a> {
    /// What workers need of it.
    pub fn pack(&self) -> Packed {
        let fact = |(language, (numbers, known)): (&Language, &(FxHashMap<String, u32>, Known))| {
            let mut facts: Vec<&String> = numbers.keys().collect();
            facts.sort_unstable();
            (*language, facts.into_iter().cloned().collect(), known.vectors.clone())
        };
        Packed {
            words: self.pools.values().any(|(_, known)| !known.prepared.is_empty()),
            pools: self.pools.iter().map(|(side, (_, known))| (*side, known.vectors.clone())).collect(),
            facts: self.facts.iter().map(fact).collect(),
            questions: self.questions.iter().map(|(asked, vectors)| (*asked, vectors.clone())).collect(),
        }
    }

    /// The same again, with the lines of each pool.
    pub fn unpack(packed: Packed, lines: impl Fn((Language, Kind)) -> Result<&'a Lines<'a>>) -> Result<Retrievers<'a>> {
        let mut made = Retrievers::default();
        for (side, vectors) in packed.pools {
            let lines = lines(side)?;
            let known = Known::new(&numbered(lines), vectors, packed.words.then_some(&mut made.bm25));
            made.pools.insert(side, (lines, known));
        }
        for (language, facts, vectors) in packed.facts {
            let sentences: Vec<&str> = facts.iter().map(String::as_str).collect();
            let known = Known::new(&sentences, vectors, packed.words.then_some(&mut made.bm25));
            made.facts.insert(language, (facts.into_iter().zip(0..).collect(), known));
        }
        made.questions = packed.questions.into_iter().collect();
        Ok(made)
    }
}

/// A line of a context.
enum Place {
    Pool(u32),
    Fact(u32),
}

impl Retrievers<'_> {
    /// How much each line is like the question.
    pub fn scores(
        &self,
        retriever: Retriever,
        voice: (Language, Language),
        side: (Language, Kind),
        instance: usize,
        question: &str,
        lines: &[&str],
    ) -> Result<Vec<i64>> {
        let (story, asked) = voice;
        if retriever == Retriever::Command {
            let command = self.command.as_ref().ok_or_else(|| Error::new("no program ranks sentences"))?;
            return command.lock().unwrap_or_else(|e| e.into_inner()).scores(question, lines);
        }
        let (pool, in_pool) = self.pools.get(&side).ok_or_else(|| Error::new("the pool's sentences are not ready"))?;
        let (facts, in_facts) = self.facts.get(&story).ok_or_else(|| Error::new("the facts are not ready"))?;
        let place = |line: &&str| -> Result<Place> {
            match (facts.get(*line), pool.get(*line)) {
                (Some(n), _) => Ok(Place::Fact(*n)),
                (None, Some((_, n))) => Ok(Place::Pool(*n)),
                _ => Err(Error::new(format!("a line that is neither fact nor distractor: {line:?}"))),
            }
        };
        let places = lines.iter().map(place).collect::<Result<Vec<_>>>()?;
        if retriever == Retriever::Bm25 {
            let prepared = places.iter().map(|place| match place {
                Place::Fact(n) => in_facts.prepared[*n as usize],
                Place::Pool(n) => in_pool.prepared[*n as usize],
            });
            return Ok(self.bm25.rank(question, &prepared.collect::<Vec<_>>()));
        }
        let missing = || Error::new("no vectors of sentences are at hand");
        let asked = self.questions.get(&(asked, story)).ok_or_else(missing)?.of(instance);
        let vectors = (in_pool.vectors.as_ref().ok_or_else(missing)?, in_facts.vectors.as_ref().ok_or_else(missing)?);
        let score = |place: &Place| match place {
            Place::Pool(n) => i64::from(dot(vectors.0.of(*n as usize), asked)),
            Place::Fact(n) => i64::from(dot(vectors.1.of(*n as usize), asked)),
        };
        Ok(places.iter().map(score).collect())
    }
}

/// The lines that are kept, in the order in which they are printed: the `k` of the highest scores, of equal ones the
/// earlier.
pub fn keep(scores: &[i64], k: usize, order: RagOrder) -> Vec<usize> {
    let mut all: Vec<usize> = (0..scores.len()).collect();
    all.sort_by_key(|n| (std::cmp::Reverse(scores[*n]), *n));
    all.truncate(k);
    if order == RagOrder::Chronological {
        all.sort_unstable();
    }
    all
}

/// Do these lines, in this order, give the gold as their one answer? `None` is a line that is no sentence of ours: no
/// pronoun stands for whom it names.
pub fn answerable(question: Question, lines: &[Option<Fact>], gold: Answer) -> bool {
    let leans = |pair: &[Option<Fact>]| pair[0].is_none() && pair[1].is_some_and(Fact::leans);
    if lines.windows(2).any(leans) {
        return false;
    }
    matches!(solve(question, lines.iter().flatten().copied()), Solution::Unique { answer, .. } if answer == gold)
}

/// A share in millionths; of nothing, all.
pub fn share(part: usize, of: usize) -> u64 {
    if of == 0 { 1_000_000 } else { part as u64 * 1_000_000 / of as u64 }
}

/// What cutting down needs of a row.
pub struct Cut<'a> {
    /// Who speaks.
    pub voices: &'a Voices<'a>,
    /// The retriever, and how many lines it keeps.
    pub rag: (Retriever, u32),
    /// The kept lines' order.
    pub order: RagOrder,
    /// The question.
    pub question: Question,
    /// The gold.
    pub gold: Answer,
    /// Facts of the story.
    pub facts: usize,
    /// Counts tokens.
    pub tokenizer: &'a Tokenizer,
    /// Tokens that the tokenizer adds to a prompt.
    pub added: u32,
}

impl Cut<'_> {
    /// Cuts the prompt of a rendered row down to lines of the highest scores; where its parts end whose token counts add up.
    pub fn apply(
        &self,
        row: &mut Row,
        prompt: &mut String,
        scores: &[i64],
        read: impl Fn(&str) -> Result<Option<Fact>>,
    ) -> Result<Vec<u32>> {
        let (context, tail) = split(prompt)?;
        let whole = &prompt[..prompt.len() - tail.len() - context.len()];
        // Sentences in another order than things happened must not be said to stand in that order.
        let order = match self.order {
            RagOrder::Chronological => String::new(),
            RagOrder::Similarity => self.voices.order_sentence(),
        };
        let head = &if order.is_empty() { whole.to_owned() } else { whole.replacen(&order, "", 1) };
        let lines: Vec<&str> = context.split_inclusive('\n').collect();
        let mut starts = Vec::with_capacity(lines.len());
        let mut at = whole.len();
        for line in &lines {
            starts.push(at as u64);
            at += line.len();
        }
        let kept = keep(scores, self.rag.1 as usize, self.order);
        let mut text = head.to_owned();
        let mut parts = vec![text.len() as u32];
        let before = self.tokenizer.count(head) as u64;
        let mut tokens = before;
        let mut spans: Vec<(usize, NeedleSpan)> = Vec::new();
        let mut facts = Vec::with_capacity(kept.len());
        for n in kept {
            let line = lines[n];
            facts.push(read(line.trim_end_matches('\n'))?);
            let start = text.len() as u64;
            text.push_str(line);
            parts.push(text.len() as u32);
            let count = self.tokenizer.count_line(line) as u64;
            if let Some(fact) = row.needle_spans.iter().position(|span| span.start == starts[n]) {
                let supporting = row.needle_spans[fact].supporting;
                let (end, token_start, token_end) = (text.len() as u64 - 1, tokens, tokens + count);
                spans.push((
                    fact,
                    NeedleSpan { start, end, token_start, token_end, supporting, ..NeedleSpan::default() },
                ));
            }
            tokens += count;
        }
        let all = (tokens - before).max(1);
        for (_, span) in &mut spans {
            span.depth = (span.token_start - before) * 1_000_000 / all;
        }
        text.push_str(tail);
        parts.push(text.len() as u32);
        row.n_tokens = tokens + self.tokenizer.count_line(tail) as u64 + u64::from(self.added);
        let support = row.supporting.len();
        let held = spans.iter().filter(|(_, span)| span.supporting).count();
        row.retrieved = Some(Retrieved {
            retriever: self.rag.0.name(),
            top_k: u64::from(self.rag.1),
            answerable: answerable(self.question, &facts, self.gold),
            recall: share(spans.len(), self.facts),
            recall_supporting: share(held, support),
        });
        row.needle_spans = spans.into_iter().map(|(_, span)| span).collect();
        row.distractor_ids.clear();
        row.certificate = CERTIFICATE;
        *prompt = text;
        Ok(parts)
    }
}

/// How rows are marked that prove nothing: `answerable` says whether they could be answered.
pub const CERTIFICATE: &str = "retrieved";
