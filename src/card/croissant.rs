//! `croissant.json`: the release as MLCommons Croissant 1.1 describes data, so that its tools load it.
//!
//! Each data file is a `FileObject` with its SHA-256, each config a `RecordSet` with every column. Lists are repeated
//! fields; structures have sub-fields, drawn from their column by JSONPath.

use super::{cite, description};
use crate::columns::describe;
use crate::licence;
use crate::manifest::Manifest;
use crate::plan::Plan;
use crate::table::SCHEMA;
use arrow_schema::{DataType, Field, Fields};
use serde_json::{Map, Value, json};

/// Its name inside a release.
pub const FILE: &str = "croissant.json";

/// The context that the format prescribes: terms of its own vocabulary beside those of schema.org.
fn context() -> Value {
    let mut context = Map::new();
    let fixed = json!({
        "@language": "en",
        "@vocab": "https://schema.org/",
        "cr": "http://mlcommons.org/croissant/",
        "rai": "http://mlcommons.org/croissant/RAI/",
        "dct": "http://purl.org/dc/terms/",
        "sc": "https://schema.org/",
        "conformsTo": "dct:conformsTo",
        "data": { "@id": "cr:data", "@type": "@json" },
        "dataType": { "@id": "cr:dataType", "@type": "@vocab" },
        "examples": { "@id": "cr:examples", "@type": "@json" },
    });
    context.extend(fixed.as_object().expect("written above").clone());
    const OWN: [&str; 30] = [
        "annotation",
        "arrayShape",
        "citeAs",
        "column",
        "containedIn",
        "equivalentProperty",
        "extract",
        "field",
        "fileObject",
        "fileProperty",
        "fileSet",
        "format",
        "includes",
        "isArray",
        "isLiveDataset",
        "jsonPath",
        "key",
        "md5",
        "parentField",
        "path",
        "recordSet",
        "references",
        "regex",
        "repeated",
        "replace",
        "samplingRate",
        "separator",
        "source",
        "subField",
        "transform",
    ];
    context.extend(OWN.iter().map(|term| ((*term).to_owned(), Value::from(format!("cr:{term}")))));
    Value::Object(context)
}

/// The description of a release.
pub(super) fn croissant(plan: &Plan, manifest: &Manifest) -> String {
    let distribution: Vec<Value> = manifest
        .files
        .iter()
        .map(|file| {
            json!({
                "@type": "cr:FileObject",
                "@id": file.path,
                "name": file.path,
                "contentUrl": file.path,
                "contentSize": format!("{} B", file.bytes),
                "encodingFormat": "application/x-parquet",
                "sha256": file.sha256,
            })
        })
        .collect();
    let sets: Vec<Value> = plan
        .files
        .iter()
        .zip(&manifest.files)
        .map(|(file, data)| {
            let fields: Vec<Value> =
                SCHEMA.fields().iter().map(|field| column(&file.config, &data.path, field)).collect();
            json!({
                "@type": "cr:RecordSet",
                "@id": file.config,
                "name": file.config,
                "description": format!("{} rows", data.rows),
                "key": { "@id": format!("{}/id", file.config) },
                "field": fields,
            })
        })
        .collect();
    let licences: Vec<Value> = licence::identifiers(&manifest.licence).into_iter().map(Value::from).collect();
    let creators: Vec<Value> =
        cite::creators(plan).into_iter().map(|name| json!({ "@type": "sc:Organization", "name": name })).collect();
    let mut about = json!({
        "@context": context(),
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.1",
        "name": manifest.name,
        "description": description(plan, manifest),
        "version": manifest.version,
        "license": licences,
        "creator": creators,
        "inLanguage": plan.packs.iter().map(|(language, _)| language.to_string()).collect::<Vec<_>>(),
        "keywords": ["long-context", "multilingual", "benchmark", "needle in a haystack"],
        "citeAs": cite::bibtex(plan, manifest),
        "isLiveDataset": false,
        "distribution": distribution,
        "recordSet": sets,
    });
    if let Some(date) = &manifest.date {
        about["datePublished"] = Value::from(date.as_str());
    }
    if let Some(url) = &plan.recipe.release.url {
        about["url"] = Value::from(url.as_str());
    }
    serde_json::to_string(&about).expect("plain data") + "\n"
}

fn kind(of: &DataType) -> &'static str {
    match of {
        DataType::Int64 => "cr:Int64",
        DataType::Boolean => "sc:Boolean",
        _ => "sc:Text",
    }
}

fn column(config: &str, file: &str, field: &Field) -> Value {
    let id = format!("{config}/{}", field.name());
    let source = json!({ "fileObject": { "@id": file }, "extract": { "column": field.name() } });
    let mut value = json!({
        "@type": "cr:Field",
        "@id": id,
        "name": field.name(),
        "description": describe(field.name()),
        "source": source,
    });
    let scalar = match field.data_type() {
        DataType::List(item) => {
            value["repeated"] = Value::from(true);
            item.data_type()
        }
        scalar => scalar,
    };
    match scalar {
        DataType::Struct(fields) => value["subField"] = parts(&id, &source, fields),
        scalar => value["dataType"] = Value::from(kind(scalar)),
    }
    value
}

/// The fields of a list of structures; those that are lists themselves are read with a reader of Parquet.
fn parts(id: &str, source: &Value, fields: &Fields) -> Value {
    let plain = fields.iter().filter(|field| !matches!(field.data_type(), DataType::List(_)));
    let part = plain.map(|field| {
        let mut source = source.clone();
        source["transform"] = json!({ "jsonPath": format!("$[*].{}", field.name()) });
        json!({
            "@type": "cr:Field",
            "@id": format!("{id}/{}", field.name()),
            "name": field.name(),
            "dataType": kind(field.data_type()),
            "source": source,
        })
    });
    part.collect()
}
