//! The sample of a collection: drawn from parts of it, and merged. A passage is drawn for the mix of its number alone, so the samples
//! of parts hold the sample of the whole.

use super::part::{Parts, WHOLE, stretch};
use super::said::Said;
use super::stream::{Event, Piece, Source, begin, each, integers};
use super::{KEY, SIZE};
use crate::error::{Error, Result};
use crate::fail;
use crate::seed::mix;
use crate::source::collection::{Drawing, Sampling};
use crate::work::share::Share;
use arrow_array::StringArray;
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
    /// The parts that it is, if that is known.
    parts: Option<Parts>,
}

impl Drawn {
    fn of(drawing: Drawing, parts: Option<Parts>) -> Drawn {
        let Drawing { kept, lines, dropped, .. } = drawing.end();
        Drawn { kept: kept.into_iter().map(|(key, (text, _))| (key, text)).collect(), lines, dropped, parts }
    }
}

/// Draws from a share of a file of lines `number<TAB>passage`: the lines that begin in its share of the bytes. Without one, from all of it.
pub fn lines(path: &Path, share: Option<Share>, sampling: &Sampling) -> Result<Drawn> {
    let fault = |e: std::io::Error| Error::io("cannot read", path, e);
    let mut file = File::open(path).map_err(|e| Error::io("cannot open", path, e))?;
    let (from, to) = stretch(share.unwrap_or(WHOLE), file.metadata().map_err(fault)?.len());
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
    Ok(Drawn::of(drawing, share.map(Parts::of)))
}

/// Draws from rows: `number`, or an `id` of digits, and `text`. Without a share, the parts are those that the rows say.
pub fn stream(sources: &[Source], share: Option<Share>, sampling: &Sampling) -> Result<Drawn> {
    let mut drawing = Drawing::within(sampling);
    let mut said = Said::new(None, &[]).of(share);
    let mut line = Vec::new();
    for source in sources {
        each(source, |event| {
            let piece = match event {
                Event::Stream(_, notes) => return said.add(notes),
                Event::Rows(piece) => piece,
            };
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
    Ok(Drawn::of(drawing, said.parts().cloned()))
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
    kept: Kept,
    /// What the streams say.
    pub said: Said,
}

/// How samples are drawn, as streams say it.
fn said(sampling: Option<Sampling>) -> Said {
    let (size, key) = sampling.map(|sampling| (sampling.size.to_string(), sampling.key.to_string())).unzip();
    Said::new(Some(NAME), &[SIZE, KEY]).with(SIZE, size).with(KEY, key)
}

impl Sample {
    /// Nothing yet. `given`: how it is drawn, where the streams do not say it.
    pub fn new(given: Option<Sampling>) -> Sample {
        Sample { kept: Kept::new(), said: said(given) }
    }

    /// That of a part.
    pub fn of(drawn: Drawn, sampling: Sampling) -> Sample {
        let part = drawn.parts.as_ref().map_or(1, Parts::first);
        let kept = drawn.kept.into_iter().map(|(key, text)| (key, (part, text))).collect();
        Sample { kept, said: said(Some(sampling)).with_parts(drawn.parts) }
    }

    /// Merges streams, in any order.
    ///
    /// # Errors
    ///
    /// Streams that were drawn otherwise, and a number with two texts in one part.
    pub fn merge(sources: &[Source]) -> Result<Sample> {
        let mut sample = Sample::new(None);
        for source in sources {
            each(source, |event| sample.take(event))?;
        }
        sample.done()
    }

    /// Takes in what a source holds, one after the other.
    pub fn take(&mut self, event: Event<'_>) -> Result<()> {
        match event {
            Event::Stream(_, notes) => self.said.add(notes),
            Event::Rows(piece) => {
                let sampling = self.sampling()?;
                take(&piece, &sampling, &mut self.kept)
            }
        }
    }

    /// All streams are in.
    pub fn done(self) -> Result<Sample> {
        self.sampling().map(|_| self)
    }

    fn sampling(&self) -> Result<Sampling> {
        let (Some(size), Some(key)) = (self.said.get(SIZE), self.said.get(KEY)) else {
            return Err(Error::new("the streams do not say how they were drawn")
                .help("name the recipe with --recipe, and --seed if it was another"));
        };
        match (size.parse(), key.parse()) {
            (Ok(size), Ok(key)) => Ok(Sampling { size, ..Sampling::new(key) }),
            _ => fail!("the stream says it is a sample of {size:?} passages by key {key:?}"),
        }
    }

    /// Number and passage, by mix.
    pub fn rows(&self) -> impl Iterator<Item = (u32, &str)> {
        self.kept.iter().map(|((_, number), (_, text))| (*number, text.as_str()))
    }

    /// Writes it as a stream: `number`, `text`, and the `part` it stands in.
    pub fn write(&self, out: &mut dyn Write) -> Result<()> {
        let mut sink = begin(out, fields(), self.said.notes())?;
        let rows: Vec<_> = self.kept.iter().collect();
        for rows in rows.chunks(ROWS) {
            let numbers = integers(rows.iter().map(|((_, number), _)| *number));
            let parts = integers(rows.iter().map(|(_, (part, _))| *part));
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
