//! Neural embeddings: a folder with an ONNX model, run by an ONNX Runtime that is loaded when it is needed.
//!
//! Floats differ between runtimes and processors, so these vectors are made once, rounded to small integers
//! and pinned ([`super::pinned`]). On one machine they are the same for any number of jobs and any order of
//! texts: each text is a run of its own, without padding, on one thread.

use super::Role;
use super::pinned::parameters_digest;
use crate::error::{Error, Result};
use crate::fail;
use crate::hash::Digest;
use crate::recipe::{Embedding as Settings, Pooling};
use crate::report::Progress;
use fastembed::{
    AutoDevicePolicy, InitOptionsUserDefined, QuantizationMode, TextEmbedding, TokenizerFiles,
    UserDefinedEmbeddingModel,
};
use ort::environment::Environment;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Length of a vector before rounding, as that of the n-gram embedder. A component is clipped where it exceeds
/// 127/512 of the length: none of multilingual-e5-small's on 2,800 sentences of seven languages, whose largest is
/// 0.204. Rounding moves one first place of 1,000 there; longer vectors gain less than their clipping loses. The
/// product of one vector with the sum of up to 40 others stays below 2^24, so that f32 adds it up exactly.
pub const NORM: f64 = 512.0;

/// What rounding is called in an [`Identity`]; changes whenever it makes other integers of the same floats.
const QUANTIZATION: &str = "i8 norm 512 v1";

/// What runs the model, as an [`Identity`] names it.
const ENGINE: &str = "fastembed 7.7";

/// A checked ONNX Runtime.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Runtime {
    /// The library file, in full and without links.
    pub path: PathBuf,
    /// Its version, such as `1.24.1`.
    pub version: String,
}

/// The way to a runtime, for every error about one.
fn get_one() -> String {
    format!(
        "the PyPI package onnxruntime, 1.{} or newer, holds it as onnxruntime/capi/libonnxruntime.so.<version>; unpack \
         it and give that file with --runtime FILE or in ORT_DYLIB_PATH",
        ort::MINOR_VERSION
    )
}

/// The ONNX Runtime in a given file, or else in the one that ORT_DYLIB_PATH names.
///
/// Everything that could make the bindings panic later is an error here: no file, no library, another
/// library, an old version.
pub fn runtime(given: Option<&Path>) -> Result<Runtime> {
    #[allow(clippy::disallowed_methods, reason = "where the runtime is shapes no output: its version is in the pin")]
    let named = || std::env::var_os("ORT_DYLIB_PATH").filter(|path| !path.is_empty()).map(PathBuf::from);
    let Some(path) = given.map(Path::to_owned).or_else(named) else {
        return Err(Error::new("this needs an ONNX Runtime, and none is given").help(get_one()));
    };
    // In full: a bare name would be looked up in the system's own folders.
    let full = path.canonicalize().map_err(|e| Error::io("cannot find the ONNX Runtime", &path, e).help(get_one()))?;
    if !full.is_file() {
        return Err(Error::new(format!("the ONNX Runtime {} is no file", path.display())).help(get_one()));
    }
    let version = library_version(&full).map_err(|e| e.help(get_one()))?;
    if !serves(&version) {
        let what = format!(
            "{} is ONNX Runtime {version}; version 1.{} or newer is needed, below 2",
            path.display(),
            ort::MINOR_VERSION
        );
        return Err(Error::new(what).help(get_one()));
    }
    Ok(Runtime { path: full, version })
}

/// Is this a version that the bindings can be used with? They look at the second number alone.
fn serves(version: &str) -> bool {
    let mut parts = version.split('.').map(str::parse::<u32>);
    parts.next() == Some(Ok(1)) && matches!(parts.next(), Some(Ok(minor)) if minor >= ort::MINOR_VERSION)
}

