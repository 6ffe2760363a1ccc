//! Neural embeddings with a real model, and pins of them.

use nihbuild::embedder::pinned::{self, Pinned};
use nihbuild::hash::Digest;
use std::path::{Path, PathBuf};

/// A pin of three vectors of four components.
fn small() -> (Vec<String>, Vec<Digest>, Pinned) {
    let ids = ["q-1", "q-2", "\u{e9}t\u{e9}"].map(str::to_owned).to_vec();
    let texts = ["who?", "where?", "when?"].map(Digest::of).to_vec();
    let vectors = vec![1, -2, 127, -127, 0, 0, 0, 1, 100, -100, 5, -5];
    let parameters = serde_json::json!({ "model": "m", "settings": { "b": 1, "a": [true, null] } });
    (ids, texts, Pinned { dimensions: 4, vectors, parameters })
}

fn written(folder: &Path, parameters: serde_json::Value) -> PathBuf {
    let (ids, texts, mut pin) = small();
    pin.parameters = parameters;
    let name = pinned::file_name(&pinned::inputs_digest(&texts), &pinned::parameters_digest(&pin.parameters));
    let path = folder.join(name);
    pinned::write(&path, &ids, &texts, &pin).unwrap();
    path
}

#[test]
fn a_pin_is_read_as_it_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pins/one.parquet");
    let (ids, texts, pin) = small();
    let digest = pinned::write(&path, &ids, &texts, &pin).unwrap();
    assert_eq!(digest, Digest::of(std::fs::read(&path).unwrap()));
    assert_eq!(pinned::read(&path).unwrap(), (ids.clone(), texts.clone(), pin.clone()));

    // The same bytes again, whatever the order of keys in the parameters.
    let again = folder.path().join("two.parquet");
    let parameters: serde_json::Value =
        serde_json::from_str(r#"{ "settings": { "a": [true, null], "b": 1 }, "model": "m" }"#).unwrap();
    assert_eq!(pinned::parameters_digest(&parameters), pinned::parameters_digest(&pin.parameters));
    assert_eq!(pinned::write(&again, &ids, &texts, &Pinned { parameters, ..pin }).unwrap(), digest);
}

#[test]
fn a_pin_of_many_rows_spans_groups() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("many.parquet");
    let n = 40_001;
    let ids: Vec<String> = (0..n).map(|i| format!("p{i}")).collect();
    let texts: Vec<Digest> = ids.iter().map(Digest::of).collect();
    let vectors: Vec<i8> = (0..3 * n).map(|i| (i * 7919 % 255 - 127) as i8).collect();
    let pin = Pinned { dimensions: 3, vectors, parameters: serde_json::json!({}) };
    pinned::write(&path, &ids, &texts, &pin).unwrap();
    assert_eq!(pinned::read(&path).unwrap(), (ids, texts, pin));
}

#[test]
fn an_empty_pin_and_misfits() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none.parquet");
    let none = Pinned { dimensions: 4, vectors: vec![], parameters: serde_json::json!(null) };
    pinned::write(&path, &[], &[], &none).unwrap();
    assert_eq!(pinned::read(&path).unwrap(), (vec![], vec![], none.clone()));

    let (ids, texts, pin) = small();
    let refused = |ids: &[String], texts: &[Digest], pin: &Pinned, said: &str| {
        let error = pinned::write(&path, ids, texts, pin).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    };
    refused(&ids[1..], &texts, &pin, "cannot be pinned together");
    refused(&ids, &texts[1..], &pin, "cannot be pinned together");
    refused(&ids, &texts, &Pinned { dimensions: 5, ..pin.clone() }, "cannot be pinned together");
    refused(&ids, &texts, &Pinned { dimensions: 0, ..pin.clone() }, "0 dimensions");
    let low = Pinned { vectors: vec![-128; 12], ..pin };
    refused(&ids, &texts, &low, "-128");
}

#[test]
fn a_changed_pin_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (ids, texts, pin) = small();
    let path = written(folder.path(), pin.parameters.clone());
    let bytes = std::fs::read(&path).unwrap();
    let mut refused = 0;
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (at % 8);
        std::fs::write(&path, &changed).unwrap();
        // Some bytes, such as the writer's name, carry nothing: what is read is the same then.
        match pinned::read(&path) {
            Ok(read) => assert_eq!(read, (ids.clone(), texts.clone(), pin.clone()), "byte {at}"),
            Err(e) => {
                refused += 1;
                assert!(e.to_string().contains(&path.display().to_string()), "{e}");
            }
        }
        // Metadata alone must not break it either.
        pinned::find(&[folder.path().to_owned()], &pinned::inputs_digest(&texts), |_| true).unwrap();
    }
    assert!(refused * 10 > bytes.len() * 6, "{refused} of {} changes were refused", bytes.len());
    for cut in [0, 3, bytes.len() / 2, bytes.len() - 1] {
        std::fs::write(&path, &bytes[..cut]).unwrap();
        let error = pinned::read(&path).unwrap_err().to_string();
        assert!(error.contains("help: fetch the file again"), "{error}");
    }
}

