//! Decides where each cell of the grid ends its running text and where it holds its needle.
//!
//! All needles of a language stand in the very same text at the very same place, so that only they differ. A length's
//! text ends at the last sentence break with which every needle, at every depth, fits; a needle stands at the break
//! nearest to its depth, unless the sentence behind it would point back at the needle.

use super::splice::Splicer;
use super::texts::{PARTED, Running};
use crate::error::{Error, Result};
use crate::family::factoid::{Frame, gap};
use crate::language::breaks::Break;
use crate::language::{Language, Pack};
use crate::plan::Plan;
use crate::recipe::{Factoid, Layout, LengthOf, Percent, Recipe, Strategy};
use crate::tokenizer::{Ledger, Piece, Tokenizer, Unit, join};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Tokens that the seams of a prompt may save, at most.
const SEAMS: u64 = 8;

/// A place in a text where a needle may stand, or a text may end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slot {
    /// The byte.
    pub at: usize,
    /// The sentence behind it points back.
    pub guarded: bool,
    /// It leans on what came before.
    pub soft: bool,
}

impl Slot {
    /// Behind a sentence.
    pub fn of(place: &Break) -> Slot {
        Slot { at: place.end, guarded: place.guarded, soft: place.soft }
    }
}

/// A cell: which length and depth, and what became of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Placed {
    /// Place of the length in the recipe's list.
    pub length: usize,
    /// Place of the depth.
    pub depth: usize,
    /// The text ends at this byte.
    pub end: usize,
    /// The needle stands at this byte.
    pub at: usize,
    /// Nearer breaks that the guard passed over.
    pub moved: u64,
    /// Tokens of the text before the needle, and of the text, each as a text of its own.
    pub depth_tokens: (u64, u64),
}

/// A needle, ready to be put into texts: tokenised once under each tokenizer.
pub struct Prepared {
    /// As the recipe has it.
    pub factoid: Factoid,
    /// What stands around the text.
    pub frame: Frame,
    /// By tokenizer.
    pub units: Vec<NeedleUnits>,
    /// The needle's text.
    pub text: String,
}

/// The texts around and in a document, tokenised under one tokenizer.
pub struct NeedleUnits {
    pub(super) head: Unit,
    pub(super) gap: Unit,
    /// What parts a needle from a heading behind it.
    pub(super) parted: Unit,
    pub(super) needle: Unit,
    pub(super) tail: Unit,
    /// Tokens of the system message, where it stands apart.
    pub(super) system: u64,
}

/// A needle in a text: counts of its prompts under each tokenizer, the primary one first.
pub struct InText<'a> {
    /// The needle.
    pub needle: &'a Prepared,
    /// One a tokenizer.
    pub splicers: Vec<Splicer<'a>>,
}

impl<'a> InText<'a> {
    /// Puts them together.
    pub fn new(ledger: &'a Ledger, needle: &'a Prepared, running: &'a Running) -> InText<'a> {
        let each = ledger.all().iter().zip(running.units.iter().zip(&needle.units));
        let splicers = each.map(|(tokenizer, (text, units))| {
            let apart = units.system + u64::from(ledger.added(tokenizer));
            Splicer::new(tokenizer, text, units, apart, running.heading)
        });
        InText { needle, splicers: splicers.collect() }
    }
}

impl Prepared {
    /// Prepares a needle.
    pub fn new(recipe: &Recipe, ledger: &Ledger, factoid: &Factoid, pack: &Pack) -> Prepared {
        let system = recipe.prompt.system.as_deref().unwrap_or(pack.system());
        let layout = recipe.prompt.layout.unwrap_or(Layout::PlainTable6);
        let frame = Frame::new(layout, system, factoid.question.as_deref().unwrap_or_default());
        let text = factoid.needle.as_deref().unwrap_or_default();
        let units = |tokenizer: &Tokenizer| NeedleUnits {
            head: Unit::new(tokenizer, frame.head.as_str()),
            gap: Unit::new(tokenizer, gap(pack.writes_spaces())),
            parted: Unit::new(tokenizer, PARTED),
            needle: Unit::new(tokenizer, text),
            tail: Unit::new(tokenizer, frame.tail.as_str()),
            system: frame.system.as_deref().map_or(0, |text| tokenizer.count(text) as u64),
        };
        let units = ledger.all().iter().map(units).collect();
        Prepared { factoid: factoid.clone(), frame, units, text: text.to_owned() }
    }

