//! Schemas of values that are read by code of their own.

use crate::hash::Digest;
use crate::language::Language;
use crate::recipe::{Haystack, Length, MODELS, ModelName, Name, Pairs, Percent, QuestionLanguage, Version};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};
use std::borrow::Cow;

/// A language that `[translation]` brings, by its code.
const GUEST: &str = "[a-z]{2,3}(-[A-Za-z0-9]{1,8})?";

macro_rules! described {
    ($($name:ident => $make:expr;)*) => {$(
        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                let make: fn(&mut SchemaGenerator) -> Schema = $make;
                make(generator)
            }
        }
    )*};
}

/// The codes of the packs, first further words that may stand there.
fn codes(words: &[&'static str]) -> Vec<Value> {
    words.iter().copied().chain(Language::all().map(Language::code)).map(Value::from).collect()
}

described! {
    Language => |_| json_schema!({
        "description": "A language by its code: one with a pack, or one that [translation.languages] brings.",
        "anyOf": [{ "type": "string", "enum": codes(&[]) }, { "type": "string", "pattern": format!("^{GUEST}$") }],
    });
    Haystack => |_| json_schema!({
        "description": "A language by its code, or all of them in turn (MLNeedle alone).",
        "anyOf": [{ "type": "string", "enum": codes(&["multilingual"]) }, { "type": "string", "pattern": format!("^{GUEST}$") }],
    });
    QuestionLanguage => |_| json_schema!({
        "description": "The needle's or the story's, the haystack's, or always this one.",
        "anyOf": [
            { "type": "string", "enum": codes(&["story", "needle", "haystack"]) },
            { "type": "string", "pattern": format!("^{GUEST}$") },
        ],
    });
    Pairs => |_| json_schema!({
        "description": "Which languages of needles, or stories, meet which languages of haystacks.",
        "anyOf": [
            { "oneOf": [
                { "const": "all", "description": "Each with each." },
                { "const": "monolingual", "description": "Needle and haystack in one language." },
                { "const": "needle-varies", "description": "Any needle in English haystacks." },
                { "const": "haystack-varies", "description": "English needles in any haystack." },
            ] },
            {
                "type": "array", "minItems": 1, "uniqueItems": true,
                "description": "These, as needle-haystack.",
                "items": { "type": "string", "pattern": format!("^[a-z]{{2,3}}-(multilingual|{GUEST})$") },
            },
        ],
    });
    Length => |_| json_schema!({
        "description": "A context length in units of budget.unit tokens, such as 8k; 0k is the bare story, or the needle alone.",
        "type": "string", "pattern": "^(0|[1-9][0-9]{0,3}|10000)k$",
        "examples": ["0k", "2k", "4k", "8k", "16k", "32k", "64k", "128k"],
    });
    Percent => |_| json_schema!({
        "description": "A percentage with at most three decimals.",
        "type": "number", "minimum": 0, "maximum": 100,
    });
    Name => |_| json_schema!({
        "description": "Lower-case letters, digits, - and _, beginning with a letter, at most 64; not \"store\".",
        "type": "string", "pattern": "^[a-z][a-z0-9_-]{0,63}$", "not": { "const": "store" },
    });
    Version => |_| json_schema!({
        "description": "Three numbers, such as 1.0.0.",
        "type": "string", "pattern": "^[0-9]{1,9}\\.[0-9]{1,9}\\.[0-9]{1,9}$",
    });
    Digest => |_| json_schema!({
        "description": "A SHA-256 digest: 64 hexadecimal digits.",
        "type": "string", "pattern": "^[0-9A-Fa-f]{64}$",
    });
    ModelName => |_| {
        let known = MODELS.iter().map(|model| {
            let said = format!("{}: a window of {} tokens, {}.", model.title, model.window, model.layout.name());
            json!({ "const": model.name, "description": said })
        });
        json_schema!({ "description": "A model whose window is known.", "oneOf": known.collect::<Vec<_>>() })
    };
}
