//! Recipes for people: the schema, errors that point at the key, recipes to begin with, completions, the manual.

mod asked;
mod broken;
mod mutated;
mod pages;
mod schema;

use nihbuild::plan::{Options, Plan};
use nihbuild::recipe::Recipe;
use nihbuild::recipe::schema::schema as schema_of_recipes;
use serde_json::Value;
use std::sync::LazyLock;

/// The schema, read by a validator of another make.
static VALIDATOR: LazyLock<(boon::Schemas, boon::SchemaIndex)> = LazyLock::new(|| {
    let (mut schemas, mut compiler) = (boon::Schemas::new(), boon::Compiler::new());
    compiler.set_default_draft(boon::Draft::V2020_12);
    compiler.add_resource("recipe.schema.json", schema_of_recipes()).unwrap();
    // It is held against the schema of schemas here.
    let index = compiler.compile("recipe.schema.json", &mut schemas).unwrap_or_else(|e| panic!("{e:#}"));
    (schemas, index)
});

/// A recipe's text as the schema sees it; none where it is no TOML.
fn as_json(text: &str) -> Option<Value> {
    serde_json::to_value(toml::from_str::<toml::Table>(text).ok()?).ok()
}

/// What the schema says against a recipe; nothing if it is content.
fn faults(text: &str) -> Vec<String> {
    let Some(value) = as_json(text) else { return vec!["no TOML".to_owned()] };
    let (schemas, index) = &*VALIDATOR;
    schemas.validate(&value, *index).err().map(|e| e.to_string()).into_iter().collect()
}

/// What the program says: it parses, and a plan can be made of it.
fn plan(text: &str) -> nihbuild::error::Result<Plan> {
    Plan::new(Recipe::parse("r.toml", text)?, Options { jobs: 1, ..Options::default() })
}
