//! Which parts of how many: `3,5/16`. Streams say which parts they hold, so that one that was lost is missed.

use crate::error::{Error, Result};
use crate::fail;
use crate::work::share::Share;
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// The share of a part of so many bytes or rows: from, and up to.
pub fn stretch(share: Share, total: u64) -> (u64, u64) {
    let at = |number: u32| (u128::from(total) * u128::from(number) / u128::from(share.of)) as u64;
    (at(share.part - 1), at(share.part))
}

/// The one share that is all.
pub const WHOLE: Share = Share { part: 1, of: 1 };

/// So many missing parts are named.
const NAMED: usize = 20;

/// Several parts of the same whole.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parts {
    of: u32,
    numbers: BTreeSet<u32>,
}

impl Parts {
    /// One alone.
    pub fn of(share: Share) -> Parts {
        Parts { of: share.of, numbers: BTreeSet::from([share.part]) }
    }

    /// Those of both. A part that is in both came twice, as of a worker that was tried again.
    pub fn with(mut self, other: Parts) -> Result<Parts> {
        if self.of != other.of {
            fail!("parts of {} and of {} are not of the same whole", self.of, other.of);
        }
        self.numbers.extend(other.numbers);
        Ok(self)
    }

    /// The first of them.
    pub fn first(&self) -> u32 {
        self.numbers.first().copied().unwrap_or(1)
    }

    /// How many are not in.
    pub fn missing(&self) -> u32 {
        self.of - self.numbers.len() as u32
    }

    /// Fails if some are not in, or if it is not known.
    pub fn whole(parts: Option<&Parts>) -> Result<()> {
        let Some(parts) = parts else {
            return Err(Error::new(
                "whether a shard is missing is not known: a stream does not say which parts it holds",
            )
            .help("make rows or shards with --part I/N (1/1 for one that is all); what only hands on rows (as an engine may) loses it"));
        };
        let (n, of) = (parts.missing(), parts.of);
        if n == 0 {
            return Ok(());
        }
        let first = (1..=of).filter(|part| !parts.numbers.contains(part)).take(NAMED);
        let first: Vec<String> = first.map(|part| part.to_string()).collect();
        let more = if n as usize > NAMED { ", ..." } else { "" };
        Err(Error::new(format!("{n} of {of} shards are missing: {}{more}", first.join(", ")))
            .help("do those, and merge again"))
    }
}

impl fmt::Display for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<String> = self.numbers.iter().map(u32::to_string).collect();
        write!(f, "{}/{}", all.join(","), self.of)
    }
}

impl FromStr for Parts {
    type Err = Error;

    fn from_str(text: &str) -> Result<Parts> {
        let unknown = || Error::new(format!("{text:?} names no parts"));
        let (numbers, of) = text.split_once('/').ok_or_else(unknown)?;
        let mut all: Option<Parts> = None;
        for number in numbers.split(',') {
            let own = Parts::of(format!("{number}/{of}").parse().map_err(|_| unknown())?);
            all = Some(match all {
                Some(before) => before.with(own)?,
                None => own,
            });
        }
        all.ok_or_else(unknown)
    }
}
