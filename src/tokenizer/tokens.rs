//! Where the tokens of a text end.

/// The first character boundary at or behind a byte, at most the text's end.
pub(super) fn char_end(text: &str, byte: usize) -> usize {
    (byte..text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len())
}

/// Where the tokens of a text end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tokens {
    /// The byte at which each token ends, ascending. A token that ends inside a character ends where the character
    /// does, so that neighbours may end at the same byte; white space that a tokenizer drops belongs to the token
    /// before it. The last one is the text's length (texts end before 4 GiB).
    pub ends: Vec<u32>,
    hard: Vec<bool>,
}

impl Tokens {
    /// Appends a token.
    pub(super) fn push(&mut self, end: usize, hard: bool) {
        self.ends.push(u32::try_from(end).unwrap_or(u32::MAX));
        self.hard.push(hard);
    }

    /// Makes the last end hard.
    pub(super) fn harden(&mut self) {
        if let Some(last) = self.hard.last_mut() {
            *last = true;
        }
    }

    /// Number of tokens.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Is the end of token `i` hard? So is the text's end.
    pub fn is_hard(&self, i: usize) -> bool {
        self.hard.get(i).copied().unwrap_or(false)
    }

    /// The bytes of the hard ends, each once.
    pub(super) fn cuts(&self) -> impl Iterator<Item = usize> {
        // Of tokens that end at one byte, the last one decides, as in `is_hard_at`.
        let last = |i: usize| self.ends.get(i + 1) != self.ends.get(i);
        let ends = self.ends.iter().enumerate().filter(move |&(i, _)| self.is_hard(i) && last(i));
        ends.map(|(_, &end)| end as usize)
    }

    /// Does a token end at this byte, and is that end hard?
    pub fn is_hard_at(&self, byte: usize) -> bool {
        let before = self.before(byte);
        before > 0 && self.ends[before - 1] as usize == byte && self.hard[before - 1]
    }

    /// Tokens that end at or before this byte; none at byte 0.
    pub fn before(&self, byte: usize) -> usize {
        // A mark before a text can be a token that holds no byte and ends at 0: it belongs to the text all the same.
        if byte == 0 { 0 } else { self.ends.partition_point(|&end| end as usize <= byte) }
    }
}
