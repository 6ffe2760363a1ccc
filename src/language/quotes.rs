//! Which quotation marks and brackets of a paragraph open and close, and where all are closed.
//!
//! The same mark opens in one language and closes in another, and an apostrophe looks like a quotation mark. So a mark
//! is read by what is open where it stands, and then by the white space around it. Where the marks of a paragraph
//! contradict each other, more of it counts as quoted, never less.

/// Marks that always open, with those that close them.
const PAIRS: [(char, &str); 22] = [
    ('(', ")"),
    ('[', "]"),
    ('{', "}"),
    ('\u{201E}', "\u{201C}\u{201D}"),
    ('\u{201F}', "\u{201D}"),
    ('\u{2045}', "\u{2046}"),
    ('\u{2E28}', "\u{2E29}"),
    ('\u{3008}', "\u{3009}"),
    ('\u{300A}', "\u{300B}"),
    ('\u{300C}', "\u{300D}"),
    ('\u{300E}', "\u{300F}"),
    ('\u{3010}', "\u{3011}"),
    ('\u{3014}', "\u{3015}"),
    ('\u{3016}', "\u{3017}"),
    ('\u{301D}', "\u{301E}\u{301F}"),
    ('\u{FE41}', "\u{FE42}"),
    ('\u{FE43}', "\u{FE44}"),
    ('\u{FF08}', "\u{FF09}"),
    ('\u{FF3B}', "\u{FF3D}"),
    ('\u{FF5B}', "\u{FF5D}"),
    ('\u{FF62}', "\u{FF63}"),
    ('\u{FF5F}', "\u{FF60}"),
];

/// Marks that open or close, by what is open: where they close nothing, they open what these marks close.
const EITHER: [(char, &str); 6] = [
    ('\u{201C}', "\u{201D}"),
    ('\u{201D}', "\u{201C}\u{201D}"),
    ('\u{AB}', "\u{BB}"),
    ('\u{BB}', "\u{AB}\u{BB}"),
    ('\u{2039}', "\u{203A}"),
    ('\u{203A}', "\u{2039}\u{203A}"),
];

/// Could a character stand before an opening mark without white space?
fn leads(c: char) -> bool {
    c.is_whitespace()
        || is_dash(c)
        || "\"\u{FF02}'\u{BF}\u{A1}/".contains(c)
        || "\u{2018}\u{201C}\u{201A}\u{AB}\u{2039}\u{BB}\u{203A}".contains(c)
        || PAIRS.iter().any(|(opens, _)| *opens == c)
}

/// Hyphens and dashes.
pub(super) fn is_dash(c: char) -> bool {
    matches!(c, '-' | '\u{2010}'..='\u{2015}' | '\u{2212}')
}

/// Does a character open a bracket of the kind that holds an aside?
pub(super) fn opens_aside(c: char) -> bool {
    matches!(c, '(' | '[' | '{' | '\u{FF08}' | '\u{FF3B}' | '\u{FF5B}')
}

/// Could a character be a quotation mark or title mark before the first word of a sentence?
pub(super) fn may_open(c: char) -> bool {
    "\"'\u{FF02}\u{2018}\u{2019}\u{201A}\u{203A}".contains(c)
        || EITHER.iter().any(|(opens, _)| *opens == c)
        || PAIRS.iter().any(|(opens, _)| *opens == c && !opens_aside(c))
}

/// A mark that opened or closed something.
struct Event {
    at: usize,
    opens: bool,
    /// How many are open after it.
    depth: usize,
}

/// What an open mark waits for: one of some characters, or the one at a byte (single quotation marks).
struct Open {
    closers: &'static str,
    until: usize,
}

/// The marks of a paragraph. All positions are bytes of it.
pub(super) struct Quotes {
    events: Vec<Event>,
    /// From here on nothing counts as closed.
    broken_from: usize,
}

impl Quotes {
    /// Reads the marks of a paragraph.
    pub(super) fn of(paragraph: &str) -> Quotes {
        let mut walk = Walk {
            text: paragraph,
            open: Vec::new(),
            first_straight: None,
            quotes: Quotes { events: Vec::new(), broken_from: usize::MAX },
        };
        for (at, c) in paragraph.char_indices() {
            if may_matter(c) {
                walk.mark(at, c);
            }
        }
        if let (Some(first), true) = (walk.first_straight, walk.open.iter().any(|open| is_straight(open.closers))) {
            // An odd number: one of them is an inch or a slip, and from then on inside and outside are exchanged.
            walk.break_from(first);
        }
        walk.quotes
    }

