//! The pack of a language that has none, from its translations.

use super::translate::Done;
use super::units::{What, names, quoted_labels};
use crate::error::{Error, Result};
use crate::language::{ACTORS, FURTHER, Kind, PATTERNS, Pack, STORY_ACTORS, is_woman};
use crate::plan::Plan;
use crate::recipe::Guest;
use crate::translator::placeholder::{Gender, Name, restore};
use std::collections::BTreeMap;
use toml::{Table, Value};

/// Scripts whose languages put no space between words, by language.
const UNSPACED: [&str; 7] = ["zh", "ja", "th", "lo", "km", "my", "bo"];

/// Letters of noise, where the translations have too few of their own.
const LATIN: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

fn table(pairs: impl IntoIterator<Item = (String, Value)>) -> Value {
    Value::Table(pairs.into_iter().collect::<Table>())
}

fn text(text: impl Into<String>) -> Value {
    Value::String(text.into())
}

fn list(texts: impl IntoIterator<Item = String>) -> Value {
    Value::Array(texts.into_iter().map(Value::String).collect())
}

/// Builds the pack and reads it.
pub(super) fn pack(plan: &Plan, code: &str, guest: &Guest, done: &[Done]) -> Result<Pack> {
    if !done.iter().any(|done| matches!(done.unit.what, What::Sentence(_))) {
        return Err(Error::new(format!("language {code}: none of its sentences passed the checks"))
            .help("look at a few answers in the journal under the store's translate/; ask another service"));
    }
    let said: BTreeMap<&What, &str> = done.iter().map(|done| (&done.unit.what, done.target.as_str())).collect();
    let make = Make { plan, code, guest, said };
    let made = toml::to_string(&make.file(done)?).map_err(|e| Error::new(e.to_string()))?;
    let head = format!("# Made by machine translation; see pins/translate and the card. Language {code}.\n");
    Pack::parse(&(head + &made)).map_err(|e| e.at(format!("the translated language {code}")))
}

struct Make<'a> {
    plan: &'a Plan,
    code: &'a str,
    guest: &'a Guest,
    said: BTreeMap<&'a What, &'a str>,
}