/// Loads a library and asks it for its version of ONNX Runtime.
#[allow(
    unsafe_code,
    reason = "a library that is loaded by path is foreign code, and the bindings panic on a wrong one"
)]
fn library_version(path: &Path) -> Result<String> {
    type Base = unsafe extern "C" fn() -> *const ort::sys::OrtApiBase;
    let other = || Error::new(format!("{} is a library, but not an ONNX Runtime", path.display()));
    // SAFETY: the person who names the file vouches for its code, as for any program. The function that is looked
    // up has this signature in every ONNX Runtime; what it returns is static, and checked for null before use.
    let (library, version) = unsafe {
        let library = libloading::Library::new(path)
            .map_err(|e| Error::new(format!("{} cannot be loaded as a library: {e}", path.display())))?;
        let base = {
            let get: libloading::Symbol<'_, Base> = library.get(b"OrtGetApiBase\0").map_err(|_| other())?;
            get()
        };
        if base.is_null() {
            return Err(other());
        }
        let text: *const c_char = ((*base).GetVersionString)();
        if text.is_null() {
            return Err(other());
        }
        let version = CStr::from_ptr(text).to_string_lossy().into_owned();
        // The bindings panic where a version that should serve this interface does not.
        if serves(&version) && ((*base).GetApi)(ort::sys::ORT_API_VERSION).is_null() {
            return Err(other());
        }
        (library, version)
    };
    // Once asked, the runtime may hold state of its own: it stays loaded, and loading it again is free.
    std::mem::forget(library);
    Ok(version)
}

/// The one runtime of this process: the bindings can load no second.
static STARTED: Mutex<Option<(PathBuf, Environment)>> = Mutex::new(None);

/// Starts the runtime, or finds it started.
fn start(runtime: &Runtime) -> Result<Environment> {
    let mut started = STARTED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some((path, environment)) = &*started {
        if *path != runtime.path {
            return Err(Error::new(format!(
                "the ONNX Runtime {} is running already, {} cannot be started beside it",
                path.display(),
                runtime.path.display()
            ))
            .help("name the same file everywhere"));
        }
        return Ok(environment.clone());
    }
    let fault = |e: String| Error::new(format!("cannot start the ONNX Runtime {}: {e}", runtime.path.display()));
    let made = catch_unwind(|| {
        let builder = ort::init_from(&runtime.path).map_err(|e| fault(e.to_string()))?;
        builder.with_telemetry(false).build().map_err(|e| fault(e.to_string()))
    });
    let environment = made.unwrap_or_else(|_| Err(fault("it breaks the bindings".to_owned())))?;
    *started = Some((runtime.path.clone(), environment.clone()));
    Ok(environment)
}

/// Everything that vectors depend on besides their texts; the parameters of a pin.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Identity {
    /// Name of the model's folder.
    pub model: String,
    /// Digests of the files read, by path inside the folder.
    pub files: BTreeMap<String, Digest>,
    /// How the model is used.
    pub settings: Settings,
    /// How floats became integers.
    pub quantization: String,
    /// Version of the ONNX Runtime.
    pub runtime: String,
    /// What ran the model.
    pub engine: String,
}

impl Identity {
    /// As the parameters of [`super::pinned::Pinned`].
    pub fn parameters(&self) -> serde_json::Value {
        serde_json::to_value(self).expect("an identity is plain data")
    }

    /// Digest of the parameters.
    pub fn digest(&self) -> Digest {
        parameters_digest(&self.parameters())
    }
}

/// The four files besides the model, in the order of [`TokenizerFiles`].
const TOKENIZER_FILES: [&str; 4] =
    ["tokenizer.json", "config.json", "special_tokens_map.json", "tokenizer_config.json"];

/// What a model folder must hold.
const FOLDER: &str = "a model folder holds model.onnx (or onnx/model.onnx), tokenizer.json, config.json, \
                      special_tokens_map.json and tokenizer_config.json";

/// An open model: one session a job.
pub struct Model {
    identity: Identity,
    sessions: Vec<Mutex<TextEmbedding>>,
    /// One thread a session. The tokenizer goes through rayon, which so finds a thread of its own and never
    /// waits for a pool of the caller's.
    threads: rayon::ThreadPool,
}

