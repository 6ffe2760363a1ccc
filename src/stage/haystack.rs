//! Reads the passages of `[haystack]`: parallel over the recipe's languages, the same ones in each.

use super::ingest::SourceFile;
use crate::error::{Error, Result};
use crate::fail;
use crate::hash::Digest;
use crate::language::Language;
use crate::manifest::PassageFacts;
use crate::plan::Plan;
use crate::recipe::CollectionKind;
use crate::report::Progress;
use crate::source::archive;
use crate::source::collection::{self, Sampled, Sampling};
use crate::source::locate::{Locator, Place, file_name, fill};
use crate::source::pins::{Md5, Pin, PinnedReader};
use crate::source::squad;
use crate::store::{Key, Store};
use serde_json::json;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Raised when sampling or cleaning gives other passages of the same files.
pub const VERSION: u32 = 1;

/// The passages, in every language of the recipe.
pub struct Haystack {
    /// Their ids, in ascending order where they are numbers: ties of a ranking go by this order.
    pub ids: Vec<String>,
    /// Their texts, by language, in the order of the ids. Cleaned: no line feeds, no edge spaces.
    pub texts: BTreeMap<Language, Vec<String>>,
    /// The files they were read from.
    pub files: Vec<SourceFile>,
    /// What was dropped.
    pub facts: PassageFacts,
    /// Digest of ids and texts.
    pub digest: Digest,
}

/// A file larger than this is no SQuAD file.
const MAX_JSON: u64 = 1 << 30;

/// Reads the haystack of a plan.
pub fn read(plan: &Plan, locator: &Locator<'_>) -> Result<Haystack> {
    let mut haystack = match plan.recipe.haystack.kind {
        CollectionKind::Tsv => lines(plan, locator)?,
        CollectionKind::Squad => contexts(plan, locator)?,
        CollectionKind::Text | CollectionKind::Essays => fail!("haystack.kind: running text is not passages"),
    };
    haystack.facts.passages = haystack.ids.len() as u64;
    if haystack.ids.is_empty() {
        fail!("the haystack has no passage that is there in every language of the recipe");
    }
    let ids = haystack.ids.iter().map(String::as_bytes);
    let texts = haystack.texts.values().flatten().map(String::as_bytes);
    haystack.digest = Digest::of_parts(ids.chain(texts));
    Ok(haystack)
}

/// The pin of a language's collection, if the recipe names one.
fn pin<'l>(plan: &Plan, locator: &'l Locator<'_>, language: Language) -> Result<Option<&'l Pin>> {
    let collection = &plan.recipe.haystack;
    let named = collection.archives.get(&language).cloned();
    let id = named.or_else(|| Some(collection.archive.as_ref()?.replace("{language}", language.code())));
    id.map(|id| locator.pins.find(&id).map_err(|e| e.at("haystack.archive"))).transpose()
}

/// What a language's files may be called.
fn names(plan: &Plan, language: Language) -> Vec<String> {
    let collection = &plan.recipe.haystack;
    let pack = plan.pack(language);
    collection.files.list().iter().map(|name| fill(name, language, pack, collection.split)).collect()
}

fn lines(plan: &Plan, locator: &Locator<'_>) -> Result<Haystack> {
    let key = plan.seed.derive("collection", "").bits();
    let sampling = Sampling { size: plan.recipe.haystack.sample, ..Sampling::new(key) };
    let mut facts = PassageFacts::default();
    let mut files = Vec::new();
    let mut samples = Vec::new();
    for (language, result) in several(plan, locator, &sampling) {
        let (name, sampled) = result?;
        for (reason, (count, first)) in &sampled.dropped {
            // Where the first one stands helps whoever looks into the file.
            let reason = format!("{reason} (first: {first})");
            facts.dropped.entry(name.clone()).or_default().insert(reason, *count);
        }
        files.push(SourceFile { name, bytes: sampled.bytes, sha256: sampled.sha256 });
        samples.push((language.to_string(), sampled));
    }
    let common = collection::common(&samples, sampling.size)?;
    for (language, missing) in common.missing.iter().filter(|(_, n)| **n > 0) {
        facts.dropped.entry(format!("haystack {language}")).or_default().insert("pid missing".to_owned(), *missing);
    }
    let mut pids = common.pids;
    pids.sort_unstable();
    let mut texts = BTreeMap::new();
    for ((language, _), (_, sampled)) in plan.packs.iter().zip(samples) {
        let mut by_pid: BTreeMap<u32, String> = sampled.passages.into_iter().collect();
        let own = pids.iter().map(|pid| by_pid.remove(pid).expect("a common pid is in every language"));
        texts.insert(*language, own.collect());
    }
    let ids = pids.iter().map(u32::to_string).collect();
    Ok(Haystack { ids, texts, files, facts, digest: Digest::of("") })
}

