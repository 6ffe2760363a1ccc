//! Cloud Translation, version 2: many texts a request, plain text both ways, the key in a header.

use super::http::{Protocol, Request, start};
use super::{Answer, Ask, EngineName, EngineRecord, Settings};
use serde_json::{Value, json};

/// The engine.
pub static ENGINE: EngineRecord = EngineRecord {
    name: EngineName::Google,
    word: "google",
    endpoint: "https://translation.googleapis.com",
    key_env: "GOOGLE_API_KEY",
    key_needed: true,
    batch: (100, 128),
    http: true,
    chat: false,
    models: true,
    completes: false,
    start: |settings| start(settings, &PROTOCOL),
};

static PROTOCOL: Protocol = Protocol { request, answers };

fn request(settings: &Settings, key: Option<&str>, asks: &[Ask]) -> Request {
    let texts: Vec<&str> = asks.iter().map(|ask| ask.text.as_str()).collect();
    let mut body = json!({ "q": texts, "source": asks[0].from, "target": asks[0].to, "format": "text" });
    if !settings.model.is_empty() {
        body["model"] = json!(settings.model);
    }
    let header = key.map(|key| ("x-goog-api-key", key.to_owned()));
    Request { path: "/language/translate/v2", header, body }
}

fn answers(body: &Value, asks: &[Ask]) -> Option<Vec<Answer>> {
    let list = body.pointer("/data/translations")?.as_array()?;
    let text = |(n, one): (usize, &Value)| {
        let text = one.get("translatedText").and_then(Value::as_str).unwrap_or_default();
        Answer::new(&unescape(text, asks.get(n).map_or("", |ask| &ask.text)))
    };
    Some(list.iter().enumerate().map(text).collect())
}

/// Entities of HTML as characters, once; those that stand in the source are its own.
fn unescape(text: &str, source: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        plain += &rest[..at];
        rest = &rest[at..];
        let entity = rest.find(';').filter(|end| *end <= 10).map(|end| &rest[..=end]);
        match entity.and_then(|entity| Some((entity, character(&entity[1..entity.len() - 1])?))) {
            Some((entity, c)) if !source.contains(entity) => {
                plain.push(c);
                rest = &rest[entity.len()..];
            }
            _ => {
                plain.push('&');
                rest = &rest[1..];
            }
        }
    }
    plain + rest
}

fn character(name: &str) -> Option<char> {
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        "nbsp" => Some(' '),
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code).filter(|c| !c.is_control())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entities_become_characters_once() {
        assert_eq!(unescape("it&#39;s &quot;a&quot; &amp;lt; b &#x41;", ""), "it's \"a\" &lt; b A");
        assert_eq!(unescape("a & b; &nothing; &", ""), "a & b; &nothing; &");
        assert_eq!(unescape("write &amp; here", "type &amp; here"), "write &amp; here");
    }
}
