//! A program that reads what is asked as JSON Lines and writes answers as JSON Lines, in any order.
//!
//! It gets `{"id":1,"source":"en","target":"fr","text":"..","attempt":0,"temperature":0,"max_tokens":0}` or
//! `{"id":2,"prompt":"..","attempt":0,"temperature":500,"max_tokens":0}` a line on its standard input, and answers
//! `{"id":1,"text":".."}` a line.

use super::program::{Program, Talk, unlike};
use super::{Answer, Ask, Engine, EngineName, EngineRecord, Kind, Settings, Taker, read_key};
use crate::error::Result;
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;

/// The engine.
pub static ENGINE: EngineRecord = EngineRecord {
    name: EngineName::Command,
    word: "command",
    endpoint: "",
    key_env: "",
    key_needed: false,
    batch: (1, 1),
    http: false,
    chat: false,
    models: true,
    completes: true,
    start: |settings| Ok(Box::new(Command { settings: settings.clone(), running: None })),
};

/// The program, started at the first ask.
struct Command {
    settings: Settings,
    running: Option<Program>,
}

/// What the program writes.
#[derive(Deserialize)]
struct Said {
    id: u64,
    text: Option<String>,
}

struct Texts<'a> {
    settings: &'a Settings,
    asks: &'a [Ask],
}

impl Talk for Texts<'_> {
    type Said = Option<String>;
    type Answer = Answer;

    fn count(&self) -> usize {
        self.asks.len()
    }

    fn noun(&self) -> &'static str {
        "texts"
    }

    fn line(&self, n: usize, id: u64) -> Value {
        let ask = &self.asks[n];
        let temperature = ask.temperature.unwrap_or(self.settings.temperature);
        let mut line = json!({
            "id": id, "attempt": ask.attempt, "temperature": temperature, "max_tokens": self.settings.max_tokens,
        });
        match ask.kind {
            Kind::Complete => line["prompt"] = json!(ask.text),
            Kind::Translate => {
                line["source"] = json!(ask.from);
                line["target"] = json!(ask.to);
                line["text"] = json!(ask.text);
            }
        }
        line
    }

    fn read(&self, line: &[u8]) -> std::result::Result<(u64, Option<String>), String> {
        let said: Said = serde_json::from_slice(line).map_err(|_| unlike("{\"id\":..,\"text\":\"..\"}", line))?;
        Ok((said.id, said.text))
    }

    fn understand(&self, _n: usize, said: Option<String>) -> std::result::Result<Answer, String> {
        Ok(Answer::new(said.as_deref().unwrap_or_default()))
    }
}

impl Engine for Command {
    fn ask(&mut self, asks: &[Ask], take: &mut Taker<'_>) -> Result<()> {
        let settings = &self.settings;
        let mut running = match self.running.take() {
            Some(running) => running,
            None => Program::start(ENGINE.word, &settings.command, read_key(settings.key_variable()))?,
        };
        let limit = Duration::from_secs(settings.timeout_seconds.into());
        // After a fault the program is not asked again.
        running.talk(&Texts { settings, asks }, limit, &mut |answers| take(&answers))?;
        self.running = Some(running);
        Ok(())
    }
}