/// Collections that are read at once: what is downloaded is bound by the network.
const AT_ONCE: usize = 4;

/// The samples of all languages, in the plan's order.
fn several(plan: &Plan, locator: &Locator<'_>, sampling: &Sampling) -> Vec<(Language, Result<(String, Sampled)>)> {
    let languages: Vec<Language> = plan.packs.iter().map(|(language, _)| *language).collect();
    let next = AtomicUsize::new(0);
    let done: Mutex<BTreeMap<usize, Result<(String, Sampled)>>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE.min(languages.len()) {
            scope.spawn(|| {
                while let Some((n, language)) =
                    Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|n| Some((n, *languages.get(n)?)))
                {
                    let made = sample(plan, locator, language, sampling);
                    done.lock().expect("no thread panics").insert(n, made);
                }
            });
        }
    });
    let done = done.into_inner().expect("no thread panics");
    done.into_iter().map(|(n, made)| (languages[n], made)).collect()
}

/// The sample of one language's collection: from the store where the pinned file was sampled before.
fn sample(plan: &Plan, locator: &Locator<'_>, language: Language, sampling: &Sampling) -> Result<(String, Sampled)> {
    let names = names(plan, language);
    let Some(pin) = pin(plan, locator, language)? else {
        let Place::Loose(path) = locator.place(None, &names)? else { fail!("no file of {language} is at hand") };
        let (reader, total) = open(&path)?;
        return stream(language, &own_name(&path), reader, total, sampling);
    };
    let store = Store::new(plan.options.out.join("store"));
    let Some(identity) = pin.identity() else {
        // Without a digest nothing may be made of it: downloading it whole says which lines pin it.
        return Err(match locator.fetcher.file(pin) {
            Err(e) => e,
            Ok(_) => Error::new(format!("{} is not pinned", pin.id)),
        });
    };
    let key = Key {
        stage: "sample",
        version: VERSION,
        params: json!({ "size": sampling.size, "key": sampling.key, "members": names }),
        inputs: vec![identity],
    };
    let name = file_name(pin);
    let sampled = store.get_or(&key, || {
        let sampling = Sampling { md5: pin.md5.is_some(), ..*sampling };
        let (mut reader, total): (Box<dyn Read + Send>, u64) = match locator.place(Some(pin), &names)? {
            Place::Loose(path) if is_archive(pin) => {
                let (reader, total) = open(&path)?;
                let (name, sampled) = stream(language, &own_name(&path), reader, total, &sampling)?;
                pin.check_member_digest(&name, sampled.bytes, sampled.sha256)?;
                return Ok(sampled);
            }
            Place::Loose(path) | Place::Whole(path) => open(&path).map(|(file, total)| (file as _, total))?,
            Place::Remote => (locator.fetcher.stream(pin)?, pin.bytes.unwrap_or_default()),
        };
        if !is_archive(pin) {
            let (_, sampled) = stream(language, &name, reader, total, &sampling)?;
            pin.check(sampled.bytes, sampled.sha256, sampled.md5.map(Md5))?;
            return Ok(sampled);
        }
        let mut hashing = PinnedReader::new(&mut reader, pin);
        let member = names.last().expect("a recipe names files");
        let sampling = Sampling { md5: false, ..sampling };
        let (_, mut sampled) = archive::with_tar_gz_member(&name, &mut hashing, member, |inner| {
            stream(language, member, inner, 0, &sampling)
        })?;
        (sampled.sha256, sampled.bytes) = hashing.finish()?;
        Ok(sampled)
    })?;
    Ok((name, sampled))
}

