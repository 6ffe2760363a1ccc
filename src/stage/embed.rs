//! Turns texts into vectors. Those of a neural model are pinned: looked for first, computed only where none are there.

use crate::embedder::{Role, ngram, pinned};
use crate::error::{Error, Result};
use crate::hash::Digest;
use crate::plan::Plan;
use crate::recipe::EmbedderName;
use crate::source::locate;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Texts to embed.
pub struct Texts<'a> {
    /// What they are, for people: `passages de`.
    pub what: String,
    /// Their side of the comparison.
    pub role: Role,
    /// An id each.
    pub ids: Vec<String>,
    /// The texts.
    pub texts: Vec<&'a str>,
}

/// Vectors of texts, one after the other.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Vectors {
    /// Components of each.
    pub dimensions: usize,
    /// All components.
    pub data: Vec<i8>,
}

impl Vectors {
    /// One text's vector.
    pub fn of(&self, n: usize) -> &[i8] {
        &self.data[n * self.dimensions..(n + 1) * self.dimensions]
    }

    /// Digest of the components.
    pub fn digest(&self) -> Digest {
        // i8 and u8 have the same bytes.
        let bytes: Vec<u8> = self.data.iter().map(|c| *c as u8).collect();
        Digest::of_parts([(self.dimensions as u64).to_le_bytes().as_slice(), &bytes])
    }
}

/// A file of pinned vectors, as the manifest names it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PinFile {
    /// Path inside the release.
    pub path: String,
    /// What it holds.
    pub what: String,
    /// Its size.
    pub bytes: u64,
    /// Digest of its bytes.
    pub sha256: Digest,
}

/// Where vectors of a neural model come from, and which were used.
pub struct Pins<'a> {
    plan: &'a Plan,
    /// Never look for pins, never keep any: to see what a model gives today.
    fresh: bool,
    used: Vec<(PinFile, PathBuf)>,
    /// All vectors that were given, if they are to be remembered.
    seen: Option<Vec<Vectors>>,
    #[cfg(feature = "embed")]
    model: Option<crate::embedder::onnx::Model>,
}

/// Folder of pinned vectors, in a release and in the store.
const FOLDER: &str = "pins/embed";

