//! The schema is the one beside the recipes, each of which names it; it knows every key and says what it is.

use super::*;
use crate::support::*;
use nihbuild::recipe::BUILT_IN;
use nihbuild::recipe::schema::{FILE, LINE, text};
use std::path::Path;

#[test]
fn the_committed_schema_is_the_programs() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("recipes").join(FILE);
    let committed = std::fs::read_to_string(path).unwrap();
    assert!(committed == text(), "run: nihbuild schema > recipes/{FILE}");
    assert_eq!(Bench::new().run(&["schema"]).success().out, committed);
    assert!(!faults("").is_empty(), "a recipe without [release]");
    assert_eq!(schema_of_recipes()["$schema"], "https://json-schema.org/draft/2020-12/schema");
}

#[test]
fn every_recipe_names_its_schema_and_holds_to_it() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("recipes");
    let files: Vec<_> = nihbuild::store::sorted_dir(&folder).unwrap();
    let recipes: Vec<_> = files.iter().filter(|path| path.extension().is_some_and(|e| e == "toml")).collect();
    assert_eq!(recipes.len(), BUILT_IN.len());
    for path in recipes {
        let text = std::fs::read_to_string(path).unwrap();
        assert_eq!(text.lines().next(), Some(LINE), "{}", path.display());
        assert_eq!(faults(&text), Vec::<String>::new(), "{}", path.display());
        // So does what a release writes down of it, and what a dry run prints.
        let resolved = Recipe::parse("r", &text).unwrap().to_toml();
        assert_eq!(faults(&resolved), Vec::<String>::new(), "{}: {resolved}", path.display());
    }
}

#[test]
fn recipes_of_other_tests_and_of_old_releases_hold_to_it() {
    let releases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/releases");
    let mut texts = vec![small("x", QUICK), crate::mlneedle::recipe(""), crate::recall::recall("x", "")];
    for release in nihbuild::store::sorted_dir(&releases).unwrap() {
        texts.push(std::fs::read_to_string(release.join("recipe.toml")).unwrap());
    }
    assert!(texts.len() >= 8);
    for text in texts {
        assert_eq!(faults(&text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn a_comment_changes_no_plan() {
    let text = small("x", QUICK);
    let (bare, commented) = (plan(&text).unwrap(), plan(&format!("{LINE}\n# more\n{text}")).unwrap());
    assert_eq!(bare.digest(), commented.digest());
    assert_eq!(bare.resolved(), commented.resolved());
}

/// Walks to every object with properties.
fn tables(value: &Value, path: &str, act: &mut dyn FnMut(&str, &Value)) {
    match value {
        Value::Object(object) => {
            if object.contains_key("properties") && !path.contains("/allOf") {
                act(path, value);
            }
            object.iter().for_each(|(key, value)| tables(value, &format!("{path}/{key}"), act));
        }
        Value::Array(list) => list.iter().enumerate().for_each(|(n, v)| tables(v, &format!("{path}/{n}"), act)),
        _ => {}
    }
}

#[test]
fn every_key_is_described_and_no_other_is_taken() {
    let schema = schema_of_recipes();
    let (mut keys, mut defaults, mut bounded) = (0, 0, 0);
    tables(&schema, "", &mut |path, table| {
        assert_eq!(table["additionalProperties"], false, "{path}");
        for (key, value) in table["properties"].as_object().unwrap() {
            let by_name = path.contains("oneOf")
                || path.contains("anyOf")
                || path.contains("templates")
                || path.contains("archives");
            let said = value["description"].as_str().is_some_and(|text| text.len() > 8);
            assert!(said || by_name, "{path}/{key}: {value}");
            keys += 1;
            defaults += usize::from(value.get("default").is_some());
            bounded += usize::from(value.get("maximum").is_some());
        }
    });
    // A schema that lost keys, defaults or bounds would say little.
    assert!(keys > 150 && defaults > 50 && bounded > 50, "{keys} keys, {defaults} defaults, {bounded} bounds");
    for (place, word) in [
        ("/$defs/Distractors/properties/pool/default", "20000"),
        ("/$defs/Distractors/properties/pool/maximum", "1000000"),
        ("/$defs/Grid/properties/samples/description", "Only of MLNeedle."),
        ("/$defs/Stories/properties/tasks/properties/qa7/maximum", "99999"),
        ("/$defs/Release/required", "[\"name\",\"version\",\"seed\"]"),
    ] {
        let found = schema.pointer(place).unwrap_or_else(|| panic!("{place} is not there")).to_string();
        assert!(found.contains(word), "{place}: {found}");
    }
    let text = schema.to_string();
    assert!(!text.contains("[`") && !text.contains("\"null\""), "links or nulls are left");
}
