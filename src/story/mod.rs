//! bAbI as meaning: facts, questions, the solver that derives an answer, and fresh stories.

mod answerers;
mod fact;
mod invent;
mod puzzles;
mod question;
mod simulate;
mod solver;
mod tables;
mod walk;

pub use answerers::{ANSWERERS, Guess, Mentions, commonest, credit, guesses, named};
pub use fact::{Direction, Fact, Side, bind};
pub use puzzles::{MOTIVATED_OBJECTS, MOTIVATED_PLACES};
pub use question::{Answer, Question, Way};
pub use simulate::{AnswerSpread, labels, simulate};
pub use solver::{Fault, Solution, solve};

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// One of bAbI's tasks qa1-qa20.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceTask(u8);

impl SourceTask {
    /// All tasks there are.
    pub fn all() -> impl Iterator<Item = SourceTask> {
        (1..=20).map(SourceTask)
    }

    /// bAbI's number of the task.
    pub fn number(self) -> u8 {
        self.0
    }

    /// The task of a number.
    pub fn of(number: u8) -> Option<SourceTask> {
        (1..=20).contains(&number).then_some(SourceTask(number))
    }

    /// One of qa11-qa20, which packs of old releases do not know.
    pub fn is_late(self) -> bool {
        self.0 > 10
    }
}

impl fmt::Display for SourceTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "qa{}", self.0)
    }
}

impl fmt::Debug for SourceTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl FromStr for SourceTask {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        SourceTask::all()
            .find(|task| task.to_string() == text)
            .ok_or_else(|| format!("unknown source task `{text}`, expected qa1 to qa20"))
    }
}

impl Serialize for SourceTask {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for SourceTask {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A story with its question; the solver says what the answer is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Story {
    /// The task it belongs to.
    pub task: SourceTask,
    /// The facts, in the order in which things happened.
    pub facts: Vec<Fact>,
    /// What is asked after the last fact.
    pub question: Question,
}

impl Story {
    /// The answer and its supporting facts, from the facts alone.
    pub fn solve(&self) -> Solution {
        solve(self.question, self.facts.iter().copied())
    }
}
