//! What workers wrote of shards, merged into one of its kind.

use super::apart::{self, Leaks};
use super::said::Said;
use super::sample::{self, Sample};
use super::stream::{Event, Notes, Source, each};
use super::topk::{self, Lists};
use super::{KIND, part::Parts};
use crate::error::{Error, Result};
use crate::source::collection::Sampling;
use std::io::Write;

/// What is merged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Lists of the nearest.
    Topk,
    /// Samples.
    Sample,
    /// Passages to be kept apart.
    Leaks,
}

impl Kind {
    /// What a stream says it is; of one without notes, lists.
    fn of(notes: &Notes) -> Result<Kind> {
        match notes.get(KIND) {
            None | Some(topk::NAME) => Ok(Kind::Topk),
            Some(sample::NAME) => Ok(Kind::Sample),
            Some(apart::NAME) => Ok(Kind::Leaks),
            Some(other) => Err(Error::new(format!("a stream of {other} needs no merging"))
                .help("streams behind one another are read as one, and so are several that are named")),
        }
    }
}

/// What the notes of streams say, for streams that have lost them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Given {
    /// What they are; else what the first of them says.
    pub kind: Option<Kind>,
    /// Passages of a list.
    pub k: Option<usize>,
    /// How a sample was drawn.
    pub sampling: Option<Sampling>,
}

/// Streams as one.
pub enum Merged {
    /// Lists of the nearest.
    Topk(Lists),
    /// Samples.
    Sample(Sample),
    /// Passages to be kept apart.
    Leaks(Leaks),
}

impl Merged {
    /// Merges streams of one kind, in any order, each read once.
    pub fn read(sources: &[Source], given: Given) -> Result<Merged> {
        let mut merged: Option<Merged> = None;
        for source in sources {
            each(source, |event| {
                if let (None, Event::Stream(_, notes)) = (&merged, &event) {
                    merged = Some(Merged::begin(given.kind.map_or_else(|| Kind::of(notes), Ok)?, given)?);
                }
                match &mut merged {
                    Some(Merged::Topk(lists)) => lists.take(event),
                    Some(Merged::Sample(sample)) => sample.take(event),
                    Some(Merged::Leaks(leaks)) => leaks.take(event),
                    None => Ok(()),
                }
            })?;
        }
        match merged {
            Some(Merged::Topk(lists)) => lists.done().map(Merged::Topk),
            Some(Merged::Sample(sample)) => sample.done().map(Merged::Sample),
            Some(leaks) => Ok(leaks),
            None => Err(Error::new("no stream is there to be merged")),
        }
    }

    fn begin(kind: Kind, given: Given) -> Result<Merged> {
        Ok(match kind {
            Kind::Topk => Merged::Topk(Lists::new(given.k)?),
            Kind::Sample => Merged::Sample(Sample::new(given.sampling)),
            Kind::Leaks => Merged::Leaks(Leaks::default()),
        })
    }

    fn said(&self) -> &Said {
        match self {
            Merged::Topk(lists) => &lists.said,
            Merged::Sample(sample) => &sample.said,
            Merged::Leaks(leaks) => &leaks.said,
        }
    }

    /// Fails if a shard is missing, or if it is not known.
    pub fn whole(&self) -> Result<()> {
        Parts::whole(self.said().parts())
    }

    /// Writes it as one stream.
    pub fn write(&self, out: &mut dyn Write) -> Result<()> {
        match self {
            Merged::Topk(lists) => lists.write(out),
            Merged::Sample(sample) => sample.write(out),
            Merged::Leaks(leaks) => leaks.write(out),
        }
    }
}
