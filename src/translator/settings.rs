//! What a recipe says of a service.

use super::{ENGINES, EngineName};
use crate::error::{Error, Result};
use crate::fail;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What a chat model is told where the recipe has no `prompt`.
pub const DEFAULT_PROMPT: &str = "Translate the following text from {source_language} into {target_language}, as a careful \
native writer would put it. Placeholders such as [[F1]] (the name of a woman) and [[M2]] (the name of a man) stand for \
names: keep each of them unchanged, letter for letter, and let the words around them agree with the person's gender. \
Keep the meaning exactly; add nothing and leave nothing out. Answer with the translation alone, without quotation marks, \
notes or explanations.\n\n{text}";

/// A service and how it is asked. Every key may be left out.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Which engine.
    pub engine: EngineName,
    /// Address without the engine's own path, such as `http://localhost:8000/v1`; empty for the engine's own.
    pub endpoint: String,
    /// The service's name of a model; empty for its usual one.
    pub model: String,
    /// What a chat model is told, with `{source_language}`, `{target_language}` and `{text}`.
    pub prompt: String,
    /// Of translations by a chat model or a command, in thousandths.
    #[schemars(range(min = 0, max = 2000))]
    pub temperature: u32,
    /// Most tokens of an answer of a chat model or a command; 0 leaves it to them.
    pub max_tokens: u32,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The environment variable that holds the key; empty for the engine's usual one.
    pub key_env: String,
    /// Texts a request; 0 for the engine's usual number.
    pub batch: u32,
    /// Requests at once.
    #[schemars(range(min = 1, max = 64))]
    pub parallel: u32,
    /// Requests a minute; 0 for no limit.
    pub per_minute: u32,
    /// Failures in a row of one request that are borne.
    #[schemars(range(min = 0, max = 100))]
    pub retries: u32,
    /// Wait after the first failure, in milliseconds; it doubles with each, up to a minute.
    #[schemars(range(min = 1, max = 60_000))]
    pub back_off: u32,
    /// A request, or a silent program, is given up after so long.
    #[schemars(range(min = 1, max = 86_400))]
    pub timeout_seconds: u32,
    /// Price of a million characters, in millionths of the money's unit. Of chat models: characters sent and received.
    pub price: u64,
    /// Most that one build may spend, in the same millionths; 0 for no limit.
    pub max_cost: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            engine: EngineName::default(),
            endpoint: String::new(),
            model: String::new(),
            prompt: DEFAULT_PROMPT.to_owned(),
            temperature: 0,
            max_tokens: 0,
            command: Vec::new(),
            key_env: String::new(),
            batch: 0,
            parallel: 4,
            per_minute: 0,
            retries: 8,
            back_off: 1000,
            timeout_seconds: 120,
            price: 0,
            max_cost: 0,
        }
    }
}

/// Raised when the same settings come to mean another request.
const VERSION: u32 = 1;

/// What a prompt may hold between braces.
const FIELDS: [&str; 3] = ["source_language", "target_language", "text"];

