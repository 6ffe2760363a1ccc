//! Running text from a person's own files: plain text and Markdown, also compressed by gzip.
//!
//! What is read here becomes a haystack, byte for byte the same on every machine. So damage that can be mended without
//! a guess is mended and counted in [`Repairs`]; all other damage is refused with its file and line.
//!
//! # Characters
//!
//! | what | becomes | counted as |
//! |---|---|---|
//! | bytes that are not UTF-8, UTF-16 among them | refused | |
//! | a byte order mark at the beginning | nothing | `bom` |
//! | CR LF, CR alone, U+2028 | one line end | `line_ends` |
//! | U+2029 | the end of a paragraph | `line_ends` |
//! | form feed | the end of a paragraph | `controls` |
//! | tab | a space | `controls` |
//! | U+0080-009F | what Windows-1252 has at that byte, so U+0085 an ellipsis | `c1` |
//! | U+0081, U+008D, U+008F, U+0090, U+009D, where it has nothing | refused | |
//! | every other control: U+0000-001F, U+007F | refused | |
//! | zero-width marks without meaning: U+200B, U+2060, U+FEFF | nothing | `invisible` |
//! | marks of writing direction: U+061C, U+200E, U+200F, U+202A-202E, U+2066-2069 | nothing | `invisible` |
//! | U+FFFD, which stands where a character was lost | refused | |
//! | noncharacters: U+FDD0-FDEF, and the last two of each plane | refused | |
//! | U+00E2 U+20AC, by which UTF-8 that was read as Windows-1252 gives itself away | refused | |
//! | all else, joiners (U+200C, U+200D) among it | itself | |
//!
//! # Layout
//!
//! | what | becomes |
//! |---|---|
//! | a run of white space inside a line, unless it keeps words together (U+00A0, U+2007, U+202F) | one space |
//! | white space at the edges of a line | nothing |
//! | a line of marks alone, such as `* * *`, `---` or `#` | the end of a paragraph |
//! | blank lines | the end of a paragraph |
//! | a line end in a paragraph, with [`Lines::Wrapped`] | one space; nothing between Chinese or Japanese letters |
//! | a line end in a paragraph, with [`Lines::Paragraphs`] | the end of a paragraph |
//! | the end of a paragraph | two line feeds between two paragraphs, nothing at the text's end |
//!
//! So the text holds line feeds only in pairs between paragraphs, neither it nor a paragraph has white space at an
//! edge, and making running text of it again changes nothing. `source/markdown.rs` says what is kept of Markdown.

use super::markdown;
use crate::error::{Error, Result};
pub use crate::recipe::Lines;
use crate::store::sorted_dir;
use flate2::bufread::MultiGzDecoder;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// What a file's name may end in, in any case, and whether it is Markdown.
const KINDS: [(&str, bool); 4] = [(".txt", false), (".text", false), (".md", true), (".markdown", true)];

/// How errors list [`KINDS`].
const KNOWN: &str = "the known kinds are .txt, .text, .md and .markdown, each also with .gz";

/// What a file may hold, in bytes, after decompression too.
const MAX_BYTES: usize = 1 << 30;

/// What a compressed file may hold before its ratio is looked at, in bytes.
const BOMB_BYTES: usize = 64 << 20;

/// Bytes a byte of a compressed file may become. Deflate can reach 1032, by repeating one byte; no text comes near.
const BOMB_RATIO: usize = 1000;

/// The way out where a file is not UTF-8.
const CONVERT: &str = "convert it to UTF-8, for example with: iconv -f WINDOWS-1252 -t UTF-8 old.txt > new.txt";

/// The way out where a character was damaged before the file came here.
const DAMAGED: &str = "get an undamaged copy of the file, or mend the place by hand";

/// One file as running text.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// The name as the caller wrote it; for a file of a folder the folder's name, `/`, and the path below it.
    pub name: String,
    /// The bytes of the file as they are on disk, compressed ones too: their digest is what `sha256sum` prints.
    pub raw: Vec<u8>,
    /// The text, in the form the head of this module describes; never empty.
    pub text: String,
    /// What was mended.
    pub repairs: Repairs,
}

/// How often something was mended; the head of this module says which characters a field counts.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub struct Repairs {
    /// Byte order marks.
    pub bom: u64,
    /// Line ends other than a line feed.
    pub line_ends: u64,
    /// Controls of U+0080-009F that stood for a character of Windows-1252.
    pub c1: u64,
    /// Tabs and form feeds.
    pub controls: u64,
    /// Zero-width marks and marks of writing direction.
    pub invisible: u64,
}

