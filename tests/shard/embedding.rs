//! `worker embed`: the vectors that a build has, for any split.

use super::streams::{batch, failed, integers, read, stream, texts, worked};
#[cfg(feature = "embed")]
use super::whole::{World, made};
use arrow_array::cast::AsArray;
use arrow_array::types::Int16Type;
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};
use nihbuild::stage::embed::grams;
use std::sync::Arc;

fn text(n: usize) -> String {
    format!("Passage {n}: {}", ["river", "stone", "Stra\u{df}e", "\u{6cb3}\u{6d41}"][n % 4].repeat(1 + n % 7))
}

fn rows(bytes: &[u8]) -> Vec<Vec<u8>> {
    let of = |batch: &RecordBatch| {
        let column = batch.column_by_name("vector").unwrap().as_fixed_size_binary().clone();
        (0..column.len()).map(|row| column.value(row).to_vec()).collect::<Vec<_>>()
    };
    read(bytes).iter().flat_map(of).collect()
}

#[test]
fn vectors_are_those_of_a_build_for_any_split() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let all: Vec<String> = (0..1300).map(text).collect();
    let whole = grams(&all.iter().map(String::as_str).collect::<Vec<_>>());
    let expected: Vec<Vec<u8>> = (0..1300).map(|n| whole.of(n).iter().map(|x| x.cast_unsigned()).collect()).collect();
    let part = |range: std::ops::Range<usize>| {
        batch(vec![
            ("id", texts(range.clone().map(|n| n.to_string()))),
            // As a collection is cleaned when it is read.
            ("text", texts(range.map(|n| format!(" {}\u{200B}", text(n))))),
        ])
    };
    assert_eq!(rows(&worked(at, &["worker", "embed"], &stream(&[part(0..1300)]))), expected);
    let pieces = [part(0..1), part(1..600), part(600..600), part(600..1300)];
    assert_eq!(rows(&worked(at, &["worker", "embed", "--jobs", "1"], &stream(&pieces))), expected);
    let split: Vec<_> =
        pieces.iter().flat_map(|p| rows(&worked(at, &["worker", "embed"], &stream(std::slice::from_ref(p))))).collect();
    assert_eq!(split, expected);
}

#[test]
fn columns_are_summed_where_they_have_a_text() {
    let folder = tempfile::tempdir().unwrap();
    let missing: ArrayRef = Arc::new(StringArray::from(vec![Some("drei"), None]));
    let asked =
        batch(vec![("query", integers([4, 9])), ("text_en", texts(["one", "two"])), ("text_de", missing.clone())]);
    let embed = ["worker", "embed", "--role", "query", "--text", "text_en,text_de"];
    let made = read(&worked(folder.path(), &embed, &stream(&[asked])));
    let vectors = made[0].column_by_name("vector").unwrap().as_fixed_size_list().clone();
    let of = |row: usize| vectors.value(row).as_primitive::<Int16Type>().values().to_vec();
    let grams = grams(&["one", "two", "drei"]);
    let sum: Vec<i16> = grams.of(0).iter().zip(grams.of(2)).map(|(a, b)| i16::from(*a) + i16::from(*b)).collect();
    assert_eq!(of(0), sum);
    assert_eq!(of(1), grams.of(1).iter().map(|x| i16::from(*x)).collect::<Vec<_>>());
    // One column must have a text everywhere.
    let bare = stream(&[batch(vec![("query", integers([4, 9])), ("text", missing)])]);
    failed(folder.path(), &["worker", "embed", "--role", "query"], &bare, &["no text", "row 2"]);
}

/// A model that is there: the folder of all, and keys of a recipe that name it.
#[cfg(feature = "embed")]
fn model() -> Option<(std::path::PathBuf, String)> {
    let models = crate::support::models()?;
    #[allow(clippy::disallowed_methods, reason = "the runtime is where this says")]
    std::env::var_os("ORT_DYLIB_PATH")?;
    let folders = nihbuild::store::sorted_dir(&models).unwrap();
    let model = folders.into_iter().find(|f| f.join("tokenizer.json").is_file())?;
    let config: serde_json::Value = serde_json::from_slice(&std::fs::read(model.join("config.json")).unwrap()).unwrap();
    let dimensions = config["hidden_size"].as_u64().or_else(|| config["d_model"].as_u64()).unwrap();
    let name = model.file_name().unwrap().to_str().unwrap();
    let keys = format!("model = \"{name}\"\npooling = \"mean\"\nmax_tokens = 64\ndimensions = {dimensions}\n");
    Some((models, format!("[retrieval]\nembedder = \"onnx\"\n[embedding]\n{keys}")))
}

#[test]
#[cfg(feature = "embed")]
fn a_models_vectors_do_not_depend_on_the_split() {
    let Some((models, keys)) = model() else { return eprintln!("skipped: no model or runtime for worker embed") };
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::write(
        at.join("r.toml"),
        format!(
            "[release]\nname = \"s\"\nversion = \"1.0.0\"\nseed = 5\n[source]\nkind = \"squad\"\ndataset = \"made\"\nfiles = \"q-{{language}}.json\"\n\
             [grid]\nlanguages = [\"en\"]\nlengths = [\"0k\"]\n{keys}"
        ),
    )
    .unwrap();
    let part = |range: std::ops::Range<usize>| {
        batch(vec![("number", integers(range.clone().map(|n| n as i64))), ("text", texts(range.map(text)))])
    };
    let embed = ["worker", "embed", "--recipe", "r.toml", "--models", models.to_str().unwrap()];
    let whole = rows(&worked(at, &embed, &stream(&[part(0..23)])));
    assert_eq!(whole.len(), 23);
    let split = [0..4, 4..5, 5..23]
        .map(|range| rows(&worked(at, &[&embed[..], &["--jobs", "2"]].concat(), &stream(&[part(range)]))));
    assert!(split.concat() == whole);
}

#[test]
#[cfg(feature = "embed")]
fn a_recipe_of_a_model_is_not_built_from_lists_of_the_other_embedder() {
    let Some((models, keys)) = model() else { return eprintln!("skipped: no model or runtime for worker check") };
    let world = World::new(160, 160);
    let at = world.bench.dir.path();
    world.bench.write("made.toml", &made(160).replace("[retrieval]\nembedder = \"ngram\"\n", &keys));
    let recipe = ["--recipe", "made.toml", "--data", "data", "--models", models.to_str().unwrap()];
    let asked = worked(at, &[&["worker", "questions"], &recipe[..]].concat(), b"");
    // Both sides without the recipe.
    worked(at, &["worker", "embed", "--role", "query", "--to", "queries.arrow"], &asked);
    let vectors = worked(at, &["worker", "embed"], &world.rows(0..160));
    let topk = ["worker", "topk", "--queries", "queries.arrow", "-k", "160", "--part", "1/1", "--to", "lists.arrow"];
    worked(at, &topk, &vectors);
    let check = [&["worker", "check", "--lists", "lists.arrow"], &recipe[..]].concat();
    failed(at, &check, b"", &["vectors of another embedder", "--recipe"]);
    // One side alone.
    let model = worked(at, &[&["worker", "embed"], &recipe[..]].concat(), &world.rows(0..2));
    failed(at, &topk, &model, &["not of the same embedder"]);
}