impl<'a> Pins<'a> {
    /// Pins of a plan.
    pub fn new(plan: &'a Plan) -> Pins<'a> {
        Pins {
            plan,
            fresh: false,
            used: Vec::new(),
            seen: None,
            #[cfg(feature = "embed")]
            model: None,
        }
    }

    /// Computes everything anew.
    pub fn fresh(plan: &'a Plan) -> Pins<'a> {
        Pins { fresh: true, ..Pins::new(plan) }
    }

    /// These, and those that were used under an earlier plan of the same build.
    pub fn with(mut self, earlier: Pins<'_>) -> Pins<'a> {
        self.used.extend(earlier.used);
        self
    }

    /// Lets go of the model, which holds hundreds of megabytes.
    pub fn close(&mut self) {
        #[cfg(feature = "embed")]
        {
            self.model = None;
        }
    }

    /// Remembers all vectors that it gives.
    pub fn remembering(self) -> Pins<'a> {
        Pins { seen: Some(Vec::new()), ..self }
    }

    /// The remembered vectors, in the order of asking.
    pub fn seen(&self) -> &[Vectors] {
        self.seen.as_deref().unwrap_or_default()
    }

    /// The pins that were used, in the order of use.
    pub fn files(&self) -> impl Iterator<Item = &PinFile> {
        self.used.iter().map(|(file, _)| file)
    }

    /// The same with the places of their bytes.
    pub fn used(&self) -> Vec<(PinFile, PathBuf)> {
        self.used.clone()
    }

    /// The vectors of texts: of the embedded embedder computed, of a model taken from its pin if there is one.
    pub fn vectors(&mut self, texts: &Texts<'_>) -> Result<Vectors> {
        let vectors = match self.plan.recipe.retrieval.embedder {
            EmbedderName::Ngram => grams(&texts.texts),
            EmbedderName::Onnx if self.fresh => self.compute(texts)?.0,
            EmbedderName::Onnx => self.pinned(texts)?,
        };
        if let Some(seen) = &mut self.seen {
            seen.push(vectors.clone());
        }
        Ok(vectors)
    }

    /// Folders in which pins are looked for: those given, the release itself, the store.
    fn folders(&self) -> Vec<PathBuf> {
        let options = &self.plan.options;
        let mut folders: Vec<PathBuf> = options.pins.iter().map(|folder| folder.join("embed")).collect();
        folders.push(self.plan.folder().join(FOLDER));
        folders.push(options.out.join("store").join(FOLDER));
        folders
    }

    fn find(&self, texts: &Texts<'_>) -> Result<Option<PathBuf>> {
        let wanted = serde_json::to_value(&self.plan.recipe.embedding).expect("plain data");
        let local = locate::local_model(self.plan);
        let accept = |parameters: &serde_json::Value| {
            parameters.get("settings") == Some(&wanted) && local.as_ref().is_none_or(|folder| same(parameters, folder))
        };
        pinned::find(&self.folders(), &inputs(texts), accept)
    }

    fn pinned(&mut self, texts: &Texts<'_>) -> Result<Vectors> {
        let path = match self.find(texts)? {
            Some(path) => path,
            None => {
                let (vectors, parameters) = self.compute(texts)?;
                let digest = pinned::parameters_digest(&parameters);
                let folder = self.plan.options.out.join("store").join(FOLDER);
                let path = folder.join(pinned::file_name(&inputs(texts), &digest));
                let pinned = pinned::Pinned { dimensions: vectors.dimensions, vectors: vectors.data, parameters };
                pinned::write(&path, &texts.ids, &digests(texts), &pinned)?;
                path
            }
        };
        // Read back even when just written: what a release is made of is what its pin holds.
        let (_, found, pinned) = pinned::read(&path)?;
        let dimensions = self.plan.recipe.embedding.dimensions as usize;
        if found != digests(texts) || pinned.dimensions != dimensions {
            return Err(Error::new(format!("{} holds the vectors of other texts or of another model", path.display()))
                .help("remove the file: it will be made anew"));
        }
        let (sha256, bytes) = Digest::of_file(&path)?;
        let name = path.file_name().expect("a pin has a name").to_string_lossy();
        let file = PinFile { path: format!("{FOLDER}/{name}"), what: texts.what.clone(), bytes, sha256 };
        if !self.used.iter().any(|(used, _)| used.path == file.path) {
            self.used.push((file, path));
        }
        Ok(Vectors { dimensions, data: pinned.vectors })
    }

    #[cfg(feature = "embed")]
    fn compute(&mut self, texts: &Texts<'_>) -> Result<(Vectors, serde_json::Value)> {
        use crate::embedder::onnx;
        let plan = self.plan;
        let settings = &plan.recipe.embedding;
        if self.model.is_none() {
            let runtime = onnx::runtime(plan.options.runtime.as_deref())?;
            let folder = locate::model(plan)?;
            self.model = Some(onnx::Model::open(&folder, settings, &runtime, plan.options.jobs)?);
        }
        let model = self.model.as_ref().expect("just opened");
        let data = model.embed(texts.role, &texts.texts, &texts.what)?;
        Ok((Vectors { dimensions: settings.dimensions as usize, data }, model.identity().parameters()))
    }

    #[cfg(not(feature = "embed"))]
    fn compute(&mut self, texts: &Texts<'_>) -> Result<(Vectors, serde_json::Value)> {
        Err(Error::new(format!(
            "no pinned vectors of {} are there, and this program was built without models",
            texts.what
        ))
        .help("give the folder of the pins with --pins DIR, or build the program with the feature `embed`"))
    }
}

/// Are a pin's model files those of a folder? A folder that differs is another model under the same name.
fn same(parameters: &serde_json::Value, folder: &Path) -> bool {
    let files = parameters.get("files").and_then(|files| files.as_object());
    files.is_some_and(|files| {
        files.iter().all(|(name, digest)| {
            let found = Digest::of_file(&folder.join(name));
            found.is_ok_and(|(found, _)| digest.as_str() == Some(&found.to_string()))
        })
    })
}

/// Digest of a text as it is embedded: a pin does not depend on ids.
pub fn text_digest(role: Role, text: &str) -> Digest {
    let role: &[u8] = match role {
        Role::Query => b"query",
        Role::Passage => b"passage",
    };
    Digest::of_parts([role, text.as_bytes()])
}

fn digests(texts: &Texts<'_>) -> Vec<Digest> {
    texts.texts.par_iter().map(|text| text_digest(texts.role, text)).collect()
}

fn inputs(texts: &Texts<'_>) -> Digest {
    pinned::inputs_digest(&digests(texts))
}

/// The vectors of the embedded embedder.
pub fn grams(texts: &[&str]) -> Vectors {
    let mut data = vec![0i8; texts.len() * ngram::DIMENSIONS];
    data.par_chunks_mut(ngram::DIMENSIONS).zip(texts).for_each(|(vector, text)| ngram::embed(text, vector));
    Vectors { dimensions: ngram::DIMENSIONS, data }
}
