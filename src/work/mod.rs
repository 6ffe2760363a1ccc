//! One build on many machines: a plan of rows, workers that make them, and a seal that makes them a release.
//!
//! ```text
//! plan      all of a build but its rows: a row of the plan for each prompt, and what the rows are made of, in parts by content
//! render    rows of the plan -> prompt rows, each proven; any number of workers, each of any rows, in any order, as often as need be
//! seal      prompt rows in any order -> the release; none is missing or double, and each is what its worker proved
//! ```
//!
//! A local build is the same path without the folder: [`pipeline`](crate::pipeline) fits the rows, [`stage::render`](crate::stage::render) renders
//! them and [`stage::write`](crate::stage::write) seals them, from memory. So the bytes are the same, however the rows were shared out.
//!
//! # A plan folder
//!
//! ```text
//! plan.json            what the plan is, and digests of all else ([`PlanFile`])
//! rows/00000.parquet   rows of the plan, some millions of tokens a file: a unit of work (columns in [`rows::SCHEMA`])
//! parts/<sha256>       passages, rankings, instances, packs, tokenizers, pins: what rows are made of
//! prompts/             where prompt rows are gathered, unless another place is named
//! ```
//!
//! Rows stand in the order of their bundles. A bundle is a part that holds what the rows of a few instances need and other rows do
//! not: instances, rankings as far as rows take from them, and of MLNeedle the passages too. What many rows need (the pool of a
//! language, a running text) is a part of its own. So a worker that takes neighbouring rows reads few parts, and its memory does not
//! grow with their number.
//!
//! What it costs is estimated beforehand ([`cost`]); how it is used, and what moves over a network, stands in the `README.md` beside this module.
//!
//! Nothing secret is in it: a held-out seed is read by each worker from where the recipe says.

pub mod cost;
pub mod folder;
mod index;
mod inputs;
pub mod make;
mod needle;
pub mod part;
pub mod prompts;
pub mod render;
pub mod rows;
mod running;
pub mod seal;
mod segment;
pub mod send;
pub mod share;
pub mod spool;
mod story;

pub use folder::{PlanFile, Target};

use crate::error::{Error, Result};
use crate::plan::FilePlan;
use crate::stage::assemble::RowPlan;
use crate::stage::render::{FileRows, Rows};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::ops::Range;

/// Format of plan folders: raised when workers would make other rows of the same folder.
pub const FORMAT: u32 = 1;

/// Rows that can be made elsewhere, from parts.
pub trait Divided: Rows {
    /// Hands over what many rows need, by name.
    fn shared(&self, files: &[FileRows], put: &mut dyn FnMut(&str, Vec<u8>) -> Result<()>) -> Result<()>;

    /// What a row belongs to whose rows are best made together: the number of its instance, or of its language.
    fn unit(&self, file: &FilePlan, row: &RowPlan) -> u32;

    /// What rows of these units need beside what is shared; `rows` are all that there are.
    fn bundle(&self, units: Range<u32>, rows: &[(&FilePlan, RowPlan)]) -> Result<Vec<u8>>;
}

/// A value as the bytes of a part.
fn encode(value: &impl Serialize) -> Result<Vec<u8>> {
    postcard::to_stdvec(value).map_err(|e| Error::new(format!("cannot encode a part of the plan: {e}")))
}

/// The value of a part.
fn decode<T: DeserializeOwned>(name: &str, bytes: &[u8]) -> Result<T> {
    postcard::from_bytes(bytes).map_err(|e| {
        Error::new(format!("the part {name} of the plan cannot be read: {e}"))
            .help("make the plan again with this version of the program")
    })
}