impl Repairs {
    /// Adds the counts of another text.
    pub fn add(&mut self, other: Repairs) {
        let Repairs { bom, line_ends, c1, controls, invisible } = other;
        self.bom += bom;
        self.line_ends += line_ends;
        self.c1 += c1;
        self.controls += controls;
        self.invisible += invisible;
    }
}

/// Reads files as running text, in the order named; a folder gives its files in byte order of their paths.
///
/// A name is a file or a folder, absolute or below `root`. Of a folder, all files of the known kinds are read, however
/// deep, without those whose name, or a folder's on the way, begins with a dot.
///
/// # Errors
///
/// A name that does not exist, a file of another kind that is named itself, a folder without a file of a known kind, a
/// file or folder that is reached twice (so also a link that leads back), a file that cannot be read or is no regular
/// one, more than 1 GiB of text in a file, compressed data that is damaged or made to overflow, a text that the rules
/// at the head of this module refuse, and one of which they leave nothing.
pub fn read(root: &Path, names: &[String], lines: Lines) -> Result<Vec<Document>> {
    let mut seen: BTreeMap<PathBuf, String> = BTreeMap::new();
    let mut documents = Vec::new();
    for Found { name, path } in find(root, names)? {
        let real = canonical(&path)?;
        if let Some(other) = seen.get(&real) {
            return Err(Error::new(format!("{name} is the same file as {other}"))
                .at(real.display())
                .help("a text that stands twice in a haystack spoils it: name each file once"));
        }
        documents.push(document(&name, &path, lines)?);
        seen.insert(real, name);
    }
    Ok(documents)
}

/// The running text of a file's bytes, which are not compressed (any more), and what was mended.
///
/// `name` is what errors call the file, and its ending tells whether it is Markdown; one of no known kind is read as
/// plain text.
///
/// # Errors
///
/// Bytes that are not UTF-8, characters that the rules at the head of this module refuse, and a text of which they
/// leave nothing.
pub fn text_of(name: &str, bytes: &[u8], lines: Lines) -> Result<(String, Repairs)> {
    let mut repairs = Repairs::default();
    let decoded = decode(name, bytes)?;
    let unmarked = decoded.strip_prefix('\u{FEFF}');
    repairs.bom = u64::from(unmarked.is_some());
    let mut text = repair(name, 1, unmarked.unwrap_or(decoded), &mut repairs)?;
    if is_markdown(name) {
        text = unmarked_text(name, &text, &mut repairs)?;
    }
    let text = reflow(&text, lines);
    if text.is_empty() {
        return Err(Error::new(format!("{name} holds no running text"))
            .help("nothing is left without white space, lines of marks and what Markdown drops: name another file"));
    }
    Ok((text, repairs))
}

/// A file to be read.
struct Found {
    name: String,
    path: PathBuf,
}

/// Is a file of a known kind, and then is it Markdown?
fn kind(name: &str) -> Option<bool> {
    let lower = name.to_ascii_lowercase();
    let plain = lower.strip_suffix(".gz").unwrap_or(&lower);
    KINDS.iter().find(|(ending, _)| plain.ends_with(ending)).map(|(_, markdown)| *markdown)
}

fn is_markdown(name: &str) -> bool {
    kind(name) == Some(true)
}

fn is_gzip(name: &str) -> bool {
    name.to_ascii_lowercase().ends_with(".gz")
}

/// The files that names stand for.
fn find(root: &Path, names: &[String]) -> Result<Vec<Found>> {
    let mut found = Vec::new();
    for name in names {
        let path = root.join(name);
        if path.is_dir() {
            found.extend(find_in_folder(&path, name)?);
        } else if kind(name).is_none() && path.exists() {
            return Err(Error::new(format!("{name} is of no kind that is read as running text")).help(KNOWN));
        } else {
            exists(name, &path)?;
            found.push(Found { name: name.clone(), path });
        }
    }
    Ok(found)
}

fn exists(name: &str, path: &Path) -> Result<()> {
    let here = std::fs::metadata(path);
    match here {
        Ok(_) => Ok(()),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            Err(Error::new(format!("there is no file or folder {name:?}"))
                .at(format!("looked for as {}", path.display()))
                .help("a name is a path from the folder it is looked for in, or an absolute path"))
        }
        Err(e) => Err(Error::io("cannot read", path, e)),
    }
}