    /// Tokens of the system message that stands apart, under the tokenizer of a place in the ledger.
    pub fn system_tokens(&self, tokenizer: usize) -> u64 {
        self.units[tokenizer].system
    }
}

/// The place for a depth, of those up to an end; and how many nearer ones were passed over. `tokens` are those of the text
/// before each place.
///
/// The two places on either side of the asked one are within a sentence of it. The nearer of those that open a fresh
/// sentence is taken; else the nearer of those whose sentence leans on what came before; and only where both are guarded, the
/// nearest place beyond that is not. Behind the end of the text nothing points back.
pub fn nearest(places: &[Slot], tokens: &[u64], end: usize, depth: Percent) -> (usize, u64) {
    let last = places.partition_point(|slot| slot.at < end);
    let asked = tokens[last] * depth.millionths();
    let distance = |n: usize| (tokens[n] * 1_000_000).abs_diff(asked);
    let behind = tokens[..last].partition_point(|n| n * 1_000_000 < asked);
    let before = if tokens[behind] * 1_000_000 == asked { behind } else { behind.saturating_sub(1) };
    let open = |n: &usize| *n == last || !places[*n].guarded;
    let fresh = |n: &usize| *n == last || !places[*n].guarded && !places[*n].soft;
    let near = |n: &usize| (before..=behind).contains(n);
    let nearest_of = |wanted: &dyn Fn(&usize) -> bool| (0..=last).filter(wanted).min_by_key(|n| (distance(*n), *n));
    let best = nearest_of(&|n| near(n) && fresh(n))
        .or_else(|| nearest_of(&|n| near(n) && open(n)))
        .or_else(|| nearest_of(&|n| open(n)))
        .unwrap_or(last);
    let nearer = (0..=last).filter(|n| distance(*n) < distance(best)).count();
    (best, nearer as u64)
}

/// Does a text begin with a heading? A needle before it is a paragraph of its own.
pub fn begins_with_heading(text: &str, first: Option<usize>) -> bool {
    let paragraph = text.find(PARTED).unwrap_or(text.len());
    first.is_none_or(|first| first > paragraph)
}

/// The places of a text: its beginning, and its sentence breaks.
pub fn places(running: &Running) -> Vec<Slot> {
    let start = Slot { at: 0, guarded: running.guarded, soft: false };
    std::iter::once(start).chain(running.breaks.iter().map(Slot::of)).collect()
}

/// Tokens of the text before each place, as a text of its own: what follows does not matter.
pub fn tokens_before(tokenizer: &Tokenizer, unit: &Unit, places: &[Slot]) -> Vec<u64> {
    let before = |slot: &Slot| join(tokenizer, &[Piece { unit, range: 0..slot.at }]).tokens as u64;
    places.par_iter().map(before).collect()
}

/// Places the cells of a language.
pub fn place(
    plan: &Plan,
    language: Language,
    running: &Running,
    needles: &[&InText<'_>],
    cells: &[(usize, usize)],
) -> Result<Vec<Placed>> {
    let slots = &plan.recipe.slots;
    let (lengths, depths) = (slots.lengths.as_deref().unwrap_or_default(), slots.depths.as_deref().unwrap_or_default());
    let places = places(running);
    let bounding = plan.ledger.bounding().iter().zip(&running.units);
    let tokens: Vec<Vec<u64>> = bounding.map(|(tokenizer, unit)| tokens_before(tokenizer, unit, &places)).collect();
    let grid = Grid { plan, needles, places: &places, tokens: &tokens, depths };
    let wanted: Vec<usize> = (0..lengths.len()).filter(|n| cells.iter().any(|(length, _)| length == n)).collect();
    let of = |n: &usize| {
        grid.length(*n, u64::from(lengths[*n])).map_err(|e| e.at(format!("{} tokens in {language}", lengths[*n])))
    };
    let placed: Vec<Vec<Placed>> = wanted.par_iter().map(of).collect::<Result<_>>()?;
    let asked = |placed: &Placed| cells.binary_search(&(placed.length, placed.depth)).is_ok();
    Ok(placed.into_iter().flatten().filter(asked).collect())
}

struct Grid<'a> {
    plan: &'a Plan,
    needles: &'a [&'a InText<'a>],
    places: &'a [Slot],
    /// By tokenizer: tokens before each place.
    tokens: &'a [Vec<u64>],
    depths: &'a [Percent],
}

impl Grid<'_> {
    /// All depths of a length.
    fn length(&self, n: usize, length: u64) -> Result<Vec<Placed>> {
        // What stands around the text, less a few tokens that seams may save: from there down, one break at a time.
        let around: Vec<u64> = (0..self.plan.ledger.bounding().len()).map(|t| self.around(t)).collect();
        let fits_alone = |place: usize| around.iter().enumerate().all(|(t, n)| self.tokens[t][place] + n <= length);
        let mut last = self.partition(fits_alone);
        if last + 1 == self.places.len() {
            let missing = format!("the text ends after {} tokens", self.tokens[0][last]);
            return Err(Error::new(missing).help(
                "give more text with haystack.files, shorten slots.window, or allow haystack.repeat (rows then say how often)",
            ));
        }
        while last > 0 {
            let placed = self.at(n, last);
            if placed.iter().all(|placed| self.fits(placed, length)) {
                return Ok(placed);
            }
            last -= 1;
        }
        Err(Error::new("no sentence fits beside the needle").help("leave out the shortest lengths: raise slots.first"))
    }