fn open(path: &Path) -> Result<(Box<dyn Read + Send>, u64)> {
    let file = File::open(path).map_err(|e| Error::io("cannot open", path, e))?;
    let total = file.metadata().map_err(|e| Error::io("cannot read", path, e))?.len();
    Ok((Box::new(file), total))
}

fn stream(
    language: Language,
    name: &str,
    reader: impl Read,
    total: u64,
    sampling: &Sampling,
) -> Result<(String, Sampled)> {
    let progress = Progress::new(&format!("sample {language}"), total, "bytes");
    let sampled = collection::sample(name, reader, sampling, |bytes| progress.add(bytes))?;
    progress.finish();
    Ok((name.to_owned(), sampled))
}

fn own_name(path: &Path) -> String {
    path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
}

fn is_archive(pin: &Pin) -> bool {
    [".gz", ".tgz", ".zip"].iter().any(|ending| file_name(pin).ends_with(ending))
}

fn contexts(plan: &Plan, locator: &Locator<'_>) -> Result<Haystack> {
    let mut facts = PassageFacts::default();
    let mut files = Vec::new();
    let mut read = Vec::new();
    for (language, _) in &plan.packs {
        let names = names(plan, *language);
        let (name, bytes) = json_file(locator, pin(plan, locator, *language)?, &names)?;
        files.push(SourceFile { name: name.clone(), bytes: bytes.len() as u64, sha256: Digest::of(&bytes) });
        let file = squad::read(&name, &bytes)?;
        count_dropped(&mut facts, &name, &file);
        read.push((language.to_string(), file));
    }
    let parallel = squad::parallel_paragraphs(&read);
    let width = parallel.len().max(1).to_string().len().max(4);
    let ids = (0..parallel.len()).map(|n| format!("p{n:0width$}")).collect();
    let mut texts: BTreeMap<Language, Vec<String>> = BTreeMap::new();
    for paragraph in parallel {
        for (language, _) in &plan.packs {
            let text = paragraph.by_language.get(language.code()).expect("a parallel paragraph is in every language");
            texts.entry(*language).or_default().push(text.clone());
        }
    }
    Ok(Haystack { ids, texts, files, facts, digest: Digest::of("") })
}

/// Adds what reading a file of questions dropped.
pub(super) fn count_dropped(facts: &mut PassageFacts, name: &str, file: &squad::File) {
    for dropped in &file.dropped {
        *facts.dropped.entry(name.to_owned()).or_default().entry(dropped.reason.to_owned()).or_default() += 1;
    }
}

/// The bytes of a JSON file: loose, the pinned file itself, or a member of the pinned zip; checked against its pin.
pub(super) fn json_file(locator: &Locator<'_>, pin: Option<&Pin>, names: &[String]) -> Result<(String, Vec<u8>)> {
    let read = |path: &Path| -> Result<Vec<u8>> {
        let about = std::fs::metadata(path).map_err(|e| Error::io("cannot read", path, e))?;
        if about.len() > MAX_JSON {
            fail!("{} has {} bytes: no file of questions is nearly as large", path.display(), about.len());
        }
        std::fs::read(path).map_err(|e| Error::io("cannot read", path, e))
    };
    let (path, loose) = match locator.place(pin, names)? {
        Place::Loose(path) => (path, true),
        Place::Whole(path) => (path, false),
        Place::Remote => (locator.fetcher.file(pin.expect("only a pin is remote"))?, false),
    };
    let Some(pin) = pin else { return Ok((own_name(&path), read(&path)?)) };
    if loose && is_archive(pin) {
        let bytes = read(&path)?;
        pin.check_member(&own_name(&path), &bytes)?;
        return Ok((own_name(&path), bytes));
    }
    pin.check_file(&path)?;
    if !own_name(&path).ends_with(".zip") {
        return Ok((names[0].clone(), read(&path)?));
    }
    let wanted = |member: &str| names.iter().any(|name| name == member);
    let mut members = archive::zip_members(&path, wanted, MAX_JSON)?;
    match members.pop() {
        Some(member) => Ok(member),
        None => Err(Error::new(format!("{} holds no {}", path.display(), names.join(" or ")))
            .help("source.files names the member of the archive, with {language} and {split}")),
    }
}
