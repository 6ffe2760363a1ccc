//! Services that are asked for text, and the memory that keeps every answer.
//!
//! Machine translation and free text by a model do not come out the same twice. So each answer is written to a
//! journal in the store at once, and a build publishes those it used as a pin. Whoever has the journal or the pin builds
//! the same again, without a network.
//!
//! - [`Settings`]: what a recipe says of a service. What shapes an answer are its [`Settings::parameters`].
//! - [`Translator`]: asks what is not known yet, and nothing twice.
//! - [`memory`]: the journal. [`pin`](mod@pin): the published file.
//! - [`placeholder`]: names swapped for tokens. [`quality`]: what is wrong with a translation. [`review`]: what a reader says of it.
//!
//! `program` and `journal` are what the [reranker](crate::reranker) needs too: a program that is asked in JSON Lines, and lines
//! that outlive a kill.
//!
//! An engine is an [`EngineRecord`] in [`ENGINES`]. Those over HTTP share one client ([`http`]), which spaces, repeats and
//! spreads requests; an engine itself is two functions without effects. Keys come from the environment; they are sent,
//! and never written, logged or put in an error.

pub mod command;
pub mod google;
pub mod http;
pub(crate) mod journal;
pub mod languages;
pub mod libretranslate;
pub mod memory;
pub mod openai;
pub mod pin;
pub mod placeholder;
pub(crate) mod program;
pub mod quality;
pub mod review;
mod settings;
mod translate;

pub use settings::Settings;
pub use translate::{Estimate, Translator};

use crate::error::Result;
use crate::hash::Digest;
use serde::{Deserialize, Serialize};

/// What is asked for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The same text in another language.
    Translate,
    /// Free text after a prompt.
    Complete,
}

impl Kind {
    /// As journals and pins spell it.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Translate => "translate",
            Kind::Complete => "complete",
        }
    }

    /// Reads [`Kind::word`].
    pub fn parse(word: &str) -> Option<Kind> {
        [Kind::Translate, Kind::Complete].into_iter().find(|kind| kind.word() == word)
    }
}

/// One thing asked of a service. Its order is that of a pin's rows.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Ask {
    /// What is asked for.
    pub kind: Kind,
    /// Language of the text; empty for free text.
    pub from: String,
    /// Language of the answer; empty for free text.
    pub to: String,
    /// Thousandths; only of free text. That of translations is a parameter.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub temperature: Option<u32>,
    /// 0 the first time. Raised to have the same text asked anew.
    pub attempt: u32,
    /// The text or the prompt.
    pub text: String,
}

impl Ask {
    /// The same for no two different asks.
    pub fn key(&self) -> Digest {
        let temperature = self.temperature.map_or(String::new(), |t| t.to_string());
        let attempt = self.attempt.to_string();
        let parts = ["nihbuild ask v1", self.kind.word(), &self.from, &self.to, &temperature, &attempt, &self.text];
        Digest::of_parts(parts.map(str::as_bytes))
    }
}

/// What a service made of one ask.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// A text.
    Text(String),
    /// No text, or one that cannot be told to belong to the ask. It is kept like any other; a further attempt asks anew.
    Empty,
}

impl Answer {
    /// A text without white space around it; nothing left is [`Answer::Empty`].
    pub fn new(text: &str) -> Answer {
        match text.trim() {
            "" => Answer::Empty,
            text => Answer::Text(text.to_owned()),
        }
    }

    /// The text; empty if there is none.
    pub fn text(&self) -> &str {
        match self {
            Answer::Text(text) => text,
            Answer::Empty => "",
        }
    }
}

/// Takes answers as they come: the number of the ask, and the answer. An error ends the asking.
pub type Taker<'a> = dyn FnMut(&[(usize, Answer)]) -> Result<()> + 'a;

/// A service, ready to be asked.
pub trait Engine: Send {
    /// Hands each ask's answer to `take`, in any order, once each, as soon as it is there. All asks are of one kind,
    /// pair of languages and attempt. After an error, what was taken before holds.
    fn ask(&mut self, asks: &[Ask], take: &mut Taker<'_>) -> Result<()>;
}

/// `engine`
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EngineName {
    /// Cloud Translation, version 2, over REST.
    #[default]
    Google,
    /// Any service with OpenAI's chat completions.
    OpenAi,
    /// Any LibreTranslate service.
    LibreTranslate,
    /// A program that reads and writes JSON Lines.
    Command,
}

impl EngineName {
    /// Its record.
    pub fn record(self) -> &'static EngineRecord {
        ENGINES.iter().find(|engine| engine.name == self).expect("the table has every engine")
    }
}

/// What is known of an engine.
pub struct EngineRecord {
    /// Its name in a recipe.
    pub name: EngineName,
    /// The same as a word.
    pub word: &'static str,
    /// Address where none is given; empty where one must be.
    pub endpoint: &'static str,
    /// Environment variable of the key where none is named; empty for none.
    pub key_env: &'static str,
    /// Does nothing go without a key?
    pub key_needed: bool,
    /// Texts a request: where nothing is said, and the most.
    pub batch: (u32, u32),
    /// Is it reached over HTTP?
    pub http: bool,
    /// Is it a chat model, with `model` needed and a `prompt`?
    pub chat: bool,
    /// Can a model be named?
    pub models: bool,
    /// Does it write free text?
    pub completes: bool,
    /// Makes it ready; opens no connection and starts no program yet.
    pub start: fn(&Settings) -> Result<Box<dyn Engine>>,
}

/// All engines.
pub static ENGINES: [&EngineRecord; 4] = [&google::ENGINE, &openai::ENGINE, &libretranslate::ENGINE, &command::ENGINE];

/// The first characters of a text of others, in one line, fit for a message.
pub(crate) fn cut(text: &str, most: usize) -> String {
    let mut line = String::new();
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        line += word;
    }
    match line.char_indices().nth(most) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}

/// Takes a key out of a text of others, whole or its beginning.
fn redact(text: &str, key: Option<&str>) -> String {
    let Some(key) = key.filter(|key| !key.is_empty()) else { return text.to_owned() };
    let whole = text.replace(key, "***");
    // A server may cut the key; a few letters alone say nothing.
    let begin = match key.char_indices().nth(8) {
        Some((end, _)) if key.len() >= 16 => &key[..end],
        _ => return whole,
    };
    let mut clean = String::new();
    let mut rest = whole.as_str();
    while let Some(at) = rest.find(begin) {
        clean += &rest[..at];
        clean += "***";
        let after = &rest[at + begin.len()..];
        rest = after.trim_start_matches(|c: char| c.is_alphanumeric() || "-_.+/=".contains(c));
    }
    clean + rest
}

/// The key of a service, if its variable is set.
fn read_key(variable: &str) -> Option<String> {
    if variable.is_empty() {
        return None;
    }
    #[allow(clippy::disallowed_methods, reason = "a key reaches no output")]
    let key = std::env::var(variable).ok()?;
    Some(key.trim().to_owned()).filter(|key| !key.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_taken_out() {
        let key = "0123456789abcdefXYZ";
        let text = format!("key={key}; also 0123456789abc... and 01234567.");
        assert_eq!(redact(&text, Some(key)), "key=***; also *** and ***");
        assert_eq!(redact("nothing here", Some(key)), "nothing here");
        assert_eq!(redact("as it is", None), "as it is");
        assert_eq!(cut("a\n b\u{0}c  ddd", 6), "a b c ...");
    }
}
