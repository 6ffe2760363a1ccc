//! Tokenizer files: small ones of our own making, and the real ones of the folder `NIHBUILD_TOKENIZERS`.

use nihbuild::tokenizer::Tokenizer;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use tempfile::TempDir;

/// A folder for tokenizer files.
pub struct Folder(TempDir);

impl Folder {
    pub fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn open(&self, name: &str, file: &Value) -> Tokenizer {
        self.open_text(name, &file.to_string()).unwrap()
    }

    /// The message with which a file is refused.
    pub fn refuse(&self, file: &Value) -> String {
        self.refuse_text(&file.to_string())
    }

    pub fn refuse_text(&self, file: &str) -> String {
        self.open_text("refused", file).expect_err("it was read").to_string()
    }

    pub fn open_text(&self, name: &str, file: &str) -> nihbuild::error::Result<Tokenizer> {
        let path = self.path().join("tokenizer.json");
        std::fs::write(&path, file).unwrap();
        Tokenizer::open(name, &path)
    }
}

/// Every real tokenizer file, read once; says so if there is none.
pub fn real() -> &'static [Tokenizer] {
    static REAL: LazyLock<Vec<Tokenizer>> = LazyLock::new(|| {
        let Some(folder) = folder() else {
            println!("skipped: NIHBUILD_TOKENIZERS names no folder with real tokenizers");
            return Vec::new();
        };
        let names = ["llama2", "llama3", "llama3_1", "qwen3", "gemma3", "deepseek_v3", "gptoss", "tekken"];
        let path = |name: &str| Path::new(&folder).join(name);
        let file = |name: &str| [path(name).join("tokenizer.json"), path(name).join("tekken.json")];
        let found = names.iter().filter_map(|name| Some((name, file(name).into_iter().find(|path| path.exists())?)));
        found.map(|(name, path)| Tokenizer::open(name, &path).unwrap()).collect()
    });
    &REAL
}

/// The folder of real tokenizers.
pub fn folder() -> Option<PathBuf> {
    #[allow(clippy::disallowed_methods, reason = "where a test's files are, not what a build writes")]
    std::env::var_os("NIHBUILD_TOKENIZERS").map(PathBuf::from)
}

fn file(model: Value, normalizer: Value, pre_tokenizer: Value) -> Value {
    json!({"version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": normalizer,
           "pre_tokenizer": pre_tokenizer, "post_processor": null, "decoder": null, "model": model})
}

/// Numbers tokens from 0 on.
fn vocabulary(tokens: impl IntoIterator<Item = String>) -> Value {
    tokens.into_iter().enumerate().map(|(id, token)| (token, json!(id))).collect::<serde_json::Map<_, _>>().into()
}

/// Byte-level BPE as GPT-2's, with one merge.
pub fn byte_level() -> Value {
    let alphabet = tokenizers::pre_tokenizers::byte_level::ByteLevel::alphabet();
    let mut tokens: Vec<String> = alphabet.into_iter().map(String::from).collect();
    tokens.sort();
    tokens.push("ll".to_owned());
    let model = json!({"type": "BPE", "vocab": vocabulary(tokens), "merges": [["l", "l"]]});
    file(model, Value::Null, json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true}))
}

/// BPE as Llama 2's: no words, a mark for spaces and before a text, bytes for what is unknown.
pub fn sentencepiece() -> Value {
    let merges = [("t", "h"), ("th", "e"), ("\u{2581}", "the"), ("e", "n"), ("l", "l"), ("\u{2581}", "\u{2581}")];
    let bytes = (0..=255u8).map(|byte| format!("<0x{byte:02X}>"));
    let letters = ('a'..='z').chain(['\u{2581}', '.', ',']).map(String::from);
    let tokens = ["<unk>".to_owned()].into_iter().chain(bytes).chain(letters);
    let vocab = vocabulary(tokens.chain(merges.iter().map(|(a, b)| format!("{a}{b}"))));
    let merges: Vec<_> = merges.iter().map(|(a, b)| json!([a, b])).collect();
    let model = json!({"type": "BPE", "unk_token": "<unk>", "fuse_unk": true, "byte_fallback": true,
                       "vocab": vocab, "merges": merges});
    let normalizers = json!([{"type": "Prepend", "prepend": "\u{2581}"},
                             {"type": "Replace", "pattern": {"String": " "}, "content": "\u{2581}"}]);
    file(model, json!({"type": "Sequence", "normalizers": normalizers}), Value::Null)
}