    /// The least tokens that surely stand around a text.
    fn around(&self, t: usize) -> u64 {
        let of = |needle: &&InText<'_>| {
            let units = &needle.needle.units[t];
            let needle = units.needle.tokens().len() as u64;
            match self.plan.recipe.slots.length_of {
                Some(LengthOf::Haystack) => needle,
                _ => {
                    let frame = units.head.tokens().len() as u64 + units.tail.tokens().len() as u64 + units.system;
                    needle + frame + self.plan.recipe.budget.reserve(Strategy::ZeroShot)
                }
            }
        };
        self.needles.iter().map(of).max().unwrap_or(0).saturating_sub(SEAMS)
    }

    /// The last place for which something holds that holds for all before it.
    fn partition(&self, holds: impl Fn(usize) -> bool) -> usize {
        let (mut low, mut high) = (0, self.places.len());
        while high - low > 1 {
            let middle = (low + high) / 2;
            if holds(middle) { low = middle } else { high = middle }
        }
        low
    }

    /// Every depth of a text that ends at a place.
    fn at(&self, length: usize, last: usize) -> Vec<Placed> {
        let end = self.places[last].at;
        let place = |(n, depth): (usize, &Percent)| {
            let (best, moved) = nearest(self.places, &self.tokens[0], end, *depth);
            Placed {
                length,
                depth: n,
                end,
                at: self.places[best].at,
                moved,
                depth_tokens: (self.tokens[0][best], self.tokens[0][last]),
            }
        };
        self.depths.iter().enumerate().map(place).collect()
    }

    /// Does a cell fit its length with every needle, under every bounding tokenizer?
    fn fits(&self, placed: &Placed, length: u64) -> bool {
        let reserve = self.plan.recipe.budget.reserve(Strategy::ZeroShot);
        let bounding = self.plan.ledger.bounding().len();
        self.needles.iter().flat_map(|needle| &needle.splicers[..bounding]).all(|splicer| {
            let counted = splicer.count(placed.at, placed.end);
            match self.plan.recipe.slots.length_of {
                Some(LengthOf::Haystack) => counted.document <= length,
                _ => counted.n_tokens + reserve <= length,
            }
        })
    }
}
