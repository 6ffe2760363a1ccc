//! The sample of a collection: drawn from parts of it, and merged. A passage is drawn for the mix of its number alone, so the samples
//! of parts hold the sample of the whole.

use super::part::{Parts, stretch};
use super::stream::{Event, Notes, Piece, Source, begin, each, rows};
use super::{KEY, KIND, PARTS, SIZE};
use crate::error::{Error, Result};
use crate::fail;
use crate::seed::mix;
use crate::source::collection::{Drawing, Sampling};
use crate::work::share::Share;
use arrow_array::{ArrayRef, Int64Array, StringArray};
use arrow_schema::{DataType, Field};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

/// What the streams of this kind are called in their notes.
pub const NAME: &str = "sample";

/// Rows of a batch that is written.
const ROWS: usize = 1 << 12;

/// What was drawn from a part.
pub struct Drawn {
    /// By (mix, number): the passage.
    kept: BTreeMap<(u64, u32), String>,
    /// Lines or rows that were looked at.
    pub lines: u64,
    /// Those that were refused: by reason, how many and the place of the first in the part.
    pub dropped: BTreeMap<String, (u64, String)>,
}

impl Drawn {
    fn of(drawing: Drawing) -> Drawn {
        let Drawing { kept, lines, dropped, .. } = drawing.end();
        Drawn { kept: kept.into_iter().map(|(key, (text, _))| (key, text)).collect(), lines, dropped }
    }
}

/// Draws from a share of a file of lines `number<TAB>passage`: the lines that begin in its share of the bytes.
pub fn lines(path: &Path, share: Share, sampling: &Sampling) -> Result<Drawn> {
    let fault = |e: std::io::Error| Error::io("cannot read", path, e);
    let mut file = File::open(path).map_err(|e| Error::io("cannot open", path, e))?;
    let (from, to) = stretch(share, file.metadata().map_err(fault)?.len());
    // A line that begins at `from` has a line feed before it: the search for it begins there.
    file.seek(SeekFrom::Start(from.saturating_sub(1))).map_err(fault)?;
    let mut reader = BufReader::with_capacity(1 << 20, file);
    let mut at = from;
    if from > 0 {
        at = from - 1 + reader.skip_until(b'\n').map_err(fault)? as u64;
    }
    let mut drawing = if from == 0 { Drawing::new(sampling) } else { Drawing::within(sampling) };
    while at < to {
        let chunk = reader.fill_buf().map_err(fault)?;
        if chunk.is_empty() {
            break;
        }
        // Up to the share's last byte all is its own; from there on, what is left of the line.
        let own = (to - 1 - at).min(chunk.len() as u64) as usize;
        let taken = if own > 0 { own } else { memchr::memchr(b'\n', chunk).map_or(chunk.len(), |end| end + 1) };
        drawing.chunk(&chunk[..taken]);
        let ended = own == 0 && chunk[taken - 1] == b'\n';
        reader.consume(taken);
        // Behind the last byte only the end of its line is looked for.
        at = if own > 0 { at + own as u64 } else { to - 1 };
        if ended {
            break;
        }
    }
    Ok(Drawn::of(drawing))
}

/// Draws from rows: `number`, or an `id` of digits, and `text`.
pub fn stream(sources: &[Source], sampling: &Sampling) -> Result<Drawn> {
    let mut drawing = Drawing::within(sampling);
    let mut line = Vec::new();
    for source in sources {
        rows(source, |piece| {
            for (number, text) in piece.numbers()?.into_iter().zip(piece.texts("text")?) {
                line.clear();
                line.extend_from_slice(number.to_string().as_bytes());
                line.push(b'\t');
                line.extend_from_slice(text.as_bytes());
                drawing.line(&line);
            }
            Ok(())
        })?;
    }
    Ok(Drawn::of(drawing))
}

fn fields() -> Vec<Field> {
    vec![
        Field::new("number", DataType::Int64, false),
        Field::new("text", DataType::Utf8, false),
        Field::new("part", DataType::Int64, false),
    ]
}

/// By (mix, number): the part in which a passage stands first, and the passage.
type Kept = BTreeMap<(u64, u32), (u32, String)>;

/// The sample of all parts that were merged so far.
pub struct Sample {
    sampling: Sampling,
    kept: Kept,
    /// The parts that are in; none where a stream does not say it.
    pub parts: Option<Parts>,
}

impl Sample {
    /// That of a part.
    pub fn of(drawn: Drawn, share: Share, sampling: Sampling) -> Sample {
        let kept = drawn.kept.into_iter().map(|(key, text)| (key, (share.part, text))).collect();
        Sample { sampling, kept, parts: Some(Parts::of(share)) }
    }

