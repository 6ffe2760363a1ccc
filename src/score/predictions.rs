//! What models answered and judges marked: JSON Lines.

use crate::error::{Error, Result};
use rayon::prelude::*;
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

/// A line of a file, as people count.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Place {
    /// Which of the files.
    pub file: usize,
    /// From 1.
    pub line: usize,
}

/// What is given for one row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prediction {
    /// What the model wrote.
    pub output: Option<String>,
    /// The same in English.
    pub output_en: Option<String>,
    /// A judge's mark, 1 to 5.
    pub mark: Option<u8>,
    /// Where it was first spoken of.
    pub place: Option<Place>,
}

/// Predictions by id.
#[derive(Debug, Default)]
pub struct Predictions {
    /// Their files, as they were named.
    pub files: Vec<String>,
    /// By id.
    pub by_id: BTreeMap<String, Prediction>,
    /// Ids that were given more than once, and where again; the first counts.
    pub duplicates: Vec<(String, Place)>,
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(default, borrow, deserialize_with = "given")]
    output: Option<Option<Cow<'a, str>>>,
    #[serde(default, borrow)]
    output_en: Option<Cow<'a, str>>,
    #[serde(default)]
    mark: Option<u8>,
}

/// Null is an empty output: the model gave none.
fn given<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<Option<Option<Cow<'de, str>>>, D::Error> {
    Option::<Cow<'de, str>>::deserialize(deserializer).map(Some)
}

impl Predictions {
    /// Reads files; `-` is standard input. An output and a mark of one row may stand on lines of their own.
    ///
    /// # Errors
    ///
    /// A file that cannot be read; the first line, in their order, that is no JSON object with an `id` and an `output` or a `mark`
    /// from 1 to 5.
    pub fn read(files: &[impl AsRef<Path>]) -> Result<Predictions> {
        let mut all = Predictions::default();
        for path in files {
            let path = path.as_ref();
            let (name, bytes) = match path.as_os_str() == "-" {
                true => {
                    let mut bytes = Vec::new();
                    let read = std::io::stdin().lock().read_to_end(&mut bytes);
                    read.map_err(|e| Error::io("cannot read", Path::new("standard input"), e))?;
                    ("standard input".to_owned(), bytes)
                }
                false => {
                    let bytes = std::fs::read(path).map_err(|e| Error::io("cannot read", path, e))?;
                    (path.display().to_string(), bytes)
                }
            };
            all.add(name, &bytes)?;
        }
        Ok(all)
    }

    /// Adds the lines of one file.
    pub fn add(&mut self, name: String, bytes: &[u8]) -> Result<()> {
        let file = self.files.len();
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let lines: Vec<&[u8]> = bytes.split(|b| *b == b'\n').collect();
        let parsed =
            lines.par_iter().enumerate().map(|(n, line)| parse(line).map_err(|e| e.at(format!("{name}:{}", n + 1))));
        let parsed: Vec<Result<Option<(String, Prediction)>>> = parsed.collect();
        self.files.push(name);
        for (n, one) in parsed.into_iter().enumerate() {
            let Some((id, new)) = one? else { continue };
            let place = Place { file, line: n + 1 };
            let known = self.by_id.entry(id.clone()).or_default();
            let again = known.output.is_some() && new.output.is_some() || known.mark.is_some() && new.mark.is_some();
            if again {
                self.duplicates.push((id, place));
                continue;
            }
            if known.output.is_none() {
                known.output = new.output;
                known.output_en = new.output_en;
            }
            known.mark = known.mark.or(new.mark);
            known.place.get_or_insert(place);
        }
        Ok(())
    }

    /// A place as text.
    pub fn at(&self, place: &Place) -> String {
        format!("{}:{}", self.files.get(place.file).map_or("?", String::as_str), place.line)
    }
}

const HELP: &str = "a line is {\"id\": \"...\", \"output\": \"...\"}, or {\"id\": \"...\", \"mark\": 1 to 5}";

fn parse(line: &[u8]) -> Result<Option<(String, Prediction)>> {
    let fault = |what: String| Err(Error::new(what).help(HELP));
    if line.trim_ascii().is_empty() {
        return Ok(None);
    }
    let Ok(text) = std::str::from_utf8(line) else { return fault("this line is no UTF-8".to_owned()) };
    if !text.trim_start().starts_with('{') {
        return fault("this line is no prediction: it is no JSON object".to_owned());
    }
    let line: Line = match serde_json::from_str(text) {
        Ok(line) => line,
        Err(e) => {
            // The parser sees one line only.
            let what = e.to_string();
            let what = what.split(" at line ").next().unwrap_or(&what).to_owned();
            return fault(format!("this line is no prediction: {what} (column {})", e.column()));
        }
    };
    if line.id.is_empty() {
        return fault("the id is empty".to_owned());
    }
    match (&line.output, line.mark) {
        (None, None) => return fault(format!("{} has neither output nor mark", line.id)),
        (_, Some(mark)) if !(1..=5).contains(&mark) => {
            return fault(format!("{} has mark {mark}, expected 1 to 5", line.id));
        }
        _ => {}
    }
    Ok(Some((
        line.id.into_owned(),
        Prediction {
            output: line.output.map(|output| output.map_or_else(String::new, Cow::into_owned)),
            output_en: line.output_en.map(Cow::into_owned),
            mark: line.mark,
            place: None,
        },
    )))
}
