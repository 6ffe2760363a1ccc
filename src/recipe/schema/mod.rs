//! The JSON Schema of recipes, for editors: made of the types that read them, with their documentation.
//!
//! A recipe names it in its first line, `#:schema ./recipe.schema.json`. It refuses what the program refuses wherever JSON Schema
//! can say so, and accepts every recipe that the program accepts.

mod families;
mod values;

use super::{Recipe, Strategy, Task};
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

/// The file's name, beside recipes.
pub const FILE: &str = "recipe.schema.json";

/// The first line of a recipe whose schema lies beside it, as editors read it.
pub const LINE: &str = "#:schema ./recipe.schema.json";

/// The schema (JSON Schema, draft 2020-12).
pub fn schema() -> Value {
    let settings = SchemaSettings::draft2020_12().with_transform(RecursiveTransform(plain));
    let mut schema = settings.into_generator().into_root_schema_for::<Recipe>().to_value();
    schema["title"] = json!("A recipe of nihbuild");
    families::add(&mut schema);
    schema
}

/// The schema as a file: indented, with a line break at its end.
pub fn text() -> String {
    serde_json::to_string_pretty(&schema()).expect("a schema is plain data") + "\n"
}

/// The sections that have a key of this name, and `the top` where it is a section.
pub(super) fn homes(key: &str) -> Vec<String> {
    let schema = schema();
    let sections = schema["properties"].as_object().into_iter().flatten();
    let mut homes = Vec::new();
    for (name, section) in sections {
        if name == key {
            homes.push("the top".to_owned());
        }
        if resolve(&schema, section).is_some_and(|section| section["properties"].get(key).is_some()) {
            homes.push(format!("[{name}]"));
        }
    }
    homes
}

/// What a schema says, or what it refers to.
fn resolve<'s>(root: &'s Value, schema: &'s Value) -> Option<&'s Value> {
    let to = ["/$ref", "/items/$ref"].into_iter().find_map(|place| schema.pointer(place));
    match to.and_then(Value::as_str) {
        Some(reference) => root.pointer(reference.strip_prefix('#')?),
        None => Some(schema),
    }
}

/// TOML has no null, and an editor shows no links: a key that may be left out is what it is when it is there.
fn plain(schema: &mut Schema) {
    let Some(object) = schema.as_object_mut() else { return };
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|of| of != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            object.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(any)) = object.get_mut("anyOf") {
        any.retain(|of| of["type"] != "null");
        if let [Value::Object(only)] = any.as_slice() {
            let only = only.clone();
            object.remove("anyOf");
            object.extend(only.into_iter().filter(|(key, _)| key != "description"));
        }
    }
    object.retain(|key, value| !(key == "default" && value.is_null()));
    if let Some(Value::String(text)) = object.get_mut("description") {
        *text = text.replace("[`", "`").replace("`]", "`").replace('\n', " ");
    }
    // How wide the program's own numbers are is of no use to an editor; their ranges stand beside.
    let format = object.get("format").and_then(Value::as_str).unwrap_or_default().to_owned();
    if format.starts_with("uint") {
        object.remove("format");
    }
    if format == "uint32" {
        object.entry("maximum").or_insert(json!(u32::MAX));
    }
}

/// A table with a key for each of these names, and no other.
fn table(entries: impl IntoIterator<Item = (String, Value)>) -> Schema {
    let properties: Map<String, Value> = entries.into_iter().collect();
    json_schema!({ "type": "object", "properties": properties, "additionalProperties": false })
}

/// `stories.tasks`
pub(super) fn tasks(_: &mut SchemaGenerator) -> Schema {
    // The most that fits the ids, of each source task.
    let most = |sources: usize| 99_999 * sources;
    let tasks = Task::ALL.into_iter().map(|task| {
        let names: Vec<String> = task.sources().iter().map(|n| format!("qa{n}")).collect();
        let said = format!("Instances of {} ({}).", names.join(" and "), task.category());
        let number = json!({ "type": "integer", "minimum": 0, "maximum": most(names.len()), "description": said });
        (task.name().to_owned(), number)
    });
    let sources = (1..=20).map(|n| {
        let said = format!("Instances of bAbI's task {n} alone.");
        (format!("qa{n}"), json!({ "type": "integer", "minimum": 0, "maximum": most(1), "description": said }))
    });
    table(tasks.chain(sources))
}

/// A table of strategies.
pub(super) fn by_strategy<V: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    let value = generator.subschema_for::<V>().to_value();
    table(Strategy::ALL.into_iter().map(|strategy| (strategy.name().to_owned(), value.clone())))
}