    /// Merges streams, in any order. `given`: what was asked for, where the streams do not say it.
    ///
    /// # Errors
    ///
    /// Streams that were drawn otherwise, and a number with two texts in one part.
    pub fn merge(sources: &[Source], given: Option<Sampling>) -> Result<Sample> {
        let mut sampling = given;
        let mut kept = Kept::new();
        let (mut parts, mut silent): (Option<Parts>, bool) = (None, false);
        for source in sources {
            each(source, |event| match event {
                Event::Stream(_, notes) => {
                    if let Some(kind) = notes.get(KIND).filter(|kind| *kind != NAME) {
                        fail!("a stream of {kind} is no sample");
                    }
                    if let Some(own) = said(notes)? {
                        if sampling.is_some_and(|known| known != own) {
                            return Err(Error::new("samples that were drawn otherwise cannot be merged")
                                .help("draw all of them by the same recipe and seed"));
                        }
                        sampling = Some(own);
                    }
                    Parts::gather(&mut parts, &mut silent, notes)
                }
                Event::Rows(piece) => {
                    let Some(sampling) = &sampling else {
                        return Err(Error::new("the streams do not say how they were drawn")
                            .help("name the recipe with --recipe, and --seed if it was another"));
                    };
                    take(&piece, sampling, &mut kept)
                }
            })?;
        }
        let Some(sampling) = sampling else { fail!("no sample is there, and nothing says how it is drawn") };
        Ok(Sample { sampling, kept, parts })
    }

    /// Passages that are in.
    pub fn passages(&self) -> usize {
        self.kept.len()
    }

    /// Number and passage, by mix.
    pub fn rows(&self) -> impl Iterator<Item = (u32, &str)> {
        self.kept.iter().map(|((_, number), (_, text))| (*number, text.as_str()))
    }

    /// Writes it as a stream: `number`, `text`, and the `part` it stands in.
    pub fn write(&self, out: &mut dyn Write) -> Result<()> {
        let own =
            [(KIND, NAME.to_owned()), (SIZE, self.sampling.size.to_string()), (KEY, self.sampling.key.to_string())];
        let parts = self.parts.as_ref().map(|parts| (PARTS, parts.to_string()));
        let mut sink = begin(out, fields(), Notes::new(own.into_iter().chain(parts)))?;
        let rows: Vec<_> = self.kept.iter().collect();
        for rows in rows.chunks(ROWS) {
            let integers =
                |all: Vec<u32>| -> ArrayRef { Arc::new(Int64Array::from_iter_values(all.into_iter().map(i64::from))) };
            let numbers = integers(rows.iter().map(|((_, number), _)| *number).collect());
            let parts = integers(rows.iter().map(|(_, (part, _))| *part).collect());
            let texts = StringArray::from_iter_values(rows.iter().map(|(_, (_, text))| text));
            sink.write(vec![numbers, Arc::new(texts), parts])?;
        }
        sink.finish()
    }
}

fn take(piece: &Piece<'_>, sampling: &Sampling, kept: &mut Kept) -> Result<()> {
    let (numbers, texts, parts) = (piece.numbers()?, piece.texts("text")?, piece.small("part")?);
    for (row, number) in numbers.into_iter().enumerate() {
        let (key, part, text) = ((mix(sampling.key, number), number), parts[row], texts[row]);
        match kept.get_mut(&key) {
            // As in the whole: of several lines of a number the first counts.
            Some((first, own)) if part < *first => (*first, *own) = (part, text.to_owned()),
            Some((first, own)) if part == *first && own != text => {
                return Err(Error::new(format!("passage {number} has two texts in part {part}"))
                    .at(piece.place(row))
                    .help("draw the part again that was made of other lines"));
            }
            Some(_) => {}
            None => drop(kept.insert(key, (part, text.to_owned()))),
        }
        if kept.len() > sampling.kept() {
            kept.pop_last();
        }
    }
    Ok(())
}

/// How a stream says its sample was drawn.
fn said(notes: &Notes) -> Result<Option<Sampling>> {
    let (Some(size), Some(key)) = (notes.get(SIZE), notes.get(KEY)) else { return Ok(None) };
    match (size.parse(), key.parse()) {
        (Ok(size), Ok(key)) => Ok(Some(Sampling { size, ..Sampling::new(key) })),
        _ => fail!("the stream says it is a sample of {size:?} passages by key {key:?}"),
    }
}
