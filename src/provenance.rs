//! The statement of where a release comes from: in-toto v1 with the SLSA provenance predicate v1.
//!
//! It names every file of the release but itself and SHA256SUMS, what was read to make them, and the builder. It says
//! nothing of when and where: the same release has the same statement.

use crate::hash::Digest;
use crate::manifest::Manifest;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Its name inside a release.
pub const FILE: &str = "provenance.intoto.json";

/// What the builder does with a recipe; raised when the parameters change their meaning.
const BUILD_TYPE: &str = "urn:nihbuild:recipe:1";

fn named(name: &str, digest: &Digest) -> Value {
    json!({ "name": name, "digest": { "sha256": digest } })
}

/// The statement of a release whose other files have these SHA-256.
pub fn statement(manifest: &Manifest, sums: &BTreeMap<String, Digest>) -> String {
    let files = sums.iter().filter(|(name, _)| *name != FILE).map(|(name, digest)| named(name, digest));
    let mut read: Vec<Value> = Vec::new();
    read.extend(manifest.sources.iter().map(|source| named(&format!("source:{}", source.name), &source.sha256)));
    read.extend(manifest.packs.iter().map(|(code, digest)| named(&format!("pack:{code}"), digest)));
    read.extend(manifest.tokenizers.iter().map(|t| named(&format!("tokenizer:{}", t.name), &t.digest)));
    read.extend(manifest.pins.iter().map(|pin| named(&format!("pin:{}", pin.path), &pin.sha256)));
    let statement = json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": files.collect::<Vec<_>>(),
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD_TYPE,
                "externalParameters": {
                    "release": { "name": manifest.name, "version": manifest.version },
                    "recipe": { "name": "recipe.toml", "digest": { "sha256": manifest.recipe_sha256 } },
                    "filter": manifest.filter.as_ref().map(|filter| filter.flags()),
                    "otherSeed": manifest.other_seed,
                },
                "internalParameters": { "seedDigest": manifest.seed_digest, "plan": manifest.plan, "stages": manifest.stages },
                "resolvedDependencies": read,
            },
            "runDetails": {
                "builder": { "id": "urn:nihbuild:builder", "version": { "nihbuild": manifest.nihbuild } },
                "metadata": { "invocationId": manifest.plan },
                "byproducts": [{ "name": "rows", "digest": { "nihbuildRowsSha256": manifest.rows_digest } }],
            },
        },
    });
    serde_json::to_string_pretty(&statement).expect("plain data") + "\n"
}

/// The files that a statement names, with their SHA-256; none where it is no such statement.
pub fn subjects(text: &str) -> Option<BTreeMap<String, Digest>> {
    let statement: Value = serde_json::from_str(text).ok()?;
    let subject = |entry: &Value| {
        let digest = entry.get("digest")?.get("sha256")?.as_str()?;
        Some((entry.get("name")?.as_str()?.to_owned(), Digest::parse(digest)?))
    };
    statement.get("subject")?.as_array()?.iter().map(subject).collect()
}