/// The bytes of a model folder.
struct Folder {
    name: String,
    model: Vec<u8>,
    /// Weights kept beside the model, by the name that it knows them by.
    weights: Vec<(String, Vec<u8>)>,
    tokenizer: TokenizerFiles,
    files: BTreeMap<String, Digest>,
}

impl Model {
    /// Opens the model in a folder with one session a job.
    ///
    /// Fails if a file is missing or unreadable, if the settings do not fit the model, or if another runtime
    /// is running in this process.
    pub fn open(folder: &Path, settings: &Settings, runtime: &Runtime, jobs: usize) -> Result<Model> {
        if settings.dimensions == 0 || settings.dimensions > super::pinned::MOST_DIMENSIONS {
            fail!("dimensions = {}: 1 to {} are possible", settings.dimensions, super::pinned::MOST_DIMENSIONS);
        }
        if settings.max_tokens < LEAST_TOKENS {
            fail!("max_tokens = {}: at least {LEAST_TOKENS} are needed", settings.max_tokens);
        }
        let files = Folder::read(folder)?;
        check_tokenizer_config(&files.tokenizer.tokenizer_config_file, settings)
            .map_err(|e| e.at(folder.join("tokenizer_config.json").display()))?;
        let environment = start(runtime)?;
        let jobs = jobs.max(1);
        let threads = crate::parallel::pool(jobs)?;
        let open = |_: rayon::BroadcastContext<'_>| {
            catch_unwind(AssertUnwindSafe(|| session(&files, settings, &environment)))
                .unwrap_or_else(|_| Err("it breaks the model's reader".to_owned()))
        };
        let sessions: std::result::Result<Vec<_>, String> =
            threads.broadcast(open).into_iter().map(|made| made.map(Mutex::new)).collect();
        let sessions = sessions
            .map_err(|e| Error::new(format!("the model in {} cannot be opened: {e}", folder.display())).help(FOLDER))?;
        let identity = Identity {
            model: files.name,
            files: files.files,
            settings: settings.clone(),
            quantization: QUANTIZATION.to_owned(),
            runtime: runtime.version.clone(),
            engine: ENGINE.to_owned(),
        };
        let model = Model { identity, sessions, threads };
        model.embed(Role::Passage, &["1"], "model").map_err(|e| e.at(folder.display()))?;
        Ok(model)
    }

    /// What the model's vectors depend on.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The vectors of texts, one after another, each of `dimensions` components of -127 to 127.
    ///
    /// Fails at the first text for which the model gives no vector, none of the right length, or numbers
    /// that are none. `label` names the work on the progress bar.
    pub fn embed(&self, role: Role, texts: &[&str], label: &str) -> Result<Vec<i8>> {
        let progress = Progress::new(label, texts.len() as u64, "texts");
        let made = self.each(texts, label, |session, text| {
            let made = session.embed([self.prefixed(role, text)], None).map_err(|e| Error::new(e.to_string()))?;
            let [floats] = made.as_slice() else {
                fail!("the model gave {} vectors for one text", made.len());
            };
            progress.add(1);
            quantize(floats, &self.identity.settings)
        });
        progress.finish();
        Ok(made?.concat())
    }

    /// How many of the texts are longer than the model reads, so that their ends do not count.
    pub fn truncated(&self, role: Role, texts: &[&str]) -> Result<usize> {
        let longer = self.each(texts, "tokens", |session, text| {
            let encoded = session.tokenizer.encode(self.prefixed(role, text), true);
            let encoded = encoded.map_err(|e| Error::new(format!("cannot tokenize: {e}")))?;
            Ok(!encoded.get_overflowing().is_empty())
        })?;
        Ok(longer.into_iter().filter(|&longer| longer).count())
    }

    fn prefixed(&self, role: Role, text: &str) -> String {
        let settings = &self.identity.settings;
        let prefix = match role {
            Role::Query => &settings.query_prefix,
            Role::Passage => &settings.passage_prefix,
        };
        format!("{prefix}{text}")
    }

    /// Does something with each text, on all sessions; results come in the order of the texts.
    fn each<T: Send>(
        &self,
        texts: &[&str],
        label: &str,
        work: impl Fn(&mut TextEmbedding, &str) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let next = AtomicUsize::new(0);
        // Texts before a failed one are finished, so that the error is the same for any number of jobs.
        let failed = AtomicUsize::new(usize::MAX);
        let parts = self.threads.broadcast(|thread| {
            let mut session = self.sessions[thread.index()].lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let mut part = Vec::new();
            loop {
                let n = next.fetch_add(1, Ordering::Relaxed);
                if n >= texts.len() || n > failed.load(Ordering::Relaxed) {
                    return part;
                }
                let done = catch_unwind(AssertUnwindSafe(|| work(&mut session, texts[n])))
                    .unwrap_or_else(|_| Err(Error::new("it breaks the model")));
                if done.is_err() {
                    failed.fetch_min(n, Ordering::Relaxed);
                }
                part.push((n, done));
            }
        });
        let mut all: Vec<(usize, Result<T>)> = parts.into_iter().flatten().collect();
        all.sort_unstable_by_key(|(n, _)| *n);
        let named = |(n, done): (usize, Result<T>)| done.map_err(|e| e.at(format!("text {} of {label}", n + 1)));
        all.into_iter().map(named).collect()
    }
}

