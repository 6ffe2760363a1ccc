//! `ro-crate-metadata.json`: the release as RO-Crate 1.1 describes research data, where the recipe asks for it.

use super::{cite, description};
use crate::licence;
use crate::manifest::Manifest;
use crate::plan::Plan;
use serde_json::{Value, json};

/// Its name inside a release.
pub const FILE: &str = "ro-crate-metadata.json";

/// The description of a release.
pub(super) fn ro_crate(plan: &Plan, manifest: &Manifest) -> String {
    let named = |name: &str| json!({ "@id": name });
    let texts = [
        ("README.md", "The card", "text/markdown"),
        ("LICENSE.md", "Licences", "text/markdown"),
        ("CITATION.cff", "Citation", "application/yaml"),
        ("recipe.toml", "The recipe, with every default", "application/toml"),
        ("manifest.json", "Counts, digests, sources and stages", "application/json"),
        (super::croissant::FILE, "Croissant metadata", "application/ld+json"),
    ];
    let paths = texts.iter().map(|(name, ..)| named(name)).chain(manifest.files.iter().map(|file| named(&file.path)));
    let licences = licence::identifiers(&manifest.licence);
    let creators: Vec<(String, String)> =
        cite::creators(plan).into_iter().enumerate().map(|(n, name)| (format!("#creator-{}", n + 1), name)).collect();
    let mut root = json!({
        "@id": "./",
        "@type": "Dataset",
        "name": manifest.title(),
        "description": description(plan, manifest),
        "version": manifest.version,
        "datePublished": manifest.date,
        "license": licences.iter().map(|id| named(&address(id))).collect::<Vec<_>>(),
        "creator": creators.iter().map(|(id, _)| named(id)).collect::<Vec<_>>(),
        "inLanguage": plan.packs.iter().map(|(language, _)| language.to_string()).collect::<Vec<_>>(),
        "identifier": format!("sha256:{}", manifest.rows_digest),
        "hasPart": paths.collect::<Vec<_>>(),
    });
    if let Some(url) = &plan.recipe.release.url {
        root["url"] = Value::from(url.as_str());
    }
    let mut graph = vec![
        json!({
            "@id": FILE,
            "@type": "CreativeWork",
            "conformsTo": named("https://w3id.org/ro/crate/1.1"),
            "about": named("./"),
        }),
        root,
    ];
    graph.extend(
        texts
            .iter()
            .map(|(id, name, format)| json!({ "@id": id, "@type": "File", "name": name, "encodingFormat": format })),
    );
    graph.extend(manifest.files.iter().map(|file| {
        json!({
            "@id": file.path,
            "@type": "File",
            "name": file.path,
            "contentSize": file.bytes.to_string(),
            "encodingFormat": "application/vnd.apache.parquet",
            "sha256": file.sha256,
        })
    }));
    graph.extend(licences.iter().map(|id| json!({ "@id": address(id), "@type": "CreativeWork", "name": id })));
    graph.extend(creators.iter().map(|(id, name)| json!({ "@id": id, "@type": "Organization", "name": name })));
    let all = json!({ "@context": "https://w3id.org/ro/crate/1.1/context", "@graph": graph });
    serde_json::to_string_pretty(&all).expect("plain data") + "\n"
}

/// The page of a licence; of one without an identifier of SPDX a place inside the crate.
fn address(id: &str) -> String {
    match id.starts_with("LicenseRef-") {
        true => format!("#{id}"),
        false => format!("https://spdx.org/licenses/{id}"),
    }
}
