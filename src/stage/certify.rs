//! Proves a final prompt answerable from its text alone.
//!
//! `solved`: every line of the context is a sentence of the language; the solver over all of them gives
//! exactly the gold, uniquely. `contained` (natural passages and noise): the same over the lines that are sentences; every
//! other line names no actor of the stories and no candidate answer.

use super::localize::{Line, Lines};
use crate::error::{Error, Result};
use crate::family::reasoning::{CONTEXT, CONTEXT_END, Voices, question_of};
use crate::recipe::Kind;
use crate::story::{Fact, Mentions, Solution, solve};

/// What certifying saw of one prompt.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Seen {
    /// Lines of the context.
    pub lines: u64,
    /// Lines of the pool among them that stand there a second or further time.
    pub repeated: u64,
}

/// Reads contexts. Holds buffers for the next prompt.
pub struct Certifier<'a> {
    voices: Voices<'a>,
    lines: &'a Lines<'a>,
    facts: Vec<Fact>,
    /// For each line of the pool, the prompt that held it last.
    last: Vec<u32>,
    prompts: u32,
}

impl<'a> Certifier<'a> {
    /// A certifier of one voice in the haystack of these lines.
    pub fn new(voices: Voices<'a>, lines: &'a Lines<'a>) -> Self {
        Certifier { voices, lines, facts: Vec::new(), last: vec![0; lines.len()], prompts: 0 }
    }

    /// Proves a prompt against its printed gold; counts what the context names, if asked.
    pub fn certify(&mut self, prompt: &str, gold: &str, mut mentions: Option<&mut Mentions>) -> Result<Seen> {
        let (context, tail) = split(prompt)?;
        let question = question_of(tail, self.voices.question)
            .ok_or_else(|| Error::new("the question after the context cannot be read"))?;
        self.prompts += 1;
        self.facts.clear();
        let mut seen = Seen::default();
        let mut behind_clean = false;
        for line in context.split_terminator('\n') {
            seen.lines += 1;
            let fact = match self.lines.get(line) {
                Some((says, number)) => {
                    let last = &mut self.last[*number as usize];
                    seen.repeated += u64::from(*last == self.prompts);
                    *last = self.prompts;
                    match says {
                        Line::Says(fact) => *fact,
                        Line::Clean => {
                            behind_clean = true;
                            continue;
                        }
                    }
                }
                None => self.read(line)?,
            };
            if behind_clean && fact.leans() {
                return Err(Error::new(format!("a pronoun behind a line that is no sentence of a story: {line:?}")));
            }
            behind_clean = false;
            if let Some(mentions) = mentions.as_deref_mut() {
                mentions.add(fact);
            }
            self.facts.push(fact);
        }
        match solve(question, self.facts.iter().copied()) {
            Solution::Unique { answer, .. } if self.voices.gold(answer).0 == [gold] => Ok(seen),
            Solution::Unique { answer, .. } => {
                Err(Error::new(format!("the context's answer is {:?}, the gold {gold:?}", self.voices.gold(answer).0)))
            }
            Solution::Faulty(fault) => Err(Error::new(format!("the context has no single answer: {}", fault.name()))),
        }
    }

    /// What a line of a context says; none of text that is no sentence of ours.
    pub fn says(&self, line: &str) -> Result<Option<Fact>> {
        match self.lines.get(line) {
            Some((Line::Says(fact), _)) => Ok(Some(*fact)),
            Some((Line::Clean, _)) => Ok(None),
            None => self.read(line).map(Some),
        }
    }

    fn read(&self, line: &str) -> Result<Fact> {
        let message =
            self.voices.story.read(line).map_err(|e| Error::new(e.to_string()).at(format!("line {line:?}")))?;
        Fact::of(message).ok_or_else(|| Error::new(format!("a question in the context: {line:?}")))
    }
}

/// How prompts with a kind of distractors are proven.
pub fn certificate(kind: Kind) -> &'static str {
    match kind {
        Kind::Synthetic => "solved",
        Kind::Noise | Kind::Natural | Kind::Written => "contained",
    }
}

/// The context of a prompt, and what follows it.
pub fn split(prompt: &str) -> Result<(&str, &str)> {
    let start = prompt.find(CONTEXT).map(|i| i + CONTEXT.len());
    let end = prompt.rfind(CONTEXT_END);
    match (start, end) {
        (Some(start), Some(end)) if start <= end => Ok((&prompt[start..end], &prompt[end..])),
        _ => Err(Error::new("the prompt has no context between its tags")),
    }
}