/// The files of a folder and of those below it, in byte order of their paths.
///
/// Each folder is listed once: where links make a loop, or many ways to one folder, that is an error and not a hang.
fn find_in_folder(top: &Path, name: &str) -> Result<Vec<Found>> {
    let mut found = Vec::new();
    let mut listed = BTreeSet::new();
    let mut pending = vec![(top.to_owned(), String::new())];
    while let Some((folder, below)) = pending.pop() {
        if !listed.insert(canonical(&folder)?) {
            return Err(Error::new(format!("the folder {name} leads to the same folder twice"))
                .at(folder.display())
                .help("a symbolic link leads back, or there are two ways: remove the link, or name the files"));
        }
        for path in sorted_dir(&folder)? {
            let entry = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if entry.starts_with('.') {
                continue;
            }
            if path.is_dir() {
                pending.push((path, format!("{below}{entry}/")));
            } else if kind(&entry).is_some() {
                found.push((format!("{below}{entry}"), path));
            }
        }
    }
    found.sort();
    named(found, top, name)
}

/// Gives the files of a folder their names, if there are any and each has one.
fn named(found: Vec<(String, PathBuf)>, top: &Path, name: &str) -> Result<Vec<Found>> {
    if found.is_empty() {
        return Err(Error::new(format!("the folder {name} holds no file that is read as running text"))
            .at(top.display())
            .help(KNOWN));
    }
    if let Some((_, path)) = found.iter().find(|(_, path)| path.strip_prefix(top).unwrap_or(path).to_str().is_none()) {
        return Err(Error::new("the name of a file is not UTF-8").at(path.display()).help("rename it"));
    }
    let folder = name.trim_end_matches('/');
    Ok(found.into_iter().map(|(below, path)| Found { name: format!("{folder}/{below}"), path }).collect())
}

fn canonical(path: &Path) -> Result<PathBuf> {
    path.canonicalize().map_err(|e| Error::io("cannot read", path, e))
}

fn document(name: &str, path: &Path, lines: Lines) -> Result<Document> {
    let raw = read_file(name, path)?;
    let bytes = if is_gzip(name) { Cow::Owned(decompress(name, &raw)?) } else { Cow::Borrowed(raw.as_slice()) };
    let (text, repairs) = text_of(name, &bytes, lines)?;
    drop(bytes);
    Ok(Document { name: name.to_owned(), raw, text, repairs })
}

fn too_large(name: &str) -> Error {
    Error::new(format!("{name} holds more than {MAX_BYTES} bytes")).help("split it into several files")
}

fn read_file(name: &str, path: &Path) -> Result<Vec<u8>> {
    let fault = |e| Error::io("cannot read", path, e);
    // A pipe or a device would be waited for, or read without end.
    if !std::fs::metadata(path).map_err(fault)?.is_file() {
        let what = format!("{name} is no regular file");
        return Err(Error::new(what).at(path.display()).help("write what it gives to a file, and name that"));
    }
    let mut raw = Vec::new();
    File::open(path).map_err(fault)?.take(MAX_BYTES as u64 + 1).read_to_end(&mut raw).map_err(fault)?;
    if raw.len() > MAX_BYTES {
        return Err(too_large(name));
    }
    Ok(raw)
}

/// All members of a gzip file, one after the other. Sizes count as read: what the file says of itself is not trusted.
fn decompress(name: &str, raw: &[u8]) -> Result<Vec<u8>> {
    let mut decoder = MultiGzDecoder::new(raw);
    let mut bytes = Vec::new();
    let mut part = vec![0; 1 << 16];
    loop {
        let n = decoder.read(&mut part).map_err(|e| {
            Error::new(format!("cannot decompress {name}: {e}"))
                .at(format!("byte {} of its text", bytes.len()))
                .help("it may be truncated, or no gzip file: get it again, or decompress it")
        })?;
        if n == 0 {
            return Ok(bytes);
        }
        bytes.extend_from_slice(&part[..n]);
        if bytes.len() > MAX_BYTES {
            return Err(too_large(name));
        }
        let consumed = raw.len() - decoder.get_ref().len();
        if bytes.len() > BOMB_BYTES && bytes.len() / BOMB_RATIO > consumed {
            return Err(Error::new(format!("{name} unfolds to more than {BOMB_RATIO} times its size"))
                .help("that is no text but a file made to fill the memory: get the official file"));
        }
    }
}

