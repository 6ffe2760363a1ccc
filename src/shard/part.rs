//! Which part of how many: `3/16`. Streams say which parts they hold, so that one that was lost is missed.

use crate::error::{Error, Result};
use crate::fail;
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// One part of several.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// From 1.
    pub number: u32,
    /// How many there are.
    pub of: u32,
}

impl Part {
    /// All there is.
    pub const WHOLE: Part = Part { number: 1, of: 1 };

    /// The share of this part of so many bytes or rows: from, and up to.
    pub fn share(self, total: u64) -> (u64, u64) {
        let at = |number: u32| (u128::from(total) * u128::from(number) / u128::from(self.of)) as u64;
        (at(self.number - 1), at(self.number))
    }
}

impl FromStr for Part {
    type Err = Error;

    fn from_str(text: &str) -> Result<Part> {
        let pair = text.split_once('/').and_then(|(n, of)| Some((n.parse().ok()?, of.parse().ok()?)));
        match pair {
            Some((number, of)) if 1 <= number && number <= of => Ok(Part { number, of }),
            _ => Err(Error::new(format!("{text:?} is no part of several")).help("write it as 3/16: the third of sixteen")),
        }
    }
}

/// Several parts of the same whole.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parts {
    of: u32,
    numbers: BTreeSet<u32>,
}

impl Parts {
    /// One alone.
    pub fn of(part: Part) -> Parts {
        Parts { of: part.of, numbers: BTreeSet::from([part.number]) }
    }

    /// Those of both. A part that is in both came twice, as of a worker that was tried again.
    pub fn with(mut self, other: Parts) -> Result<Parts> {
        if self.of != other.of {
            fail!("parts of {} and of {} are not of the same whole", self.of, other.of);
        }
        self.numbers.extend(other.numbers);
        Ok(self)
    }

    /// Those that are not in.
    pub fn missing(&self) -> Vec<u32> {
        (1..=self.of).filter(|n| !self.numbers.contains(n)).collect()
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
            let own = Parts::of(format!("{number}/{of}").parse()?);
            all = Some(match all {
                Some(before) => before.with(own)?,
                None => own,
            });
        }
        all.ok_or_else(unknown)
    }
}