/// Fewer tokens than this may leave no room beside a prefix and the special tokens.
const LEAST_TOKENS: u32 = 16;

impl Folder {
    fn read(folder: &Path) -> Result<Folder> {
        let mut files = BTreeMap::new();
        let mut read = |name: &str| -> Result<Vec<u8>> {
            let path = folder.join(name);
            let bytes = std::fs::read(&path).map_err(|e| Error::io("cannot read", &path, e).help(FOLDER))?;
            files.insert(name.to_owned(), Digest::of(&bytes));
            Ok(bytes)
        };
        let full =
            folder.canonicalize().map_err(|e| Error::io("cannot find the model folder", folder, e).help(FOLDER))?;
        let name = full.file_name().map_or_else(|| "model".to_owned(), |name| name.to_string_lossy().into_owned());
        let below =
            if folder.join("model.onnx").is_file() || !folder.join("onnx/model.onnx").is_file() { "" } else { "onnx/" };
        let model = read(&format!("{below}model.onnx"))?;
        let mut weights = Vec::new();
        for path in crate::store::sorted_dir(&folder.join(below))? {
            // Models above 2 GiB keep their weights in such a file.
            let file = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            if ["model.onnx_data", "model.onnx.data"].contains(&file.as_str()) {
                weights.push((file.clone(), read(&format!("{below}{file}"))?));
            }
        }
        let [tokenizer_file, config_file, special_tokens_map_file, tokenizer_config_file] = TOKENIZER_FILES;
        let tokenizer = TokenizerFiles {
            tokenizer_file: read(tokenizer_file)?,
            config_file: read(config_file)?,
            special_tokens_map_file: read(special_tokens_map_file)?,
            tokenizer_config_file: read(tokenizer_config_file)?,
        };
        Ok(Folder { name, model, weights, tokenizer, files })
    }
}

/// The tokenizer would silently read less than the settings say.
fn check_tokenizer_config(bytes: &[u8], settings: &Settings) -> Result<()> {
    let config: serde_json::Value = serde_json::from_slice(bytes).map_err(|e| Error::new(format!("not JSON: {e}")))?;
    let Some(most) = config["model_max_length"].as_f64() else {
        fail!("model_max_length is no number");
    };
    if most < f64::from(settings.max_tokens) {
        return Err(Error::new(format!("max_tokens = {}, but the model reads only {most}", settings.max_tokens))
            .help(format!("set max_tokens = {most} or less")));
    }
    Ok(())
}