#[test]
fn pins_are_found_by_inputs_and_parameters() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (folder.path().join("first"), folder.path().join("second"));
    let version = |n: u32| serde_json::json!({ "version": n });
    let one = written(&first, version(1));
    let two = written(&second, version(2));
    let twin = written(&second, version(1));
    let (_, texts, _) = small();
    let inputs = pinned::inputs_digest(&texts);
    let folders = [folder.path().join("missing"), first.clone(), second.clone()];
    let find = |folders: &[PathBuf], n: u32| pinned::find(folders, &inputs, |p| p["version"] == n).unwrap();
    assert_eq!(find(&folders, 1), Some(one.clone()));
    assert_eq!(find(&folders, 2), Some(two));
    assert_eq!(find(&folders, 3), None);
    assert_eq!(pinned::find(&folders, &Digest::of("other"), |_| true).unwrap(), None);

    // A file that is no pin, and a pin of other texts under this name, are passed over.
    std::fs::write(&one, "no Parquet").unwrap();
    assert_eq!(find(&folders, 1), Some(twin.clone()));
    let (ids, mut texts, pin) = small();
    texts.swap(0, 1);
    pinned::write(&one, &ids, &texts, &Pinned { parameters: version(1), ..pin }).unwrap();
    assert_eq!(find(&folders, 1), Some(twin));
}

#[cfg(feature = "embed")]
mod model {
    use crate::support::real_data;
    use nihbuild::embedder::Role;
    use nihbuild::embedder::dot;
    use nihbuild::embedder::onnx::{Identity, Model, Runtime, runtime};
    use nihbuild::recipe::{Embedding as Settings, Pooling};
    use std::path::{Path, PathBuf};
    use std::process::Command;
    use std::sync::OnceLock;

    const DIMENSIONS: usize = 384;

    fn settings() -> Settings {
        Settings {
            model: "multilingual-e5-small-q4".to_owned(),
            pooling: Pooling::Mean,
            query_prefix: "query: ".to_owned(),
            passage_prefix: "passage: ".to_owned(),
            max_tokens: 512,
            dimensions: DIMENSIONS as u32,
        }
    }

    /// Runtime and model folder, or a word on stderr that the test is skipped.
    fn installed(test: &str) -> Option<(Runtime, PathBuf)> {
        let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/models");
        #[allow(clippy::disallowed_methods, reason = "tests may look where the models are")]
        let models = std::env::var_os("NIHBUILD_MODELS").map_or_else(beside, PathBuf::from);
        let folder = models.join("multilingual-e5-small-q4");
        if !folder.is_dir() {
            eprintln!("skipped: no model for {test}");
            return None;
        }
        #[allow(clippy::disallowed_methods, reason = "tests may look where the runtime is")]
        if std::env::var_os("ORT_DYLIB_PATH").is_none_or(|path| path.is_empty()) {
            eprintln!("skipped: no ONNX Runtime for {test}: ORT_DYLIB_PATH is not set");
            return None;
        }
        Some((runtime(None).unwrap(), folder))
    }

