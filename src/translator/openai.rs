//! Any service with OpenAI's chat completions: one text a request, several requests at once.

use super::http::{Protocol, Request, start};
use super::{Answer, Ask, EngineName, EngineRecord, Kind, Settings, languages};
use serde_json::{Value, json};

/// The engine.
pub static ENGINE: EngineRecord = EngineRecord {
    name: EngineName::OpenAi,
    word: "openai",
    endpoint: "",
    key_env: "OPENAI_API_KEY",
    key_needed: false,
    batch: (1, 1),
    http: true,
    chat: true,
    models: true,
    completes: true,
    start: |settings| start(settings, &PROTOCOL),
};

static PROTOCOL: Protocol = Protocol { request, answers };

/// A further attempt at a translation is warmer by so many thousandths, up to [`WARMEST`]: at the same temperature it may well
/// be the same text.
const WARMER: u32 = 200;
const WARMEST: u32 = 1000;

/// What the model is told.
pub fn prompt(settings: &Settings, ask: &Ask) -> String {
    match ask.kind {
        Kind::Translate => settings.render(&languages::name(&ask.from), &languages::name(&ask.to), &ask.text),
        Kind::Complete => ask.text.clone(),
    }
}

fn temperature(settings: &Settings, ask: &Ask) -> u32 {
    let warmer = settings.temperature.saturating_add(ask.attempt.saturating_mul(WARMER));
    ask.temperature.unwrap_or_else(|| warmer.min(WARMEST.max(settings.temperature)))
}

fn request(settings: &Settings, key: Option<&str>, asks: &[Ask]) -> Request {
    let ask = &asks[0];
    let mut body = json!({
        "model": settings.model,
        "messages": [{ "role": "user", "content": prompt(settings, ask) }],
        "temperature": f64::from(temperature(settings, ask)) / 1000.0,
    });
    if settings.max_tokens > 0 {
        body["max_tokens"] = json!(settings.max_tokens);
    }
    let header = key.map(|key| ("authorization", format!("Bearer {key}")));
    Request { path: "/chat/completions", header, body }
}

fn answers(body: &Value, asks: &[Ask]) -> Option<Vec<Answer>> {
    let choice = body.get("choices")?.as_array()?.first()?;
    let text = choice.pointer("/message/content").and_then(Value::as_str).unwrap_or_default();
    // Half a translation is none; free text may end where its tokens do.
    let halved = choice.get("finish_reason").and_then(Value::as_str) == Some("length");
    if halved && asks.first().is_some_and(|ask| ask.kind == Kind::Translate) {
        return Some(vec![Answer::Empty]);
    }
    Some(vec![Answer::new(thoughtless(text))])
}

/// What follows the thoughts that some models put first; nothing if they have no end.
fn thoughtless(text: &str) -> &str {
    match text.trim_start().strip_prefix("<think>") {
        Some(thoughts) => thoughts.split_once("</think>").map_or("", |(_, text)| text),
        None => text,
    }
}
