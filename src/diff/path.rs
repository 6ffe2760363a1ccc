//! Along the path from recipe to rows: what of two releases' making differs, and what does so first.

use crate::error::{Error, Result};
use crate::hash::Digest;
use crate::manifest::Manifest;
use crate::pipeline::place;
use crate::recipe::Recipe;
use crate::release::Release;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Keys of a recipe that reach no row.
const NO_CAUSE: [&str; 10] = [
    "release.name",
    "release.version",
    "release.date",
    "release.licence",
    "release.allow_conflicting_licences",
    "release.creators",
    "release.url",
    "release.description",
    "release.ro_crate",
    "errata",
];

/// Something that two releases have in two forms.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Detail {
    /// A key of the recipe, a language, a file.
    pub key: String,
    /// Its value or digest in the first release; none where it is not there.
    pub a: Option<String>,
    /// That in the second.
    pub b: Option<String>,
    /// It may change rows. Names, versions and dates do not.
    pub cause: bool,
}

/// A step of the path.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Step {
    /// Its name; of a stage, that which the manifest gives it.
    pub name: String,
    /// True for the stages between what is put in and what comes out.
    pub is_stage: bool,
    /// What differs. A step in which nothing that may change rows does is no cause.
    pub details: Vec<Detail>,
}

impl Step {
    fn new(name: &str, details: Vec<Detail>) -> Step {
        Step { name: name.to_owned(), is_stage: false, details }
    }

    /// May it have changed rows?
    pub fn differs(&self) -> bool {
        self.details.iter().any(|detail| detail.cause)
    }
}

/// The path of two releases.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Walk {
    /// The first step that differs.
    pub first: Option<String>,
    /// The first stage that differs.
    pub first_stage: Option<String>,
    /// Whether stages are told apart by digests of their `output`, or of what goes in (`key`).
    pub stages_by: &'static str,
    /// All steps, in order.
    pub steps: Vec<Step>,
}

/// Digests of the outputs of the stages, where a manifest has them.
fn outputs(manifest: &Manifest) -> Option<&BTreeMap<String, Digest>> {
    (!manifest.outputs.is_empty()).then_some(&manifest.outputs)
}

/// Walks the path of two releases; `rows`: how many differ.
pub(super) fn walk(a: &Release, b: &Release, rows: u64) -> Result<Walk> {
    let (x, y) = (&a.manifest, &b.manifest);
    let mut steps = recipe(a, b)?;
    let part = |manifest: &Manifest| manifest.filter.as_ref().map(|filter| filter.flags());
    steps.insert(1, Step::new("part", differing([("flags", part(x))], [("flags", part(y))])));
    let digests = |list: Vec<(&str, Digest)>| -> Vec<(String, Option<String>)> {
        list.into_iter().map(|(name, digest)| (name.to_owned(), Some(digest.to_string()))).collect()
    };
    let sources = |m: &Manifest| digests(m.sources.iter().map(|file| (file.name.as_str(), file.sha256)).collect());
    steps.push(Step::new("sources", differing(sources(x), sources(y))));
    let packs = |m: &Manifest| digests(m.packs.iter().map(|(name, digest)| (name.as_str(), *digest)).collect());
    steps.push(Step::new("packs", differing(packs(x), packs(y))));
    let tokenizers = |m: &Manifest| digests(m.tokenizers.iter().map(|t| (t.name.as_str(), t.digest)).collect());
    if x.format > 1 && y.format > 1 {
        // Format 1 does not name them.
        steps.push(Step::new("tokenizers", differing(tokenizers(x), tokenizers(y))));
    }
    let pins = |m: &Manifest| digests(m.pins.iter().map(|pin| (pin.path.as_str(), pin.sha256)).collect());
    steps.push(Step::new("pins", differing(pins(x), pins(y))));
    let program = |m: &Manifest| [("nihbuild", Some(m.nihbuild.clone())), ("format", Some(m.format.to_string()))];
    steps.push(Step::new("program", differing(program(x), program(y))));
    let (by, p, q) = match (outputs(x), outputs(y)) {
        (Some(p), Some(q)) => ("output", p, q),
        _ => ("key", &x.stages, &y.stages),
    };
    steps.extend(stages(p, q));
    let rows = (rows > 0).then(|| Detail { key: "rows".to_owned(), a: None, b: None, cause: true });
    steps.push(Step::new("rows", rows.into_iter().collect()));
    let first = |wanted: &dyn Fn(&&Step) -> bool| steps.iter().find(wanted).map(|step| step.name.clone());
    Ok(Walk {
        first: first(&|step| step.differs()),
        first_stage: first(&|step| step.is_stage && step.differs()),
        stages_by: by,
        steps,
    })
}