    /// One model of two jobs for all tests.
    fn shared(test: &str) -> Option<&'static Model> {
        static MODEL: OnceLock<Option<Model>> = OnceLock::new();
        let open = || installed(test).map(|(runtime, folder)| Model::open(&folder, &settings(), &runtime, 2).unwrap());
        let model = MODEL.get_or_init(open).as_ref();
        if model.is_none() {
            eprintln!("skipped: {test}");
        }
        model
    }

    const TEXTS: [&str; 8] = [
        "The cat sat on the mat.",
        "Die Katze sa\u{df} auf der Matte.",
        "",
        "Rivers carry sand and stones from the mountains to the sea, and leave them where the water slows down.",
        "42",
        "\u{732b}\u{5750}\u{5728}\u{57ab}\u{5b50}\u{4e0a}\u{3002}",
        "  spaces  and\nlines\t",
        "The cat sat on the mat.",
    ];

    #[test]
    fn vectors_do_not_depend_on_jobs_order_or_batch() {
        let Some(model) = shared("vectors_do_not_depend_on_jobs_order_or_batch") else { return };
        let all = model.embed(Role::Passage, &TEXTS, "test").unwrap();
        assert_eq!(all.len(), TEXTS.len() * DIMENSIONS);
        assert_eq!(all[..DIMENSIONS], all[7 * DIMENSIONS..]);
        assert_eq!(model.embed(Role::Passage, &TEXTS, "test").unwrap(), all);
        let rows = |vectors: &[i8]| vectors.chunks(DIMENSIONS).map(<[i8]>::to_vec).collect::<Vec<_>>();
        let mut backwards = TEXTS;
        backwards.reverse();
        let mut reversed = rows(&model.embed(Role::Passage, &backwards, "test").unwrap());
        reversed.reverse();
        assert_eq!(reversed, rows(&all));
        let (runtime, folder) = installed("").unwrap();
        let single = Model::open(&folder, &settings(), &runtime, 1).unwrap();
        for (text, row) in TEXTS.iter().zip(rows(&all)) {
            assert_eq!(single.embed(Role::Passage, &[text], "test").unwrap(), row, "{text}");
        }
        assert_eq!(single.identity(), model.identity());
        assert_eq!(model.embed(Role::Query, &[], "test").unwrap(), Vec::<i8>::new());
    }

    #[test]
    fn vectors_have_the_length_and_no_component_is_extreme() {
        let Some(model) = shared("vectors_have_the_length_and_no_component_is_extreme") else { return };
        let all = model.embed(Role::Query, &TEXTS, "test").unwrap();
        for vector in all.chunks(DIMENSIONS) {
            let length = f64::from(dot(vector, vector)).sqrt();
            assert!((500.0..524.0).contains(&length), "{length}");
            assert!(!vector.contains(&i8::MIN));
        }
    }

    #[test]
    fn parallel_sentences_are_nearest() {
        let Some(data) = real_data("parallel_sentences_are_nearest") else { return };
        let Some(model) = shared("parallel_sentences_are_nearest") else { return };
        const N: usize = 12;
        let embedded = ["eng_Latn", "deu_Latn", "zho_Hans"].map(|code| {
            let text = std::fs::read_to_string(data.join(format!("flores200/devtest/{code}.devtest"))).unwrap();
            let lines: Vec<&str> = text.lines().take(N).collect();
            assert_eq!(lines.len(), N);
            let queries = model.embed(Role::Query, &lines, "queries").unwrap();
            let passages = model.embed(Role::Passage, &lines, "passages").unwrap();
            assert_ne!(queries, passages, "prefixes matter");
            (queries, passages)
        });
        for (a, (queries, _)) in embedded.iter().enumerate() {
            for (b, (_, passages)) in embedded.iter().enumerate() {
                let nearest = queries.chunks(DIMENSIONS).map(|query| {
                    let scores = passages.chunks(DIMENSIONS).map(|passage| dot(query, passage));
                    scores.enumerate().max_by_key(|(n, score)| (*score, std::cmp::Reverse(*n))).unwrap().0
                });
                assert_eq!(nearest.collect::<Vec<_>>(), (0..N).collect::<Vec<_>>(), "{a} to {b}");
            }
        }
    }

    #[test]
    fn long_texts_are_cut_and_counted() {
        let Some(model) = shared("long_texts_are_cut_and_counted") else { return };
        let long = "one two three four ".repeat(400);
        let longer = format!("{long} five six seven");
        let texts = [long.as_str(), "short", longer.as_str()];
        assert_eq!(model.truncated(Role::Passage, &texts).unwrap(), 2);
        let all = model.embed(Role::Passage, &texts, "test").unwrap();
        assert_eq!(all[..DIMENSIONS], all[2 * DIMENSIONS..], "what is cut off does not count");
    }

    #[test]
    fn an_identity_names_all_that_matters() {
        let Some(model) = shared("an_identity_names_all_that_matters") else { return };
        let (runtime, folder) = installed("").unwrap();
        let identity = model.identity();
        assert_eq!(identity.model, "multilingual-e5-small-q4");
        assert_eq!(identity.runtime, runtime.version);
        assert_eq!(identity.settings, settings());
        let files: Vec<&str> = identity.files.keys().map(String::as_str).collect();
        let expected =
            ["config.json", "model.onnx", "special_tokens_map.json", "tokenizer.json", "tokenizer_config.json"];
        assert_eq!(files, expected);
        for (name, digest) in &identity.files {
            assert_eq!(*digest, nihbuild::hash::Digest::of_file(&folder.join(name)).unwrap().0);
        }
        let read: Identity = serde_json::from_value(identity.parameters()).unwrap();
        assert_eq!(read, *identity);
        assert_eq!(read.digest(), identity.digest());
        assert_ne!(Identity { runtime: "1.99.0".to_owned(), ..read }.digest(), identity.digest());
        let lock = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.lock")).unwrap();
        let locked =
            format!("name = \"fastembed\"\nversion = \"{}.", identity.engine.strip_prefix("fastembed ").unwrap());
        assert!(lock.contains(&locked), "the engine's name must follow Cargo.lock");
    }

    #[test]
    fn a_model_that_does_not_fit_is_refused() {
        let Some((runtime, folder)) = installed("a_model_that_does_not_fit_is_refused") else { return };
        shared("a_model_that_does_not_fit_is_refused").unwrap();
        let refused = |folder: &Path, settings: Settings, runtime: &Runtime, said: &[&str]| {
            let error = Model::open(folder, &settings, runtime, 1).err().expect("an error").to_string();
            said.iter().for_each(|word| assert!(error.contains(word), "expected {word:?} in: {error}"));
        };
        let other = Settings { dimensions: 512, ..settings() };
        refused(&folder, other, &runtime, &["384 dimensions", "say 512", "set dimensions = 384"]);
        refused(&folder, Settings { dimensions: 0, ..settings() }, &runtime, &["dimensions = 0"]);
        refused(&folder, Settings { max_tokens: 513, ..settings() }, &runtime, &["reads only 512", "tokenizer_config"]);
        refused(&folder, Settings { max_tokens: 2, ..settings() }, &runtime, &["at least 16"]);
        let elsewhere = Runtime { path: "/elsewhere/libonnxruntime.so".into(), version: "1.99.0".to_owned() };
        refused(&folder, settings(), &elsewhere, &["is running already", "/elsewhere"]);

        // Folders that lack a file, hold a wrong one, or do not exist.
        let bench = crate::support::Bench::new();
        refused(&bench.path("none"), settings(), &runtime, &["none", "a model folder holds model.onnx"]);
        let empty = bench.path("model");
        std::fs::create_dir(&empty).unwrap();
        refused(&empty, settings(), &runtime, &["model.onnx", "a model folder holds"]);
        bench.write("model/onnx/model.onnx", "no model");
        for name in ["tokenizer.json", "config.json", "special_tokens_map.json", "tokenizer_config.json"] {
            refused(&empty, settings(), &runtime, &[name, "a model folder holds"]);
            std::fs::copy(folder.join(name), empty.join(name)).unwrap();
        }
        refused(&empty, settings(), &runtime, &["cannot be opened"]);
        bench.write("model/tokenizer.json", "{}");
        refused(&empty, settings(), &runtime, &["cannot be opened"]);
    }

    /// A library made of a line of C, or a word on stderr that a part of the test is skipped.
    fn library(bench: &crate::support::Bench, name: &str, source: &str) -> Option<PathBuf> {
        let (source, made) = (bench.write(&format!("{name}.c"), source), bench.path(&format!("lib{name}.so")));
        let done = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&made).arg(&source).status();
        if !done.is_ok_and(|status| status.success()) {
            eprintln!("skipped: no C compiler for the library {name}");
            return None;
        }
        Some(made)
    }

    #[test]
    fn what_is_no_runtime_is_refused() {
        let bench = crate::support::Bench::new();
        let refused = |path: &Path, said: &str| {
            let error = runtime(Some(path)).unwrap_err().to_string();
            for word in [said, "--runtime FILE", "ORT_DYLIB_PATH", "PyPI", "1.24"] {
                assert!(error.contains(word), "expected {word:?} in: {error}");
            }
        };
        refused(&bench.path("missing.so"), "cannot find the ONNX Runtime");
        refused(bench.dir.path(), "is no file");
        refused(&bench.write("text.so", "This is no library, but a text.\n"), "cannot be loaded as a library");
        refused(&bench.write("empty.so", ""), "cannot be loaded as a library");
        let other = "is a library, but not an ONNX Runtime";
        if let Some(path) = library(&bench, "other", "int answer(void) { return 42; }") {
            refused(&path, other);
        }
        if let Some(path) = library(&bench, "null", "void *OrtGetApiBase(void) { return 0; }") {
            refused(&path, other);
        }
        // The interface: a function for a version's functions, and one for the version's name.
        let fake = |version: &str| {
            format!(
                "static const void *api(unsigned n) {{ return 0; }}\nstatic const char *version(void) {{ return {version}; }}\n\
                 static const struct {{ const void *(*api)(unsigned); const char *(*version)(void); }} base = {{ api, version }};\n\
                 const void *OrtGetApiBase(void) {{ return &base; }}\n"
            )
        };
        let old = "version 1.24 or newer is needed";
        for (name, version, said) in [
            ("old", "\"1.23.2\"", old),
            ("older", "\"0.99.0\"", old),
            ("newer", "\"2.30.0\"", old),
            ("odd", "\"new\"", old),
            ("liar", "\"1.30.0\"", other),
            ("mute", "0", other),
        ] {
            if let Some(path) = library(&bench, name, &fake(version)) {
                refused(&path, said);
            }
        }
    }
}