impl Settings {
    /// Refuses what makes no sense; the error begins with the key.
    pub fn check(&self) -> Result<()> {
        let engine = self.engine.record();
        let word = engine.word;
        let chat: Vec<&str> = ENGINES.iter().filter(|e| e.chat).map(|e| e.word).collect();
        let chat = chat.join(", ");
        if engine.http {
            self.check_endpoint()?;
            if !self.command.is_empty() {
                fail!(key "command"; "command: {word} is a service, no program: leave it out, or say engine = \"command\"");
            }
        } else {
            if self.command.first().is_none_or(|program| program.trim().is_empty()) {
                fail!(on "command"; "command: engine {word} needs a program, such as command = [\"./translate\", \"--fast\"]");
            }
            for (key, set) in [("endpoint", !self.endpoint.is_empty()), ("per_minute", self.per_minute != 0)] {
                if set {
                    fail!(key key; "{key}: means nothing for engine {word}, whose program does its own asking: leave it out");
                }
            }
        }
        if engine.chat {
            if self.model.trim().is_empty() {
                fail!(on "model"; "model: engine {word} needs the name of a model");
            }
            self.check_prompt()?;
        } else if self.prompt != DEFAULT_PROMPT {
            fail!(key "prompt"; "prompt: engine {word} takes none, only {chat}");
        }
        if !engine.models && !self.model.is_empty() {
            fail!(key "model"; "model: engine {word} has none to choose from: leave it out");
        }
        if !engine.completes && (self.temperature, self.max_tokens) != (0, 0) {
            let key = if self.temperature != 0 { "temperature" } else { "max_tokens" };
            fail!(key key; "{key}: means nothing for engine {word}: leave it out");
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if !self.key_env.chars().all(plain) || self.key_env.starts_with(|c: char| c.is_ascii_digit()) {
            // What stands there may be the key itself.
            fail!(on "key_env"; "key_env: expected the name of an environment variable, which holds the key, never the key");
        }
        let most = engine.batch.1;
        for (key, value, range) in [
            ("temperature", self.temperature, 0..=2000),
            ("batch", self.batch, 0..=most),
            ("parallel", self.parallel, 1..=64),
            ("retries", self.retries, 0..=100),
            ("back_off", self.back_off, 1..=60_000),
            ("timeout_seconds", self.timeout_seconds, 1..=86_400),
        ] {
            if !range.contains(&value) {
                fail!(on key; "{key}: {value} is not in {} to {} of engine {word}", range.start(), range.end());
            }
        }
        if self.max_cost > 0 && self.price == 0 {
            fail!(on "max_cost"; "max_cost: nothing can be reckoned without a price: give the price of a million characters");
        }
        Ok(())
    }

    fn check_endpoint(&self) -> Result<()> {
        let address = self.address();
        let word = self.engine.record().word;
        if address.is_empty() {
            fail!(on "endpoint"; "endpoint: engine {word} needs the address of a service, such as \"http://localhost:8000/v1\"");
        }
        let rest = address.strip_prefix("https://").or_else(|| address.strip_prefix("http://"));
        let odd = |c: char| c.is_whitespace() || c.is_control() || "@?#".contains(c);
        if rest.is_none_or(|rest| rest.is_empty() || rest.starts_with('/') || rest.contains(odd)) {
            // It is not shown: a key may be in it.
            fail!(on "endpoint"; "endpoint: expected http:// or https:// with a host and a path, without user, query or fragment");
        }
        Ok(())
    }

    fn check_prompt(&self) -> Result<()> {
        for piece in pieces(&self.prompt) {
            if let Piece::Field(name) = piece
                && !FIELDS.contains(&name)
            {
                fail!(on "prompt"; "prompt: unknown field {{{name}}}, known are {{{}}}", FIELDS.join("}, {"));
            }
        }
        for field in ["text", "target_language"] {
            if !pieces(&self.prompt).contains(&Piece::Field(field)) {
                fail!(on "prompt"; "prompt: it lacks {{{field}}}");
            }
        }
        Ok(())
    }

    /// The address, without a slash at its end.
    pub fn address(&self) -> &str {
        let own = if self.endpoint.is_empty() { self.engine.record().endpoint } else { &self.endpoint };
        own.trim_end_matches('/')
    }

    /// Name of the key's environment variable; empty for none.
    pub fn key_variable(&self) -> &str {
        if self.key_env.is_empty() { self.engine.record().key_env } else { &self.key_env }
    }

    /// Texts a request.
    pub fn texts_a_request(&self) -> usize {
        let (usual, most) = self.engine.record().batch;
        if self.batch == 0 { usual as usize } else { self.batch.min(most) as usize }
    }

    /// Everything that shapes an answer, and nothing else: no key, no price, no pace.
    pub fn parameters(&self) -> Value {
        let engine = self.engine.record();
        let host = self.address().split_once("://").map_or("", |(_, rest)| rest);
        let mut parameters = json!({ "version": VERSION, "engine": engine.word });
        let mut put = |key: &str, value: Value| parameters[key] = value;
        if engine.http {
            put("endpoint", json!(host));
        } else {
            put("command", json!(self.command));
        }
        if engine.models {
            put("model", json!(self.model));
        }
        if engine.chat {
            put("prompt", json!(self.prompt));
        }
        if engine.completes {
            put("temperature", json!(self.temperature));
            put("max_tokens", json!(self.max_tokens));
        }
        parameters
    }

    /// The prompt for one text. What braces in the text hold is left as it is.
    pub fn render(&self, from: &str, to: &str, text: &str) -> String {
        let mut prompt = String::new();
        for piece in pieces(&self.prompt) {
            match piece {
                Piece::Text(text) => prompt += text,
                Piece::Field("source_language") => prompt += from,
                Piece::Field("target_language") => prompt += to,
                Piece::Field(_) => prompt += text,
            }
        }
        prompt
    }

    /// Cost of characters, rounded up, in millionths of the money's unit.
    pub fn cost(&self, characters: u64) -> u64 {
        let cost = (u128::from(characters) * u128::from(self.price)).div_ceil(1_000_000);
        u64::try_from(cost).unwrap_or(u64::MAX)
    }

    /// An error of this service, with its name.
    pub(super) fn error(&self, what: impl std::fmt::Display) -> Error {
        Error::new(format!("{}: {what}", self.engine.record().word))
    }
}

#[derive(PartialEq)]
enum Piece<'a> {
    Text(&'a str),
    Field(&'a str),
}

/// Cuts a prompt at its fields: lower-case words between braces. Other braces are text.
fn pieces(prompt: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let (mut from, mut at) = (0, 0);
    while let Some(open) = prompt[at..].find('{').map(|n| at + n) {
        at = open + 1;
        let Some(close) = prompt[at..].find('}').map(|n| at + n) else { break };
        let name = &prompt[at..close];
        if !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_') {
            pieces.push(Piece::Text(&prompt[from..open]));
            pieces.push(Piece::Field(name));
            at = close + 1;
            from = at;
        }
    }
    pieces.push(Piece::Text(&prompt[from..]));
    pieces
}
