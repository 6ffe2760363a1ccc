//! Reading tokenizer files: ours, dressed up, damaged.

use super::files::{self, Folder, byte_level, sentencepiece, word_level};
use super::{fixed, texts::Dice};
use nihbuild::tokenizer::Tokenizer;
use serde_json::json;

#[test]
fn files_are_read() {
    let folder = Folder::new();
    let plain = folder.open("plain", &byte_level());
    assert_eq!((plain.name(), plain.added()), ("plain", 0));
    // h-e-ll-o and a space: the merge of two l, and bytes.
    assert_eq!(plain.count("hello he"), 7);
    assert_eq!(plain.ends("hello he"), [1, 2, 4, 5, 6, 7, 8]);
    assert!(plain.seam_is_hard("hello", " he") && !plain.seam_is_hard("hel", "lo"));

    let mut file = byte_level();
    file["truncation"] = json!({"direction": "Right", "max_length": 3, "strategy": "LongestFirst", "stride": 0});
    file["padding"] = json!({"strategy": {"Fixed": 64}, "direction": "Right", "pad_to_multiple_of": null,
                             "pad_id": 0, "pad_type_id": 0, "pad_token": "!"});
    file["model"]["dropout"] = json!(0.5);
    file["post_processor"] = json!({"type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {"<s>": {"id": "<s>", "ids": [999], "tokens": ["<s>"]}}});
    file["added_tokens"] = json!([{"id": 999, "content": "<s>", "single_word": false, "lstrip": false,
                                   "rstrip": false, "normalized": false, "special": true}]);
    let dressed = folder.open("dressed", &file);
    assert_eq!(dressed.added(), 1);
    assert_ne!(dressed.digest(), plain.digest());
    assert_eq!(dressed.count("hello hello hello"), plain.count("hello hello hello"));
    // Spelled in the text, it is one token, hard on both sides.
    assert_eq!((dressed.count("hello<s>hello"), plain.count("<s>")), (9, 3));
    assert!(dressed.seam_is_hard("hel<s>", "lo") && dressed.seam_is_hard("hel", "<s>lo"));
}

#[test]
fn a_mark_before_a_text_is_not_counted_before_a_line() {
    let tokenizer = Folder::new().open("sentencepiece", &sentencepiece());
    // The mark and `the` are one token.
    assert_eq!((tokenizer.count("the the"), tokenizer.count("b")), (2, 2));
    assert_eq!((tokenizer.count_line("b"), tokenizer.count("a\nb")), (1, 4));
    // No token holds `e` before a mark, one holds `t` before `h`.
    assert!(tokenizer.seam_is_hard("the", " the") && !tokenizer.seam_is_hard("t", "he"));
    // Unknown characters are bytes, which merge with nothing.
    assert!(tokenizer.seam_is_hard("\u{4f60}", "\u{597d}"));
    assert_eq!(tokenizer.tokens("\u{4f60}").ends, [0, 3, 3, 3].map(|end: u32| end.max(3)));
}

#[test]
fn words_that_are_unknown() {
    let folder = Folder::new();
    let tokenizer = folder.open("word-level", &word_level());
    assert_eq!(tokenizer.count("the unheard-of end"), 5);
    let mut file = word_level();
    file["model"]["unk_token"] = json!("[NONE]");
    let error = folder.refuse(&file);
    assert!(error.contains("no token for words it does not know") && error.contains("tokenizer.json"), "{error}");
}

#[test]
fn only_the_ends_of_a_text_are_hard_where_nothing_is_known() {
    let tokenizer = Folder::new().open("fixed", &fixed());
    let tokens = tokenizer.tokens("the end of all");
    assert_eq!((0..tokens.len()).filter(|&i| tokens.is_hard(i)).count(), 1);
    assert!(tokens.is_hard_at("the end of all".len()));
}

#[test]
fn a_damaged_file_never_brings_the_program_down() {
    // Whatever a byte more, less or other does: refused, or read and able to count.
    let folder = Folder::new();
    let mut dice = Dice::new("damage");
    let files =
        [byte_level(), sentencepiece(), files::stripping(), files::word_piece(), files::unigram(), files::tekken()];
    let mut read = 0;
    for i in 0..600 {
        let mut text: Vec<char> = files[i % files.len()].to_string().chars().collect();
        for _ in 0..1 + dice.below(3) {
            let at = dice.below(text.len());
            match dice.below(3) {
                0 => text[at] = text[dice.below(text.len())],
                1 => text.insert(at, text[dice.below(text.len())]),
                _ => drop(text.drain(at..(at + 1 + dice.below(20)).min(text.len()))),
            }
        }
        if let Ok(tokenizer) = folder.open_text("damaged", &String::from_iter(text)) {
            read += 1;
            let noise = dice.noise();
            assert_eq!(tokenizer.tokens(&noise).len(), tokenizer.count(&noise));
        }
    }
    println!("{read} of 600 damaged files were read");
    assert!(read > 30, "{read}");
}

#[test]
fn damaged_files_are_refused() {
    let folder = Folder::new();
    let text = byte_level().to_string();
    for (file, expected) in [
        ("".to_owned(), "no JSON object"),
        ("\u{a}\u{9}\u{5}<unk>".to_owned(), "no JSON object"),
        ("[1, 2]".to_owned(), "not a tokenizer file"),
        ("{\"vocab\": []}".to_owned(), "neither `model` nor"),
        (text[..text.len() / 2].to_owned(), "no JSON object"),
        (text.replace("\"BPE\"", "\"Bag\""), "damaged tokenizer file"),
        // The crate panics at a merge longer than every token.
        (text.replace("[\"l\",\"l\"]", "[\"ll\",\"ll\"],[\"l\",\"l\"]"), "damaged tokenizer file"),
        (text.replace("[\"l\",\"l\"]", "[\"l\",\"none\"]"), "damaged tokenizer file"),
    ] {
        let error = folder.refuse_text(&file);
        assert!(error.contains(expected) && error.contains("tokenizer.json") && error.contains("help:"), "{error}");
    }
    let error = Tokenizer::open("none", &folder.path().join("none.json")).err().unwrap().to_string();
    assert!(error.contains("cannot read") && error.contains("none.json"), "{error}");
    assert!(Tokenizer::open("folder", folder.path()).is_err());
}

#[test]
fn tekken_files_are_read() {
    let folder = Folder::new();
    let tokenizer = folder.open("tekken", &files::tekken());
    assert_eq!((tokenizer.count("hello\u{597d} he"), tokenizer.added()), (8, 1));
    assert_eq!(tokenizer.ends("hello\u{597d} he"), [2, 4, 5, 8, 8, 8, 9, 11]);
    for (from, to, expected) in [
        ("\"rank\":5,", "\"rank\":4,", "rank 4 twice"),
        ("\"default_vocab_size\":261", "\"default_vocab_size\":400", "are listed"),
        ("\"default_vocab_size\":261", "\"default_vocab_size\":1", "2 of them special"),
        ("\"token_bytes\":\"AA==\"", "\"token_bytes\":\"?\"", "bytes of rank 0"),
        ("\"token_bytes\":\"AA==\"", "\"token_bytes\":\"AAA=\"", "no token for the byte 0x00"),
        ("\"pattern\":\"", "\"pattern\":\"(", "`pattern`"),
        ("\"pattern\"", "\"patter\"", "missing field"),
    ] {
        let text = files::tekken().to_string();
        assert!(text.contains(from), "{from}");
        let error = folder.refuse_text(&text.replacen(from, to, 1));
        assert!(error.contains(expected) && error.contains("help:"), "{error}");
    }
}