/// Which other encoding bytes give themselves away as, by how they begin.
fn other_encoding(bytes: &[u8]) -> Option<&'static str> {
    // The mark of UTF-32 begins with that of UTF-16.
    let signs: [(&[u8], &str); 5] = [
        (&[0xFF, 0xFE, 0, 0], "UTF-32"),
        (&[0, 0, 0xFE, 0xFF], "UTF-32"),
        (&[0xFF, 0xFE], "UTF-16"),
        (&[0xFE, 0xFF], "UTF-16"),
        (&[0x1F, 0x8B], "gzip"),
    ];
    signs.iter().find(|(sign, _)| bytes.starts_with(sign)).map(|(_, encoding)| *encoding)
}

fn decode<'a>(name: &str, bytes: &'a [u8]) -> Result<&'a str> {
    match other_encoding(bytes) {
        Some("gzip") => {
            return Err(Error::new(format!("{name} is compressed by gzip")).help("let its name end in .gz"));
        }
        Some(encoding) => {
            return Err(Error::new(format!("{name} is {encoding}, not UTF-8, by the mark it begins with"))
                .help(CONVERT.replace("WINDOWS-1252", encoding)));
        }
        None => {}
    }
    std::str::from_utf8(bytes).map_err(|e| {
        let at = e.valid_up_to();
        let value = bytes.get(at).copied().unwrap_or_default();
        Error::new(format!("{name} is not UTF-8: byte 0x{value:02X} at offset {at}"))
            .at(format!("{name}, line {}", line_of(&bytes[..at])))
            .help(CONVERT)
    })
}

/// The line that begins or goes on after some bytes, counted from 1.
fn line_of(before: &[u8]) -> usize {
    let alone = |n: usize| before[n] == b'\r' && before.get(n + 1) != Some(&b'\n');
    1 + (0..before.len()).filter(|n| before[*n] == b'\n' || alone(*n)).count()
}

/// What becomes of a character.
enum Rule {
    Stays,
    Goes,
    LineEnd,
    ParagraphEnd,
    Tab,
    Becomes(char),
    Refused(&'static str),
}

/// What Windows-1252 has at 0x80-0x9F; NUL where it has nothing.
const WINDOWS_1252: [char; 32] = [
    '\u{20AC}', '\0', '\u{201A}', '\u{192}', '\u{201E}', '\u{2026}', '\u{2020}', '\u{2021}', '\u{2C6}', '\u{2030}',
    '\u{160}', '\u{2039}', '\u{152}', '\0', '\u{17D}', '\0', '\0', '\u{2018}', '\u{2019}', '\u{201C}', '\u{201D}',
    '\u{2022}', '\u{2013}', '\u{2014}', '\u{2DC}', '\u{2122}', '\u{161}', '\u{203A}', '\u{153}', '\0', '\u{17E}',
    '\u{178}',
];

fn windows_1252(c: char) -> Rule {
    match WINDOWS_1252.get((c as usize).wrapping_sub(0x80)) {
        None | Some('\0') => Rule::Refused("a control that stands for no character of Windows-1252 either"),
        Some(meant) => Rule::Becomes(*meant),
    }
}

/// The table of characters at the head of this module, but for what takes two of them.
fn rule(c: char) -> Rule {
    match c {
        '\n' | '\r' | '\u{2028}' => Rule::LineEnd,
        '\u{C}' | '\u{2029}' => Rule::ParagraphEnd,
        '\t' => Rule::Tab,
        '\u{80}'..='\u{9F}' => windows_1252(c),
        '\0' => Rule::Refused("a NUL: a binary file, or UTF-16 without its mark"),
        c if c.is_control() => Rule::Refused("a control that no text holds"),
        '\u{200B}' | '\u{2060}' | '\u{FEFF}' => Rule::Goes,
        '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => Rule::Goes,
        '\u{FFFD}' => Rule::Refused("it stands where a character was lost"),
        '\u{FDD0}'..='\u{FDEF}' => Rule::Refused("no character of Unicode"),
        c if c as u32 & 0xFFFE == 0xFFFE => Rule::Refused("no character of Unicode"),
        _ => Rule::Stays,
    }
}

/// Applies the rules of characters. Tabs stay for now, and are counted: Markdown means something by them.
fn repair(name: &str, first_line: usize, text: &str, repairs: &mut Repairs) -> Result<String> {
    let mut kept = String::with_capacity(text.len());
    let mut line = first_line;
    let mut last = '\0';
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let refused = |what: String| Err(Error::new(what).at(format!("{name}, line {line}")).help(DAMAGED));
        let written = match rule(c) {
            Rule::Goes => None,
            Rule::Stays | Rule::Tab => Some(c),
            Rule::Becomes(meant) => Some(meant),
            Rule::LineEnd => {
                chars.next_if(|next| c == '\r' && *next == '\n');
                Some('\n')
            }
            Rule::ParagraphEnd => {
                kept.push('\n');
                Some('\n')
            }
            Rule::Refused(why) => return refused(format!("{name} holds U+{:04X}: {why}", c as u32)),
        };
        if (last, written) == ('\u{E2}', Some('\u{20AC}')) {
            return refused(format!("{name} was UTF-8 that was read as Windows-1252"));
        }
        count(c, repairs);
        line += usize::from(matches!(c, '\n' | '\r'));
        kept.extend(written);
        last = written.unwrap_or(last);
    }
    Ok(kept)
}

