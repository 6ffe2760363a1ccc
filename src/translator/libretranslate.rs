//! LibreTranslate: several texts a request, the key, if there is one, in the body.

use super::http::{Protocol, Request, start};
use super::{Answer, Ask, EngineName, EngineRecord, Settings};
use serde_json::{Value, json};

/// The engine.
pub static ENGINE: EngineRecord = EngineRecord {
    name: EngineName::LibreTranslate,
    word: "libretranslate",
    endpoint: "",
    key_env: "LIBRETRANSLATE_API_KEY",
    key_needed: false,
    batch: (20, 1000),
    http: true,
    chat: false,
    models: false,
    completes: false,
    start: |settings| start(settings, &PROTOCOL),
};

static PROTOCOL: Protocol = Protocol { request, answers };

fn request(_: &Settings, key: Option<&str>, asks: &[Ask]) -> Request {
    let texts: Vec<&str> = asks.iter().map(|ask| ask.text.as_str()).collect();
    let mut body = json!({ "q": texts, "source": asks[0].from, "target": asks[0].to, "format": "text" });
    if let Some(key) = key {
        body["api_key"] = json!(key);
    }
    Request { path: "/translate", header: None, body }
}

fn answers(body: &Value, _: &[Ask]) -> Option<Vec<Answer>> {
    match body.get("translatedText")? {
        Value::String(text) => Some(vec![Answer::new(text)]),
        Value::Array(list) => Some(list.iter().map(|text| Answer::new(text.as_str().unwrap_or_default())).collect()),
        _ => None,
    }
}