impl Make<'_> {
    fn spaced(&self) -> bool {
        let bare = self.code.split('-').next().unwrap_or_default();
        self.guest.spaced.unwrap_or(!UNSPACED.contains(&bare))
    }

    /// What must be there: without it no prompt can be written.
    fn need(&self, what: &What) -> Result<&str> {
        self.said.get(what).copied().ok_or_else(|| {
            Error::new(format!("{} was not translated", what.name()))
                .at(format!("language {}", self.code))
                .help("raise translation.attempts, or ask another service; of a program that was mended, change `model`: its old answers are kept")
        })
    }

    fn label(&self, key: &str) -> Result<String> {
        self.need(&What::Label(key.to_owned())).map(str::to_lowercase)
    }

    /// A text around the context, its quoted labels in this language.
    fn phrase(&self, key: &str) -> Result<String> {
        let target = self.need(&What::Phrase(key.to_owned()))?;
        let quoted = quoted_labels(key, &self.plan.english);
        let name = |what: &What| Ok(Name { text: self.need(what)?.to_lowercase(), gender: Gender::Man });
        restore(target, &quoted.iter().map(name).collect::<Result<Vec<_>>>()?)
    }

    fn cast(&self) -> Value {
        let (mut women, mut men) = (self.guest.women.iter(), self.guest.men.iter());
        let person = |n: usize| {
            let own = if is_woman(n as u8) { women.next() } else { men.next() };
            let name = own.cloned().unwrap_or_else(|| self.plan.english.citation(Kind::Actor, n as u8).to_owned());
            let gender = if is_woman(n as u8) { "f" } else { "m" };
            table([("name".to_owned(), text(name)), ("gender".to_owned(), text(gender))])
        };
        let all: Vec<Value> = (0..ACTORS).map(person).collect();
        table([
            ("story".to_owned(), Value::Array(all[..STORY_ACTORS].to_vec())),
            ("extra".to_owned(), Value::Array(all[STORY_ACTORS..FURTHER].to_vec())),
            ("further".to_owned(), Value::Array(all[FURTHER..].to_vec())),
        ])
    }

    /// Entities of a kind; those that no answer names have no text.
    fn entities(&self, kind: Kind) -> Value {
        let entity = |(n, id): (usize, &&str)| {
            let word = self.said.get(&What::Word(kind, n as u8)).copied().unwrap_or_default();
            ((*id).to_owned(), table([("base".to_owned(), text(word))]))
        };
        table(kind.ids().iter().enumerate().map(entity))
    }

    fn answers(&self) -> Result<Value> {
        let one = |key: &str| Ok(list([self.label(key)?]));
        let count = |n: usize| Ok(list([self.label(&format!("count.{n}"))?, n.to_string()]));
        let direction = |n: usize| Ok(list([self.label(&format!("direction.{n}"))?]));
        let and = self.phrase("prompt.and")?;
        let space = if self.spaced() { " " } else { "" };
        Ok(table([
            ("yes".to_owned(), one("yes")?),
            ("no".to_owned(), one("no")?),
            ("maybe".to_owned(), one("maybe")?),
            ("nothing".to_owned(), one("nothing")?),
            ("count".to_owned(), Value::Array((0..11).map(count).collect::<Result<_>>()?)),
            ("directions".to_owned(), Value::Array((0..4).map(direction).collect::<Result<_>>()?)),
            ("list_separator".to_owned(), text(", ")),
            ("list_and".to_owned(), text(format!("{space}{and}{space}"))),
        ]))
    }

    fn instructions(&self) -> Result<Value> {
        const KEYS: [&str; 19] = [
            "opening",
            "order",
            "place",
            "giving",
            "yes_no",
            "chain",
            "relations",
            "count",
            "list",
            "maybe",
            "opening_other",
            "coreference",
            "time",
            "deduction",
            "induction",
            "position",
            "size",
            "path",
            "motive",
        ];
        let of = |key: &&str| Ok(((*key).to_owned(), text(self.phrase(&format!("instructions.{key}"))?)));
        let mut all = KEYS.iter().map(of).collect::<Result<Table>>()?;
        all.insert("join".to_owned(), text(if self.spaced() { " " } else { "" }));
        Ok(Value::Table(all))
    }

    fn prompt(&self) -> Result<Value> {
        let (question, json) = (self.phrase("prompt.question")?, self.phrase("prompt.json")?);
        let mut all: Table = [
            ("question".to_owned(), text(format!("{question} {{question}}"))),
            ("json".to_owned(), text(format!("{json} {{\"answer\": \u{2026}}}"))),
            ("json_reasoning".to_owned(), text(format!("{json} {{\"reasoning\": \u{2026}, \"answer\": \u{2026}}}"))),
        ]
        .into_iter()
        .collect();
        for key in ["chain_of_thought", "translate", "passages", "answer", "example", "examples"] {
            all.insert(key.to_owned(), text(self.phrase(&format!("prompt.{key}"))?));
        }
        Ok(Value::Table(all))
    }

    fn sentences(&self, done: &[Done]) -> Result<Value> {
        let mut all = Vec::new();
        for done in done {
            let What::Sentence(message) = done.unit.what else { continue };
            let persons = names(message, &self.plan.english, Some(["{A}", "{B}"]));
            // A sentence without an A has its B first.
            let line = restore(&done.target, &persons)?;
            all.push(table([
                ("says".to_owned(), text(PATTERNS[message.pattern as usize].path())),
                ("slots".to_owned(), Value::Array(message.slots.map(|n| Value::Integer(i64::from(n))).to_vec())),
                ("text".to_owned(), text(line)),
            ]));
        }
        Ok(Value::Array(all))
    }

    /// Letters that the translations are written with.
    fn letters(&self, done: &[Done]) -> String {
        let mut letters: Vec<char> =
            done.iter().flat_map(|done| done.target.chars()).filter(|c| c.is_alphabetic()).collect();
        letters.sort_unstable();
        letters.dedup();
        if letters.len() < 20 { LATIN.to_owned() } else { letters.into_iter().collect() }
    }

    fn file(&self, done: &[Done]) -> Result<Value> {
        let or_code = |name: &String| if name.is_empty() { self.code.to_owned() } else { name.clone() };
        let mut file = Table::new();
        file.insert("code".to_owned(), text(self.code));
        file.insert("name".to_owned(), text(or_code(&self.guest.name)));
        file.insert("english_name".to_owned(), text(or_code(&self.guest.english_name)));
        file.insert("capitalize".to_owned(), Value::Boolean(false));
        file.insert("genders".to_owned(), list(["m".to_owned(), "f".to_owned()]));
        file.insert("cast".to_owned(), self.cast());
        file.insert("forms".to_owned(), Value::Table(Table::new()));
        for kind in Kind::ALL.into_iter().filter(|kind| *kind != Kind::Actor) {
            file.insert(kind.section().to_owned(), self.entities(kind));
        }
        file.insert("answers".to_owned(), self.answers()?);
        file.insert("instructions".to_owned(), self.instructions()?);
        file.insert("prompt".to_owned(), self.prompt()?);
        file.insert("noise".to_owned(), table([("letters".to_owned(), text(self.letters(done)))]));
        file.insert("sentences".to_owned(), self.sentences(done)?);
        Ok(Value::Table(file))
    }
}
