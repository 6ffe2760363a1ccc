//! The front matter of the card, which hubs and loaders read: YAML of strings, lists and tables alone.

use super::quoted;
use crate::licence;
use crate::manifest::Manifest;
use crate::plan::Plan;
use crate::recipe::{Family, SourceKind};
use crate::table::SCHEMA;
use arrow_schema::{DataType, Field};

/// Licences that a hub knows by their SPDX identifier in lower case.
const KNOWN: [&str; 16] = [
    "apache-2.0",
    "mit",
    "cc0-1.0",
    "cc-by-2.0",
    "cc-by-2.5",
    "cc-by-3.0",
    "cc-by-4.0",
    "cc-by-sa-3.0",
    "cc-by-sa-4.0",
    "cc-by-nc-2.0",
    "cc-by-nc-3.0",
    "cc-by-nc-4.0",
    "cc-by-nc-sa-3.0",
    "cc-by-nc-sa-4.0",
    "cc-by-nd-4.0",
    "cc-by-nc-nd-4.0",
];

/// The front matter, with its marks.
pub(super) fn front(plan: &Plan, manifest: &Manifest) -> String {
    let mut text = format!("---\npretty_name: {}\n", quoted(&manifest.title()));
    text += &licences(manifest);
    // Codes are quoted: YAML takes the code of Norwegian for a truth value.
    list(&mut text, "language", plan.packs.iter().map(|(language, _)| language.to_string()));
    let many = if plan.packs.len() > 1 { "multilingual" } else { "monolingual" };
    list(&mut text, "multilinguality", [many]);
    list(&mut text, "annotations_creators", ["machine-generated"]);
    let is_found = plan.recipe.reads_passages() || plan.family == Family::Passage;
    list(&mut text, "language_creators", [if is_found { "found" } else { "machine-generated" }]);
    let size = match manifest.rows {
        0..1_000 => "n<1K",
        1_000..10_000 => "1K<n<10K",
        10_000..100_000 => "10K<n<100K",
        100_000..1_000_000 => "100K<n<1M",
        _ => "1M<n<10M",
    };
    list(&mut text, "size_categories", [size]);
    list(&mut text, "source_datasets", sources(plan));
    list(&mut text, "task_categories", ["question-answering"]);
    let family = match plan.family {
        Family::Reasoning => "reasoning",
        Family::Passage | Family::Factoid => "retrieval",
    };
    list(&mut text, "tags", ["long-context", "needle-in-a-haystack", "benchmark", "evaluation", family]);
    configs(&mut text, plan);
    info(&mut text, plan, manifest);
    text + "---\n\n"
}

fn list(text: &mut String, key: &str, values: impl IntoIterator<Item = impl AsRef<str>>) {
    *text += &format!("{key}:\n");
    for value in values {
        *text += &format!("- {}\n", quoted(value.as_ref()));
    }
}

fn licences(manifest: &Manifest) -> String {
    let all = licence::identifiers(&manifest.licence);
    let id = match all.as_slice() {
        [one] => one.to_lowercase(),
        _ => manifest.licence.to_lowercase(),
    };
    match KNOWN.contains(&id.as_str()) {
        true => format!("license: {}\n", quoted(&id)),
        false => {
            let name = id.replace(['(', ')'], "").replace(' ', "-");
            format!("license: \"other\"\nlicense_name: {}\nlicense_link: \"LICENSE.md\"\n", quoted(&name))
        }
    }
}

/// Data sets that the texts are taken from, as hubs write them.
fn sources(plan: &Plan) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let known =
        [("babi", "babi_qa"), ("mlqa", "mlqa"), ("xquad", "xquad"), ("mmarco", "mmarco"), ("msmarco", "ms_marco")];
    for id in plan.licences.keys() {
        let name = known.iter().find(|(start, _)| id.starts_with(start)).map_or("other", |(_, name)| name);
        let name = format!("extended|{name}");
        if !all.contains(&name) {
            all.push(name);
        }
    }
    let reads =
        plan.recipe.reads_passages() || !matches!(plan.recipe.source.kind, SourceKind::Simulate | SourceKind::Text);
    match (all.is_empty(), reads) {
        (false, _) => all,
        (true, true) => vec!["extended|other".to_owned()],
        (true, false) => vec!["original".to_owned()],
    }
}

fn configs(text: &mut String, plan: &Plan) {
    *text += "configs:\n";
    for (n, file) in plan.files.iter().enumerate() {
        *text += &format!("- config_name: {}\n", quoted(&file.config));
        if n == 0 {
            *text += "  default: true\n";
        }
        *text += &format!("  data_files:\n  - split: \"test\"\n    path: {}\n", quoted(&file.path()));
    }
}

/// Features, rows and bytes of each config. All configs have the same columns, so they are written once.
fn info(text: &mut String, plan: &Plan, manifest: &Manifest) {
    *text += "dataset_info:\n";
    for (n, (file, data)) in plan.files.iter().zip(&manifest.files).enumerate() {
        *text += &format!("- config_name: {}\n", quoted(&file.config));
        if n == 0 {
            *text += "  features: &columns\n";
            SCHEMA.fields().iter().for_each(|field| feature(text, field, 2));
        } else {
            *text += "  features: *columns\n";
        }
        *text += &format!(
            "  splits:\n  - name: \"test\"\n    num_bytes: {0}\n    num_examples: {1}\n  download_size: {2}\n  dataset_size: {0}\n",
            data.data_bytes, data.rows, data.bytes
        );
    }
}

fn feature(text: &mut String, field: &Field, indent: usize) {
    let pad = " ".repeat(indent);
    *text += &format!("{pad}- name: {}\n", field.name());
    match field.data_type() {
        DataType::List(item) => match item.data_type() {
            DataType::Struct(fields) => {
                *text += &format!("{pad}  list:\n");
                fields.iter().for_each(|field| feature(text, field, indent + 2));
            }
            scalar => *text += &format!("{pad}  list: {}\n", dtype(scalar)),
        },
        scalar => *text += &format!("{pad}  dtype: {}\n", dtype(scalar)),
    }
}

fn dtype(kind: &DataType) -> &'static str {
    match kind {
        DataType::Int64 => "int64",
        DataType::Boolean => "bool",
        _ => "string",
    }
}