fn stages(a: &BTreeMap<String, Digest>, b: &BTreeMap<String, Digest>) -> Vec<Step> {
    let mut names: Vec<&String> = a.keys().chain(b.keys()).collect::<BTreeSet<_>>().into_iter().collect();
    names.sort_by_key(|name| place(name));
    let step = |name: &String| {
        let of = |all: &BTreeMap<String, Digest>| [("digest", all.get(name).map(Digest::to_string))];
        Step { name: name.clone(), is_stage: true, details: differing(of(a), of(b)) }
    };
    names.into_iter().map(step).collect()
}

/// What differs between two lists of named values.
fn differing<N: Into<String>>(
    a: impl IntoIterator<Item = (N, Option<String>)>,
    b: impl IntoIterator<Item = (N, Option<String>)>,
) -> Vec<Detail> {
    let mut all: BTreeMap<String, (Option<String>, Option<String>)> = BTreeMap::new();
    a.into_iter().for_each(|(name, value)| all.entry(name.into()).or_default().0 = value);
    b.into_iter().for_each(|(name, value)| all.entry(name.into()).or_default().1 = value);
    let differing = all.into_iter().filter(|(_, (a, b))| a != b);
    differing.map(|(key, (a, b))| Detail { cause: !NO_CAUSE.contains(&key.as_str()), key, a, b }).collect()
}

/// The recipe key by key, and the seed.
fn recipe(a: &Release, b: &Release) -> Result<Vec<Step>> {
    let (texts, mut all) = ((a.text("recipe.toml")?, b.text("recipe.toml")?), Vec::new());
    let keys = (keys(a, &texts.0)?, keys(b, &texts.1)?);
    let seed = |keys: &BTreeMap<String, String>, digest: Digest| {
        let said = keys.iter().filter(|(key, _)| key.starts_with("release.seed"));
        let mut seed: Vec<(String, Option<String>)> = said.map(|(k, v)| (k.clone(), Some(v.clone()))).collect();
        seed.push(("seed_digest".to_owned(), Some(digest.to_string())));
        seed
    };
    let rest = |keys: BTreeMap<String, String>| {
        keys.into_iter().filter(|(key, _)| !key.starts_with("release.seed")).map(|(k, v)| (k, Some(v)))
    };
    let seeds = (seed(&keys.0, a.manifest.seed_digest), seed(&keys.1, b.manifest.seed_digest));
    all.push(Step::new("recipe", differing(rest(keys.0), rest(keys.1))));
    all.push(Step::new("seed", differing(seeds.0, seeds.1)));
    Ok(all)
}

/// The keys of a recipe and their values, as TOML writes them. What this program would fill in is filled in, so that a
/// key that is newer than a release does not differ.
fn keys(release: &Release, text: &str) -> Result<BTreeMap<String, String>> {
    let place = release.folder.join("recipe.toml");
    let filled = Recipe::parse(&place.display().to_string(), text).map(|recipe| recipe.to_toml());
    let text = filled.as_deref().unwrap_or(text);
    let table: toml::Table =
        text.parse().map_err(|e: toml::de::Error| Error::new(e.to_string()).at(place.display()))?;
    let mut keys = BTreeMap::new();
    table.iter().for_each(|(name, value)| flatten(name.clone(), value, &mut keys));
    Ok(keys)
}

fn flatten(name: String, value: &toml::Value, keys: &mut BTreeMap<String, String>) {
    match value {
        toml::Value::Table(table) => {
            table.iter().for_each(|(key, value)| flatten(format!("{name}.{key}"), value, keys))
        }
        toml::Value::Array(list) if list.iter().any(toml::Value::is_table) => {
            list.iter().enumerate().for_each(|(n, value)| flatten(format!("{name}[{n}]"), value, keys))
        }
        value => drop(keys.insert(name, value.to_string())),
    }
}
