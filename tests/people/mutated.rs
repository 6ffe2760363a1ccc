//! What the program accepts, the schema accepts: recipes with a value, a key or a section changed, drawn by lot.

use super::*;
use crate::support::*;
use nihbuild::recipe::BUILT_IN;
use nihbuild::seed::Seed;
use toml::{Table, Value as Toml};

/// Values to put in the place of another.
fn values() -> Vec<Toml> {
    let words =
        ["", "x", "en", "multilingual", "all", "story", "8k", "0k", " 8k", "10001k", "2025-01-01", "natural", "onnx"];
    let words =
        words.iter().chain(&["squad", "text", "babi", "content", "cut", "o200k_base", "1.0.0", "linear", "min"]);
    let mut all: Vec<Toml> = words.map(|word| Toml::from(*word)).collect();
    all.extend([-1, 0, 1, 2, 16, 17, 50, 1000, 1001, 100_000, 1_000_001].map(Toml::from));
    all.extend([Toml::from(0.5), Toml::from(true), Toml::from(false), Toml::Table(Table::new())]);
    let lists: [&[&str]; 8] =
        [&[], &["en"], &["en", "en"], &["zh", "en"], &["de-en"], &["0k", "4k"], &["noise", "natural"], &["exact"]];
    all.extend(lists.map(|list| Toml::Array(list.iter().map(|word| Toml::from(*word)).collect())));
    all.push(Toml::Array(vec![Toml::from(100), Toml::from(200)]));
    all
}

/// Sections and keys that the schema knows.
fn keys() -> Vec<(String, String)> {
    let schema = schema_of_recipes();
    let mut all = Vec::new();
    for (section, value) in schema["properties"].as_object().unwrap() {
        let to = value.get("$ref").and_then(|to| to.as_str());
        let table = to.and_then(|to| schema.pointer(to.trim_start_matches('#'))).unwrap_or(value);
        for key in table["properties"].as_object().into_iter().flatten().map(|(key, _)| key) {
            all.push((section.clone(), key.clone()));
        }
    }
    all
}

#[test]
fn what_the_program_accepts_the_schema_accepts() {
    let seed = Seed::new("mutated recipes");
    let (values, keys) = (values(), keys());
    let mut bases: Vec<Table> = BUILT_IN.iter().map(|(_, text)| toml::from_str(text).unwrap()).collect();
    bases.push(toml::from_str(&small("x", QUICK)).unwrap());
    // Few languages and an embedded tokenizer keep plans cheap.
    for base in &mut bases {
        base.get_mut("grid")
            .unwrap()
            .as_table_mut()
            .unwrap()
            .insert("languages".into(), Toml::Array(vec!["en".into()]));
        base.remove("tokens");
    }
    let (mut refused, mut accepted) = (0, 0);
    for n in 0..6000 {
        let draw = |what: &str, below: usize| seed.derive(what, &n.to_string()).below(below);
        let mut recipe = bases[draw("base", bases.len())].clone();
        for change in 0..1 + draw("changes", 2) {
            let draw = |what: &str, below: usize| seed.derive(what, &format!("{n}.{change}")).below(below);
            // Half of the changes are to keys that are there.
            let own: Vec<(String, String)> = recipe
                .iter()
                .filter_map(|(section, value)| Some((section, value.as_table()?)))
                .flat_map(|(section, table)| table.keys().map(move |key| (section.clone(), key.clone())))
                .collect();
            let from = if draw("own", 2) == 0 { &own } else { &keys };
            let (section, key) = &from[draw("key", from.len())];
            let table = recipe.entry(section.clone()).or_insert_with(|| Toml::Table(Table::new()));
            let Some(table) = table.as_table_mut() else { continue };
            match draw("what", 8) {
                0 => drop(table.remove(key)),
                1 => drop(table.insert(format!("{key}x"), values[draw("value", values.len())].clone())),
                _ => drop(table.insert(key.clone(), values[draw("value", values.len())].clone())),
            }
        }
        let text = recipe.to_string();
        let said = faults(&text);
        match said.is_empty() {
            // The program may still refuse it. Some are looked at, so that the test is not about nothing.
            true => accepted += usize::from(n % 4 == 0 && plan(&text).is_ok()),
            false => {
                refused += 1;
                assert!(plan(&text).is_err(), "the program accepts what the schema refuses: {said:?}\n{text}");
            }
        }
    }
    assert!(refused > 1500 && accepted > 50, "{refused} refused by both, {accepted} accepted by both of every fourth");
}