/// One session on one thread.
fn session(
    files: &Folder,
    settings: &Settings,
    environment: &Environment,
) -> std::result::Result<TextEmbedding, String> {
    let pooling = match settings.pooling {
        Pooling::Mean => fastembed::Pooling::Mean,
        Pooling::Cls => fastembed::Pooling::Cls,
    };
    // Each run has one text, so that a model whose ranges depend on the batch serves as well.
    let mut model = UserDefinedEmbeddingModel::new(files.model.clone(), files.tokenizer.clone())
        .with_quantization(QuantizationMode::None)
        .with_pooling(pooling);
    for (name, bytes) in &files.weights {
        model = model.with_external_initializer(name.clone(), bytes.clone());
    }
    let options = InitOptionsUserDefined::new()
        .with_environment(environment.clone())
        .with_max_length(settings.max_tokens as usize)
        .with_intra_threads(1)
        // Another device would add in another order.
        .with_auto_device(AutoDevicePolicy::PreferCPU);
    TextEmbedding::try_new_from_user_defined(model, options).map_err(|e| e.to_string())
}

/// A vector of length 1 as integers.
fn quantize(floats: &[f32], settings: &Settings) -> Result<Vec<i8>> {
    if floats.len() != settings.dimensions as usize {
        return Err(Error::new(format!(
            "the model gives vectors of {} dimensions, its settings say {}",
            floats.len(),
            settings.dimensions
        ))
        .help(format!("name the model that the settings are for, or set dimensions = {}", floats.len())));
    }
    let square: f64 = floats.iter().map(|x| f64::from(*x) * f64::from(*x)).sum();
    // Also false where a component is no number.
    let unit = (0.99..1.01).contains(&square);
    if !unit {
        return Err(Error::new(format!(
            "the model gives a vector of length {}, which has no direction",
            square.sqrt()
        ))
        .help("its files may be damaged, or its pooling another"));
    }
    // `round` goes half away from zero.
    Ok(floats.iter().map(|x| (f64::from(*x) * NORM).round().clamp(-127.0, 127.0) as i8).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(dimensions: u32) -> Settings {
        Settings {
            model: "test".to_owned(),
            pooling: Pooling::Mean,
            query_prefix: String::new(),
            passage_prefix: String::new(),
            max_tokens: 512,
            dimensions,
        }
    }

    #[test]
    fn floats_become_integers() {
        // Halves go away from zero, large components are clipped.
        let half = 2.5f32 / 512.0;
        let rest = (1.0 - 2.0 * half * half).sqrt();
        assert_eq!(quantize(&[half, -half, rest], &settings(3)).unwrap(), [3, -3, 127]);
        assert_eq!(quantize(&[half, -half, -rest], &settings(3)).unwrap(), [3, -3, -127]);
    }

    #[test]
    fn what_is_no_vector_is_refused() {
        for wrong in [[f32::NAN, 0.0], [f32::INFINITY, 0.0], [0.0, 0.0], [3.0, 4.0]] {
            let error = quantize(&wrong, &settings(2)).unwrap_err().to_string();
            assert!(error.contains("no direction"), "{error}");
        }
        let error = quantize(&[1.0, 0.0], &settings(3)).unwrap_err().to_string();
        assert!(error.contains("2 dimensions") && error.contains("say 3"), "{error}");
    }

    #[test]
    fn versions_are_compared_as_numbers() {
        assert!(["1.24.0", "1.24", "1.100.2", "1.25.0-dev"].into_iter().all(serves));
        assert!(!["1.23.9", "0.99.0", "2.30.0", "1", "", "1.x", "one.24"].into_iter().any(serves));
    }

    #[test]
    fn settings_beyond_the_tokenizer_are_refused() {
        let config = br#"{"model_max_length": 256, "pad_token": "<pad>"}"#;
        let error = check_tokenizer_config(config, &settings(3)).unwrap_err().to_string();
        assert!(error.contains("reads only 256"), "{error}");
        check_tokenizer_config(br#"{"model_max_length": 1e30}"#, &settings(3)).unwrap();
        check_tokenizer_config(b"{}", &settings(3)).unwrap_err();
        check_tokenizer_config(b"\xff", &settings(3)).unwrap_err();
    }
}
