//! Scores what models answered to the prompts of a release.
//!
//! [`Predictions`] are read, [`score()`] holds each against its row by a [`Rule`], and [`report()`] counts: [`metrics`] has the papers'
//! formulas, [`paired`] compares two runs. [`PYTHON`] is the same rule for evaluators; one table of cases runs through both.
//!
//! # The rule `sound`
//!
//! **What is read of an output.** What stands in `<think>` is not read, nor what follows a line that begins a further question. Then the
//! first of these that there is:
//!
//! 1. the value of the last JSON answer (`"answer"`, or that word in another language), in a code fence or not, with text around it
//!    or not; a list's items, an object's values, numbers, `true` and `false`; strings may be cut off or hold quotes that are not escaped;
//! 2. the last `\boxed{}`;
//! 3. the rest of the line behind the last "Answer:" or "the answer is", or the line after it;
//! 4. of a chain of thought the last line; else all of it.
//!
//! It is compared in [normal form](crate::language::normalize()): one case, one form of each letter and digit, whatever the script.
//! Words are whole words in languages that have them, with the clitics and endings of the pack. Of words that overlap the longest counts,
//! so that "no information" is no "no" and "Wang Fang" one name. Refusals ("I don't know") and phrases in which a word means something else
//! ("no one") hide what they hold, and refusals the rest of their sentence ("It is unclear whether Mary is in the garden") up to a word of
//! contrast ("but"); a "maybe" that is a clause of its own is not hidden.
//! **An output of which nothing is left, and a gold of which nothing is left, give no credit.**
//!
//! **What must stand there**, by what is asked:
//!
//! | asked | right if |
//! |---|---|
//! | yes, no, maybe (qa6, qa9, qa10, qa17, qa18, existence) | it gives this label and no other. Labels that are common words too ("no", Chinese for "is there") count as a clause of their own alone, so a sentence that merely holds them says nothing; "no" also at the beginning of all before a person ("No he is in the kitchen"); a sentence without a label is no answer |
//! | a number (qa7) | it gives this number and no other, in digits of any script or words. A word that is an article too (German "ein") counts where no other number stands: if there are several, the one that is a clause of its own or that what is counted follows ("einen Gegenstand"). Words for none count where no number and no refusal stands; those that deny other things too (German "kein") as a clause of their own, at its end, or before what is counted |
//! | a set (qa8) | it names all members and no other, in any order, form and with any separators. A short item of a list that names nothing known is one too many, except what begins with a person before all members ("John went home and"). Nothing: it says so, names no object and refuses nothing |
//! | a way (qa19) | it names these directions in this order and no other |
//! | a person, place, thing, kind, colour, reason | it names this one of its kind and no other that the question does not name; not "garden or attic" either. What is denied ("not in the garden", "den Kuchen nicht") is not named |
//! | an answer of a passage, a hidden sentence | it holds one of the golds as whole words; a number in digits or in words |
//!
//! or if the whole text is one of the row's accepted answers. `exact` reads by the language of the question (and, where it is another, of the
//! story), under the strategy `translation` by English; persons keep their names, in Latin letters. `any` reads by each language of the
//! release in turn, where its own language and English name nothing else; a given `output_en` is read by English. `existence` reads
//! by English, in which it is asked, else by the languages of question and needle.
//!
//! # Other rules
//!
//! `contains` is what the papers say: one of the accepted answers occurs in the output, here in normal form, also within a word. `released` is
//! what MLRBench's released code does: the gold, no variant of it, occurs in the output, both lower case. It finds "no" in "I don't know", "one"
//! in "none" and a blank gold in anything, and takes neither "1" for "one" nor a list in another order.
//!
//! # Limits
//!
//! A row's words are those of the release's packs and of `words.toml` beside this file; a language without a section there has no refusals
//! and denials. A label in a sentence of its own kind ("John is not in the bathroom") is not inferred. `exact` of hidden sentences is
//! a lower bound: what counts there are a judge's marks.

mod extract;
mod find;
pub mod metrics;
mod open;
pub mod paired;
mod predictions;
mod report;
mod rule;
mod run;
mod text;
mod tongue;
mod words;

pub use predictions::{Place, Prediction, Predictions};
pub use report::{Group, Lengths, Options, Report, report, write_rows};
pub use rule::{Gold, Rule, Scorer, Verdict};
pub use run::{Faults, Scored, check_columns, gold, score};
pub use words::{KINDS, LanguageWords, Words};

use crate::error::{Error, Result};
use crate::release::Release;

/// The matching rule as a Python module, for evaluators: needs nothing but Python 3.9.
pub const PYTHON: &str = include_str!("nihbuild_score.py");

/// Columns that the matching rule reads.
pub const COLUMNS: [&str; 12] = [
    "family",
    "task",
    "source_task",
    "language",
    "question_language",
    "strategy",
    "prompt_kind",
    "question",
    "answers",
    "answer_variants",
    "answers_by_language",
    "expected",
];

/// The word lists of a release that [`PYTHON`] needs, as JSON.
pub fn words(release: &Release) -> Result<serde_json::Value> {
    serde_json::to_value(Words::of(release)?).map_err(|e| Error::new(e.to_string()))
}