/// A few whole words; white space separates, marks stand alone.
pub fn word_level() -> Value {
    let tokens = ["[UNK]", "the", "of", "end", "-", "."].map(String::from);
    let model = json!({"type": "WordLevel", "vocab": vocabulary(tokens), "unk_token": "[UNK]"});
    file(model, Value::Null, json!({"type": "Whitespace"}))
}

/// Byte-level BPE with special tokens that take the white space beside them, one that must be a word, and one that
/// begins like another.
pub fn stripping() -> Value {
    let mut file = byte_level();
    let token = |id: u32, content: &str, left: bool, right: bool, word: bool| {
        json!({"id": id, "content": content, "single_word": word, "lstrip": left, "rstrip": right,
               "normalized": false, "special": true})
    };
    file["added_tokens"] = json!([
        token(900, "<s>", true, false, false),
        token(901, "</p>", false, true, false),
        token(902, "word", false, false, true),
        token(903, "\n\n", false, false, false),
        token(904, "\n\n\n", false, false, false)
    ]);
    file
}

/// WordPiece as BERT's: lower case, no accents, no control characters, white space dropped, Chinese one by one.
pub fn word_piece() -> Value {
    let letters: Vec<char> = ('a'..='z').chain('0'..='9').chain("\u{4e2d}\u{627}.,'/<>\"_".chars()).collect();
    let tokens = ["[UNK]", "the", "word", "##ord", "##77"].map(String::from).into_iter();
    let tokens = tokens.chain(letters.iter().map(char::to_string)).chain(letters.iter().map(|c| format!("##{c}")));
    let model = json!({"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                       "max_input_chars_per_word": 20, "vocab": vocabulary(tokens)});
    let normalizer = json!({"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                            "strip_accents": null, "lowercase": true});
    file(model, normalizer, json!({"type": "BertPreTokenizer"}))
}

/// Unigram as T5's and XLM-R's: compatible forms composed, runs of spaces made one, a mark before every word.
pub fn unigram() -> Value {
    let pieces =
        ["\u{2581}", "the", "\u{2581}the", "word", "ord", "77", "777", "\n", "end", "\u{2581}a", "\u{4e2d}\u{4e2d}"];
    let letters = ('a'..='z').chain('0'..='9').chain("\u{4e2d}\u{627}\u{e9}.,'/<>\"_".chars()).map(String::from);
    let vocab: Vec<Value> = ["<unk>".to_owned()]
        .into_iter()
        .chain(pieces.map(String::from))
        .chain(letters)
        .enumerate()
        .map(|(i, piece)| {
            json!([piece, -(3.0 + (i % 7) as f64 / 2.0 + if piece.chars().count() == 1 { 4.0 } else { 0.0 })])
        })
        .collect();
    let normalizers = json!([{"type": "NFKC"}, {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "},
                             {"type": "Strip", "strip_left": false, "strip_right": true}]);
    file(
        json!({"type": "Unigram", "unk_id": 0, "vocab": vocab, "byte_fallback": false}),
        json!({"type": "Sequence", "normalizers": normalizers}),
        json!({"type": "Metaspace", "replacement": "\u{2581}", "prepend_scheme": "always", "split": true}),
    )
}

/// All bytes, then `he`, `ll`, `hell` and one that is listed but not in use.
pub fn tekken() -> Value {
    use base64::Engine;
    let bytes = (0..=255u8).map(|byte| vec![byte]);
    let tokens = bytes.chain([b"he".to_vec(), b"ll".to_vec(), b" w".to_vec(), b"lo".to_vec()]);
    let vocab: Vec<Value> = tokens
        .enumerate()
        .map(|(rank, token)| json!({"rank": rank, "token_bytes": base64::prelude::BASE64_STANDARD.encode(token)}))
        .collect();
    json!({"vocab": vocab, "config": {"pattern": "\\w+|\\s+|[^\\w\\s]+", "num_vocab_tokens": 260,
           "default_vocab_size": 261, "default_num_special_tokens": 2, "version": "v3"}})
}
