//! What depends on the family: keys that do nothing elsewhere, defaults that are others.

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
    for (section, key, value) in FILLED_IN {
        if let Some(part) = place(schema, section, key).and_then(|place| schema.pointer_mut(&place)) {
            part["default"] = serde_json::from_str(value).expect("the table holds JSON");
        }
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

/// Where a section, or a key of one, stands in the schema.
fn place(schema: &Value, section: &str, key: &str) -> Option<String> {
    let at = schema["properties"].get(section)?;
    if key.is_empty() {
        return Some(format!("/properties/{section}"));
    }
    let to = at["$ref"].as_str().map_or(format!("/properties/{section}"), |to| to.trim_start_matches('#').to_owned());
    Some(format!("{to}/properties/{key}"))
}

/// Adds a sentence to what a key says.
fn describe(schema: &mut Value, section: &str, key: &str, said: &str) {
    let place = place(schema, section, key);
    let Some(part) = place.and_then(|place| schema.pointer_mut(&place)) else { return };
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
    ("grid", "question", "Default: the story's; of MLNeedle en, where it is among the languages."),
    ("haystack", "kind", "Default of the recall test: text where files are named, else essays."),
    ("release", "licence", "Default of recipes that read texts from outside: LicenseRef-unstated."),
    ("prompt", "layout", "Default: the model's of slots.model, else plain-table-6."),
    ("slots", "window", "Default: the model's, else 32768."),
    ("slots", "length_of", "Default: haystack where slots.model is given, else prompt."),
    ("slots", "n_lengths", "Default: the model's, else 35."),
    ("slots", "first", "Default: one step of the window."),
    ("slots", "n_depths", "Default: the model's, else 35."),
];

/// Defaults that are filled in when a plan is made, as JSON.
const FILLED_IN: &[(&str, &str, &str)] = &[
    ("grid", "pairs", r#""all""#),
    ("grid", "positions", r#"["start", "middle", "end"]"#),
    ("grid", "samples", "100"),
    ("grid", "choice", r#""shared""#),
    ("grid", "prompts", r#"["exact"]"#),
    ("haystack", "lines", r#""wrapped""#),
    ("haystack", "repeat", "false"),
    ("prompt", "examples", "2"),
    ("prompt", "first_label", "1"),
    ("prompt", "middle", r#""tokens""#),
    ("prompt", "last", r#""whole""#),
    ("slots", "spacing", r#""sigmoid-v1""#),
    ("budget", "counts", r#""prompt""#),
    ("budget", "fit", r#""primary""#),
    ("budget", "by", r#""tokens""#),
    ("tokens", "special", r#""ignored""#),
];