/// Counts the repair of a character, if it is one.
fn count(c: char, repairs: &mut Repairs) {
    let counted = match rule(c) {
        Rule::Goes => &mut repairs.invisible,
        Rule::Becomes(_) => &mut repairs.c1,
        Rule::Tab => &mut repairs.controls,
        Rule::ParagraphEnd if c == '\u{C}' => &mut repairs.controls,
        Rule::LineEnd if c == '\n' => return,
        Rule::LineEnd | Rule::ParagraphEnd => &mut repairs.line_ends,
        Rule::Stays | Rule::Refused(_) => return,
    };
    *counted += 1;
}

/// The text of Markdown, a blank line between two paragraphs. References such as `&#0;` can write any character, so
/// the rules of characters are asked once more.
fn unmarked_text(name: &str, text: &str, repairs: &mut Repairs) -> Result<String> {
    let mut kept = String::with_capacity(text.len());
    for (line, paragraph) in markdown::paragraphs(text) {
        // A tab that is left was counted when it was read.
        let paragraph = paragraph.replace('\t', " ");
        kept.push_str(&repair(name, line, &paragraph, repairs)?);
        kept.push_str("\n\n");
    }
    Ok(kept)
}

/// Applies the rules of layout.
fn reflow(text: &str, lines: Lines) -> String {
    let mut out = String::with_capacity(text.len());
    // The last character of the paragraph that the next line goes on with.
    let mut open: Option<char> = None;
    for line in text.split('\n').map(str::trim) {
        if line.is_empty() || is_ornament(line) {
            open = None;
            continue;
        }
        match (open, line.chars().next()) {
            (Some(left), Some(right)) if lines == Lines::Wrapped => {
                if !joins_without_space(left, right) {
                    out.push(' ');
                }
            }
            _ if out.is_empty() => {}
            _ => out.push_str("\n\n"),
        }
        push_squeezed(&mut out, line);
        open = line.chars().next_back();
    }
    out
}

/// Does a line hold nothing but marks that part sections, or the beginning of an empty heading?
fn is_ornament(line: &str) -> bool {
    let is_mark =
        |c| "*-_#~=+".contains(c) || "\u{2010}\u{2013}\u{2014}\u{2015}\u{2022}\u{B7}\u{2042}\u{2500}".contains(c);
    line.chars().all(|c: char| c.is_whitespace() || is_mark(c))
}

/// Appends a line with each run of breaking white space as one space.
fn push_squeezed(out: &mut String, line: &str) {
    let breaks = |c: char| c.is_whitespace() && !matches!(c, '\u{A0}' | '\u{2007}' | '\u{202F}');
    let mut after_space = false;
    for c in line.chars() {
        if !breaks(c) {
            out.push(c);
        } else if !after_space {
            out.push(' ');
        }
        after_space = breaks(c);
    }
}

/// Does a line end between two characters mean nothing? So it is where no spaces are written between words.
fn joins_without_space(left: char, right: char) -> bool {
    let joins = |c| is_cjk(c) || is_shared_mark(c);
    joins(left) && joins(right) && (is_cjk(left) || is_cjk(right))
}

/// Ideographs, kana and bopomofo, and full-width punctuation, letters and digits.
fn is_cjk(c: char) -> bool {
    matches!(c,
        '\u{3000}'..='\u{312F}' | '\u{31A0}'..='\u{31BF}' | '\u{31F0}'..='\u{31FF}' | '\u{3400}'..='\u{4DBF}'
        | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{FE30}'..='\u{FE4F}' | '\u{FF01}'..='\u{FF9F}'
        | '\u{20000}'..='\u{3FFFD}')
}

/// Marks that Chinese shares with other scripts: beside a Chinese character they are full-width.
fn is_shared_mark(c: char) -> bool {
    matches!(c, '\u{2018}' | '\u{2019}' | '\u{201C}' | '\u{201D}' | '\u{2026}' | '\u{2014}' | '\u{B7}')
}
