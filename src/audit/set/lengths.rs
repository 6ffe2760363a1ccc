//! Token counts against the length that a prompt should have.

use crate::audit::Check;

/// The length that a prompt should have, in tokens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Nominal {
    /// The length at its shortest reading: 8k is 8,000.
    pub tokens: u64,
    /// At its longest: 8k is 8,192. More than that is over.
    pub most: u64,
}

/// Below this share of the nominal length, in percent, a prompt is short.
pub const LEAST: u64 = 80;

impl Nominal {
    /// So many thousands; none for 0k, which is as long as its story.
    pub fn kilo(thousands: u64) -> Option<Nominal> {
        let (tokens, most) = (thousands.checked_mul(1000)?, thousands.checked_mul(1024)?);
        (thousands > 0).then_some(Nominal { tokens, most })
    }

    /// Exactly so many tokens.
    pub fn exactly(tokens: u64) -> Option<Nominal> {
        (tokens > 0).then_some(Nominal { tokens, most: tokens })
    }

    /// Reads `8k`, `8K` or a whole number of tokens. The outer none: it is no length. The inner one: there is no length to keep (0).
    pub fn parse(text: &str) -> Option<Option<Nominal>> {
        let text = text.trim();
        match text.strip_suffix(['k', 'K']) {
            Some(thousands) => thousands.trim().parse().ok().map(Nominal::kilo),
            None => text.strip_suffix(".0").unwrap_or(text).parse().ok().map(Nominal::exactly),
        }
    }

    /// Is a number of tokens too many or too few?
    pub fn judge(self, tokens: u64, tokenizer: &str) -> Option<(Check, String)> {
        if tokens > self.most {
            let over = tokens - self.most;
            return Some((Check::OverLength, format!("{tokens} tokens of {tokenizer}, {over} over {}", self.most)));
        }
        let least = u128::from(self.tokens) * u128::from(LEAST) / 100;
        (u128::from(tokens) < least).then(|| {
            let fill = u128::from(tokens) * 100 / u128::from(self.tokens);
            (Check::ShortLength, format!("{tokens} tokens of {tokenizer}, {fill}% of {}", self.tokens))
        })
    }
}

/// The counts of a file.
#[derive(Clone, Debug, Default)]
pub struct Lengths(Vec<u64>);

impl Lengths {
    /// One more prompt.
    pub fn add(&mut self, tokens: u64) {
        self.0.push(tokens);
    }

    /// Least, median and most, in words.
    pub fn note(mut self, file: &str, tokenizer: &str, nominal: Option<Nominal>) -> String {
        self.0.sort_unstable();
        let of = |n: usize| self.0.get(n).copied().unwrap_or(0);
        let (least, median, most) = (of(0), of(self.0.len() / 2), of(self.0.len().saturating_sub(1)));
        let nominal = nominal.map_or(String::new(), |n| format!(" of nominally {}", n.tokens));
        format!("{file}: {least} to {most} tokens, half of the prompts up to {median}{nominal} ({tokenizer})")
    }
}