    /// Is nothing open between the bytes before a position and those after it?
    pub(super) fn closed_at(&self, at: usize) -> bool {
        let before = self.events.partition_point(|event| event.at < at);
        at <= self.broken_from && before.checked_sub(1).is_none_or(|n| self.events[n].depth == 0)
    }

    /// Does the character at a position open something?
    pub(super) fn opens_at(&self, at: usize) -> bool {
        self.event_at(at).is_some_and(|event| event.opens)
    }

    /// Does the character at a position close something?
    pub(super) fn closes_at(&self, at: usize) -> bool {
        self.event_at(at).is_some_and(|event| !event.opens)
    }

    fn event_at(&self, at: usize) -> Option<&Event> {
        self.events.binary_search_by_key(&at, |event| event.at).ok().map(|n| &self.events[n])
    }
}

/// Spares the walk the letters.
fn may_matter(c: char) -> bool {
    match c {
        '\0'..='\u{7F}' => "\"'()[]{}".contains(c),
        '\u{AB}' | '\u{BB}' | '\u{2018}'..='\u{201F}' | '\u{2039}' | '\u{203A}' | '\u{2045}' | '\u{2046}' => true,
        '\u{2E28}' | '\u{2E29}' | '\u{3008}'..='\u{301F}' | '\u{FE41}'..='\u{FE44}' | '\u{FF02}'..='\u{FF63}' => true,
        _ => false,
    }
}

fn is_straight(closers: &str) -> bool {
    matches!(closers, "\"" | "\u{FF02}")
}

fn closes_something(c: char) -> bool {
    PAIRS.iter().any(|(_, closers)| closers.contains(c))
}

/// The state between two marks.
struct Walk<'a> {
    text: &'a str,
    open: Vec<Open>,
    first_straight: Option<usize>,
    quotes: Quotes,
}

