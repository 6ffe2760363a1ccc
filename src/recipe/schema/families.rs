//! What depends on the family: keys that do nothing elsewhere, defaults that are others.

use super::{each, resolve};
use crate::language::Language;
use crate::recipe::Family;
use crate::recipe::read::KEYS;
use serde_json::{Value, json};

/// Adds what the types alone do not say.
pub(super) fn add(schema: &mut Value) {
    for (section, key, only) in KEYS {
        describe(schema, section, key, &format!("Only of {}.", names(only)));
    }
    for (section, key, said) in DEFAULTS {
        describe(schema, section, key, said);
    }
    let squad = json!({ "required": ["source"], "properties": { "source": {
        "required": ["kind"], "properties": { "kind": { "const": "squad" } } } } });
    let text = json!({ "required": ["source"], "properties": { "source": {
        "required": ["kind"], "properties": { "kind": { "const": "text" } } } } });
    let natural = json!({ "required": ["distractors"], "properties": { "distractors": {
        "required": ["kind"], "properties": { "kind": { "anyOf": [
            { "const": "natural" }, { "type": "array", "contains": { "const": "natural" } } ] } } } } });
    let onnx = json!({ "required": ["retrieval"], "properties": { "retrieval": {
        "required": ["embedder"], "properties": { "embedder": { "const": "onnx" } } } } });
    let reasoning = json!({ "not": { "anyOf": [squad, text] } });
    schema["allOf"] = json!([
        { "if": reasoning, "then": without(Family::Reasoning) },
        { "if": squad, "then": without(Family::Passage) },
        { "if": text, "then": without(Family::Factoid) },
        { "if": { "allOf": [reasoning, { "not": natural }] }, "then": { "properties": { "haystack": false } } },
        { "if": { "not": onnx }, "then": { "properties": { "embedding": false } } },
        { "if": { "not": { "required": ["translation"] } }, "then": embedded_languages() },
        { "if": { "not": { "anyOf": [squad, text] } }, "then": { "properties": { "grid": { "properties": {
            "haystack": { "items": { "not": { "const": "multilingual" } } } } } } } },
    ]);
    if let Some(source) = schema.pointer_mut("/$defs/Source") {
        source["allOf"] = json!([{
            "if": { "required": ["kind"], "properties": { "kind": { "const": "squad" } } },
            "then": { "required": ["dataset", "files"] },
        }]);
    }
    // Names of tables stand beside a reference to them, so that editors show what the key says.
    each(schema, &mut |part| {
        if part["additionalProperties"] == json!(true) {
            part.as_object_mut().map(|part| part.remove("additionalProperties"));
        }
    });
}

/// The sections and keys that a recipe of a family must not have.
fn without(family: Family) -> Value {
    let mut properties = json!({});
    for (section, key, _) in KEYS.iter().filter(|(.., only)| !only.contains(&family)) {
        match *key {
            "" => properties[section] = json!(false),
            key if properties[section] != json!(false) => properties[section]["properties"][key] = json!(false),
            _ => {}
        }
    }
    json!({ "properties": properties })
}

/// Without `[translation]` only the packs' languages are known.
fn embedded_languages() -> Value {
    let codes = |more: &[&'static str]| -> Vec<&'static str> {
        more.iter().copied().chain(Language::all().map(Language::code)).collect()
    };
    let list = |more: &[&'static str]| json!({ "items": { "enum": codes(more) } });
    json!({ "properties": {
        "grid": { "properties": {
            "languages": list(&[]), "story": list(&[]), "needle": list(&[]), "haystack": list(&["multilingual"]),
            "question": { "enum": codes(&["story", "needle", "haystack"]) },
        } },
        "haystack": { "properties": { "archives": { "propertyNames": { "enum": codes(&[]) } } } },
        "needles": { "items": { "properties": { "language": { "enum": codes(&[]) } } } },
    } })
}

/// Adds a sentence to what a key says.
fn describe(schema: &mut Value, section: &str, key: &str, said: &str) {
    let root = schema.clone();
    let place = match (key, root["properties"].get(section)) {
        ("", Some(_)) => format!("/properties/{section}"),
        (key, Some(at)) => {
            let reference = at.get("$ref").and_then(Value::as_str).map(|r| r.trim_start_matches('#').to_owned());
            debug_assert!(resolve(&root, at).is_some());
            format!("{}/properties/{key}", reference.unwrap_or_else(|| format!("/properties/{section}")))
        }
        _ => return,
    };
    let Some(part) = schema.pointer_mut(&place) else { return };
    let before = part.get("description").and_then(Value::as_str).unwrap_or_default();
    part["description"] = json!(format!("{before} {said}").trim());
}

fn names(families: &[Family]) -> String {
    let name = |family: &Family| match family {
        Family::Reasoning => "MLRBench",
        Family::Passage => "MLNeedle",
        Family::Factoid => "the recall test",
    };
    let all: Vec<&str> = families.iter().map(name).collect();
    all.join(" and ")
}

/// Defaults that another section decides.
const DEFAULTS: &[(&str, &str, &str)] = &[
    ("grid", "languages", "Default: the papers' seven; of the recall test en."),
    ("grid", "lengths", "Default of MLNeedle: 0k, 4k, 8k, 16k, 32k."),
    ("grid", "pairs", "Default: all."),
    ("grid", "question", "Default: the story's; of MLNeedle en, where it is among the languages."),
    ("grid", "positions", "Default: start, middle, end."),
    ("grid", "samples", "Default: 100."),
    ("grid", "choice", "Default: shared."),
    ("grid", "prompts", "Default: exact."),
    ("haystack", "kind", "Default of the recall test: text where files are named, else essays."),
    ("haystack", "lines", "Default: wrapped."),
    ("haystack", "repeat", "Default: false."),
    ("release", "licence", "Default of recipes that read texts from outside: LicenseRef-unstated."),
    ("prompt", "examples", "Default: 2."),
    ("prompt", "first_label", "Default: 1."),
    ("prompt", "middle", "Default: tokens."),
    ("prompt", "last", "Default: whole."),
    ("prompt", "layout", "Default: the model's of slots.model, else plain-table-6."),
    ("slots", "window", "Default: the model's, else 32768."),
    ("slots", "length_of", "Default: haystack where slots.model is given, else prompt."),
    ("slots", "n_lengths", "Default: the model's, else 35."),
    ("slots", "first", "Default: one step of the window."),
    ("slots", "n_depths", "Default: the model's, else 35."),
    ("slots", "spacing", "Default: sigmoid-v1."),
];