impl Walk<'_> {
    fn mark(&mut self, at: usize, c: char) {
        let before = self.text[..at].chars().next_back();
        let after = self.text[at + c.len_utf8()..].chars().next();
        let starts_word = before.is_none_or(leads) && after.is_some_and(|c| !c.is_whitespace());
        match c {
            _ if self.open.last().is_some_and(|open| open.until == at) => self.close(at),
            '\'' => self.open_single(at, c, c, starts_word && after.is_some_and(char::is_alphanumeric)),
            '"' => self.straight(at, "\"", before, after),
            '\u{FF02}' => self.straight(at, "\u{FF02}", before, after),
            '\u{2019}' => {
                if self.accepts(c) && !after.is_some_and(char::is_alphanumeric) {
                    self.close(at);
                }
            }
            _ if self.accepts(c) => self.close(at),
            '\u{2018}' => self.open_single(at, c, '\u{2019}', !before.is_some_and(char::is_alphanumeric)),
            // Otherwise it is a comma of another code table.
            '\u{201A}' if starts_word => self.open(at, "\u{2018}\u{2019}", usize::MAX),
            _ => self.other(at, c, starts_word),
        }
    }

    fn accepts(&self, c: char) -> bool {
        self.open.last().is_some_and(|open| open.closers.contains(c))
    }

    fn other(&mut self, at: usize, c: char, starts_word: bool) {
        let either = EITHER.iter().find(|(mark, _)| *mark == c);
        let always = matches!(c, '\u{201C}' | '\u{AB}' | '\u{2039}');
        if let Some((_, closers)) = PAIRS.iter().find(|(opens, _)| *opens == c) {
            self.open(at, closers, usize::MAX);
        } else if let Some((_, closers)) = either.filter(|_| always || starts_word) {
            self.open(at, closers, usize::MAX);
        } else if closes_something(c) || either.is_some() {
            self.stray();
        }
    }

    /// A closing mark that closes nothing. What it should close began before the paragraph, unless something else is
    /// open; that then stays open.
    fn stray(&mut self) {
        if self.open.is_empty() {
            self.break_from(0);
        }
    }

    fn break_from(&mut self, at: usize) {
        self.quotes.broken_from = self.quotes.broken_from.min(at);
    }

    /// Straight marks open and close in turn. One that visibly does the other thing shows that the turns are wrong.
    fn straight(&mut self, at: usize, mark: &'static str, before: Option<char>, after: Option<char>) {
        let first = *self.first_straight.get_or_insert(at);
        let space_before = before.is_none_or(char::is_whitespace);
        if self.open.last().is_some_and(|open| open.closers == mark) {
            if space_before && after.is_some_and(char::is_alphanumeric) {
                self.break_from(first);
            }
            self.close(at);
        } else {
            if !space_before && after.is_none_or(char::is_whitespace) {
                self.break_from(0);
            }
            self.open(at, mark, usize::MAX);
        }
    }

    /// A single mark, whose closing mark is the apostrophe's character.
    fn open_single(&mut self, at: usize, opens: char, closes: char, may_open: bool) {
        if !may_open {
            return;
        }
        match self.end_of_single(at + opens.len_utf8(), opens, closes) {
            Some(until) => self.open(at, "", until),
            // The straight one stands for letters left out, as in 'tis; the curved one was meant to open.
            None if opens == closes => {}
            None => self.open(at, "", usize::MAX),
        }
    }

    /// Where the quotation ends that begins before `from`: at the first mark that ends a word after other punctuation,
    /// else at the last that ends a word. Those between may be genitives ("the boys' hats").
    fn end_of_single(&self, from: usize, opens: char, closes: char) -> Option<usize> {
        let mut last = None;
        let mut before = None;
        let mut chars = self.text[from..].char_indices().peekable();
        while let Some((n, c)) = chars.next() {
            let after = chars.peek().map(|(_, c)| *c);
            let ends_word = before.is_some_and(|c: char| !c.is_whitespace());
            if c == closes && ends_word && !after.is_some_and(char::is_alphanumeric) {
                last = Some(from + n);
                if !before.is_some_and(char::is_alphanumeric) {
                    return last;
                }
            } else if c == opens && (opens != closes || before.is_none_or(leads)) {
                return last;
            }
            before = Some(c);
        }
        last
    }

    fn open(&mut self, at: usize, closers: &'static str, until: usize) {
        self.open.push(Open { closers, until });
        self.quotes.events.push(Event { at, opens: true, depth: self.open.len() });
    }

    fn close(&mut self, at: usize) {
        self.open.pop();
        self.quotes.events.push(Event { at, opens: false, depth: self.open.len() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The paragraph with `<` and `>` for what opens and closes, and `_` for each other byte that is not closed.
    fn shown(text: &str) -> String {
        let quotes = Quotes::of(text);
        let sign = |at| match () {
            () if quotes.opens_at(at) => '<',
            () if quotes.closes_at(at) => '>',
            () if quotes.closed_at(at) => '.',
            () => '_',
        };
        text.char_indices().map(|(at, _)| sign(at)).collect()
    }

    #[test]
    fn pairs_open_and_close() {
        assert_eq!(shown("a (b [c] d) e"), "..<__<_>__>..");
    }

    #[test]
    fn a_mark_reads_by_what_is_open() {
        assert_eq!(shown("\u{201E}a\u{201C} \u{201C}b\u{201D} \u{BB}c\u{AB} \u{AB}d\u{BB}"), "<_>.<_>.<_>.<_>");
    }

    #[test]
    fn an_apostrophe_is_no_mark() {
        assert!(!shown("I\u{2019}m the boys\u{2019} 'tis don't").contains(['<', '>', '_']));
    }

    #[test]
    fn a_single_quotation_runs_over_genitives() {
        assert_eq!(shown("\u{2018}boys\u{2019} hats.\u{2019} x"), "<___________>..");
        assert_eq!(shown("'boys' hats.' x"), "<___________>..");
    }

    #[test]
    fn an_odd_straight_mark_breaks_from_the_first() {
        assert_eq!(shown("ab \"c\" d \"e"), "...<_>___<_");
    }

    #[test]
    fn a_stray_closing_mark_breaks_all() {
        assert_eq!(shown("ab) c"), ".____");
    }
}
