//! The words of one language, made ready, and what they read in a text.

use super::find::{Clitics, Forms, Hit, bounds, holds, is_ideograph, longest};
use super::words::LanguageWords;
use crate::error::Result;
use crate::language::edge;
use std::collections::{BTreeMap, BTreeSet};

/// What a hit stands for that is no answer, and a denial.
const NONE: i32 = -1;
const DENY: i32 = -2;
/// A refusal.
const REFUSE: i32 = -3;
const NO: i32 = 1;
const MAYBE: i32 = 2;
/// A number that is greater than any gold.
const MORE: i32 = 99;

/// What ends a sentence, or parts what is no more than listed.
const STOPS: [char; 11] = ['.', '!', '?', ';', '|', '\u{3002}', '\u{61b}', '\u{61f}', '\u{964}', '\u{965}', '\u{6d4}'];

const WAW: char = '\u{648}';

/// One language.
pub(super) struct Tongue {
    pub words: LanguageWords,
    labels: Forms,
    numbers: Forms,
    directions: Forms,
    nothing: Forms,
    negations: Forms,
    or: Forms,
    separators: Forms,
    but: Forms,
    things: Forms,
    /// What may stand before and behind a clause of one word.
    parts: Vec<String>,
    after_parts: Vec<String>,
    /// By kind: form to entity.
    pub entities: BTreeMap<&'static str, BTreeMap<String, usize>>,
}

fn named<'a>(lists: impl IntoIterator<Item = &'a Vec<String>>, clitics: Clitics) -> Vec<(String, i32, Clitics)> {
    let lists = lists.into_iter().enumerate();
    lists.flat_map(|(n, forms)| forms.iter().map(move |form| (form.clone(), n as i32, clitics))).collect()
}

impl Tongue {
    pub fn new(words: LanguageWords) -> Result<Tongue> {
        let none = words.none();
        let mut labels = named([&words.yes, &words.no, &words.maybe], Clitics::Bare);
        labels.extend(none.iter().cloned());
        let mut numbers = named(&words.count, Clitics::Before);
        numbers.extend(words.nothing.iter().map(|w| (w.clone(), 0, Clitics::Before)));
        numbers.extend(words.more_numbers.iter().map(|w| (w.clone(), MORE, Clitics::Before)));
        numbers.extend(none.iter().cloned());
        let mut directions = named(&words.directions, Clitics::Before);
        directions.extend(none.iter().cloned());
        let mut nothing = named([&words.nothing], Clitics::Before);
        nothing.extend(none.iter().cloned());
        let parts = [words.or.clone(), words.and.clone()].concat();
        let parts = [parts, words.then.clone()].concat();
        let after_parts = [parts.clone(), words.because.clone()].concat();
        let mut entities = BTreeMap::new();
        for (kind, _) in super::KINDS {
            let mut known = BTreeMap::new();
            for (n, forms) in words.entities(kind, true).into_iter().enumerate() {
                forms.into_iter().for_each(|form| {
                    known.entry(form.clone()).or_insert(n);
                });
            }
            entities.insert(kind, known);
        }
        Ok(Tongue {
            labels: Forms::new(labels)?,
            numbers: Forms::new(numbers)?,
            directions: Forms::new(directions)?,
            nothing: Forms::new(nothing)?,
            negations: Forms::bare(&words.negations, DENY, Clitics::Before)?,
            or: Forms::bare(&words.or, 0, Clitics::Before)?,
            things: Forms::bare(&words.things, 0, Clitics::Bare)?,
            but: Forms::bare(&words.but, 0, Clitics::Before)?,
            separators: Forms::bare(&parts, 0, Clitics::Before)?,
            parts,
            after_parts,
            entities,
            words,
        })
    }

    /// Is a word a clause of its own?
    fn stands_alone(&self, text: &str, hit: &Hit) -> bool {
        let left = text[..hit.start].trim_end_matches(' ');
        if let Some(last) = left.chars().next_back() {
            let part = |p: &String| left.ends_with(p.as_str()) && edge(text, left.len() - p.len());
            if !bounds(text, left.len() - last.len_utf8()) && !self.parts.iter().any(part) {
                return false;
            }
        }
        let right = text[hit.end..].trim_start_matches(' ');
        let at = text.len() - right.len();
        let part = |p: &String| right.starts_with(p.as_str()) && edge(text, at + p.len());
        right.is_empty() || bounds(text, at) || self.after_parts.iter().any(part)
    }

    /// Does a clause begin with a person of whom it says more?
    fn has_subject(&self, clause: &str) -> bool {
        let actors = self.entities.get("actor").into_iter().flat_map(BTreeMap::keys);
        let begins = |s: &String| {
            let says_more = clause.strip_prefix(s.as_str()).filter(|rest| !rest.is_empty() && edge(clause, s.len()));
            // "John's hat"
            says_more.is_some_and(|rest| !rest.starts_with(['\'', '\u{7684}']))
        };
        self.words.subjects.iter().chain(actors).any(begins)
    }

    /// Does a mark stand before it?
    fn apart(&self, text: &str, hit: &Hit) -> bool {
        let left = text[..hit.start].trim_end_matches(' ');
        left.chars().next_back().is_none_or(|last| bounds(text, left.len() - last.len_utf8()))
    }

    /// Hits without those that refusals hide: in the rest of their sentences, up to a word of contrast.
    fn told(&self, text: &str, mut hits: Vec<Hit>) -> Vec<Hit> {
        let mut hidden: Vec<(usize, usize)> = Vec::new();
        for hit in hits.iter().filter(|hit| hit.class == REFUSE) {
            let rest = text[hit.end..].char_indices().map(|(at, c)| (hit.end + at, c));
            let stop = rest.into_iter().find(|(at, c)| STOPS.contains(c) && bounds(text, *at));
            let stop = stop.map_or(text.len(), |(at, _)| at);
            let turns = self.but.find(text, &self.words.proclitics, &[]).into_iter().map(|turn| turn.start);
            hidden.push((hit.end, turns.filter(|at| hit.end <= *at).min().unwrap_or(stop).min(stop)));
        }
        hits.retain(|hit| hit.class < 0 || !hidden.iter().any(|(start, end)| *start <= hit.start && hit.start < *end));
        hits
    }

    /// Which labels a text gives: 0 yes, 1 no, 2 maybe.
    pub fn label(&self, text: &str) -> BTreeSet<i32> {
        let hits = longest(self.labels.find(text, &[], &[]));
        let told = self.told(text, hits.clone());
        let given = hits.iter().filter(|hit| hit.class >= 0).filter(|hit| {
            // "I am not sure, maybe."
            let apart = || hit.class == MAYBE && self.apart(text, hit) && self.stands_alone(text, hit);
            if !told.contains(hit) && !apart() {
                return false;
            }
            let form = self.labels.form(hit);
            // "no he is in the kitchen"
            let opens =
                || hit.class == NO && hit.start == 0 && self.has_subject(text[hit.end..].trim_start_matches(' '));
            !self.words.weak.iter().any(|w| w == form) || opens() || self.stands_alone(text, hit)
        });
        given.map(|hit| hit.class).collect()
    }

    /// Which numbers a text gives: those in digits and words, else that of one article, else none.
    pub fn number(&self, text: &str) -> BTreeSet<i32> {
        const DIGITS: u32 = u32::MAX;
        const ZERO: u32 = u32::MAX - 1;
        let mut hits = self.numbers.find(text, &self.words.proclitics, &[]);
        let bytes = text.as_bytes();
        let digit = |n: usize| bytes.get(n).is_some_and(u8::is_ascii_digit);
        let mut n = 0;
        while n < bytes.len() {
            if !digit(n) {
                n += 1;
                continue;
            }
            let mut end = n;
            while digit(end) || matches!(bytes.get(end), Some(b'.' | b',')) && digit(end + 1) {
                end += 1;
            }
            let whole = &text[n..end];
            let whole = match whole.split_once('.') {
                Some((whole, rest)) if rest.bytes().all(|b| b == b'0') => whole,
                _ => whole,
            };
            let small = whole.len() <= 4 && whole.bytes().all(|b| b.is_ascii_digit());
            let class = if small { whole.parse().unwrap_or(MORE) } else { MORE };
            hits.push(Hit { start: n, end, class, form: if class == 0 { ZERO } else { DIGITS } });
            n = end;
        }
        let hits = longest(hits);
        let refused = hits.iter().any(|hit| hit.class == REFUSE);
        let (mut strong, mut clear, mut zero) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        let mut weak = Vec::new();
        for hit in self.told(text, hits).into_iter().filter(|hit| hit.class >= 0) {
            let form = if hit.form >= ZERO { "0" } else { self.numbers.form(&hit) };
            let common = self.words.weak_numbers.iter().any(|w| w == form);
            if hit.class == 0 && !form.starts_with(|c: char| c.is_ascii_digit()) {
                if !common || rest(text, &hit).trim_matches(' ').is_empty() || self.is_count(text, &hit) {
                    zero.insert(hit.class);
                }
            } else if !common {
                strong.insert(hit.class);
            } else {
                weak.push(hit.class);
                if self.is_count(text, &hit) {
                    clear.insert(hit.class);
                }
            }
        }
        match [strong, clear].into_iter().find(|set| !set.is_empty()) {
            Some(set) => set,
            // "an apple and a ball"
            None if weak.len() > 1 => BTreeSet::new(),
            None if weak.len() == 1 => weak.into_iter().collect(),
            None if refused => BTreeSet::new(),
            None => zero,
        }
    }

    /// Is a word that is common a clause of its own, or does its clause go on with what is counted?
    fn is_count(&self, text: &str, hit: &Hit) -> bool {
        self.stands_alone(text, hit) || !self.things.find(rest(text, hit), &[], &[]).is_empty()
    }

    /// The directions that a text gives, in order.
    pub fn path(&self, text: &str) -> Vec<i32> {
        let hits = self.told(text, longest(self.directions.find(text, &self.words.proclitics, &[])));
        let given = hits.iter().filter(|hit| hit.class >= 0).filter(|hit| {
            let form = self.directions.form(hit);
            form.chars().nth(1).is_some() || form.chars().all(is_ideograph) || self.stands_alone(text, hit)
        });
        given.map(|hit| hit.class).collect()
    }

    /// Of hits of entities and of what masks them: those that a text names, and those that it denies.
    pub fn mentions(&self, text: &str, hits: Vec<Hit>) -> (Vec<Hit>, Vec<Hit>) {
        let hits = self.told(text, longest(hits));
        let denials = self.negations.find(text, &self.words.proclitics, &[]);
        let covered = |d: &Hit| hits.iter().any(|h| h.class < 0 && h.start <= d.start && d.end <= h.end);
        let denials: Vec<Hit> = denials.into_iter().filter(|d| !covered(d)).collect();
        let named: Vec<&Hit> = hits.iter().filter(|hit| hit.class >= 0).collect();
        let (mut kept, mut denied): (Vec<Hit>, Vec<Hit>) = (Vec::new(), Vec::new());
        for (n, hit) in named.iter().enumerate() {
            let before = n.checked_sub(1).map(|n| *named[n]);
            let mut inside = if self.words.negation_after {
                let limit = named.get(n + 1).map_or(text.len(), |next| next.start);
                let span = &text[hit.end..limit];
                let stop =
                    span.char_indices().map(|(at, _)| hit.end + at).find(|at| bounds(text, *at)).unwrap_or(limit);
                denials.iter().any(|d| hit.end <= d.start && d.end <= stop)
            } else {
                let begin = before.map_or(0, |before| before.end);
                let span = &text[begin..hit.start];
                let part = span.char_indices().rev().find(|(at, _)| bounds(text, begin + at));
                let stop = part.map_or(begin, |(at, c)| begin + at + c.len_utf8());
                denials.iter().any(|d| stop <= d.start && d.end <= hit.start)
            };
            // "den Kuchen nicht"
            inside |= denials.iter().any(|d| {
                let between = text.get(hit.end..d.start).is_some_and(|span| span.trim_matches(' ').is_empty());
                between && rest(text, d).trim_matches(' ').is_empty()
            });
            if let Some(before) = before.filter(|b| !inside && !self.words.negation_after && denied.last() == Some(b)) {
                // "not in the garden or the kitchen"
                let span = &text[before.end..hit.start];
                inside = span.chars().count() < 24 && !self.or.find(span, &[], &[]).is_empty();
            }
            if inside { denied.push(**hit) } else { kept.push(**hit) }
        }
        (kept, denied)
    }

    /// Does a text say that there is nothing?
    pub fn says_nothing(&self, text: &str) -> bool {
        let hits = longest(self.nothing.find(text, &self.words.proclitics, &[]));
        hits.iter().any(|hit| hit.class >= 0) && hits.iter().all(|hit| hit.class != REFUSE)
    }

    /// Is it a way to say that there is nothing?
    pub fn is_nothing(&self, form: &str) -> bool {
        self.words.nothing.iter().any(|known| known == form)
    }

    /// Is there a short clause beside the named ones that names nothing known? `list`: a list is read, else alternatives.
    pub fn strangers(&self, text: &str, hits: &[Hit], list: bool) -> bool {
        let forms = if list { &self.separators } else { &self.or };
        let also: &[&[String]] = if list { &[&self.words.and, &self.words.then] } else { &[] };
        let is_separator = |cut: &str| {
            let words = self.words.or.iter().chain(also.iter().copied().flatten());
            let mark = cut == "/" || list && matches!(cut, "," | "\u{3001}" | "\u{60c}" | ";" | "|" | "\u{648}");
            mark || words.into_iter().any(|word| word == cut)
        };
        let found = forms.find(text, &self.words.proclitics, &[]);
        let mut cuts: Vec<(usize, usize)> = found.iter().map(|hit| (hit.start, hit.end)).collect();
        cuts.retain(|(s, e)| !hits.iter().any(|h| h.start < *e && *s < h.end));
        let has_waw = list && self.words.proclitics.iter().any(|p| p.chars().eq([WAW]));
        for (at, c) in text.char_indices() {
            if hits.iter().any(|h| h.start <= at && at < h.end) {
                continue;
            }
            let end = at + c.len_utf8();
            let joins = has_waw && c == WAW && text[..at].ends_with(' ');
            if bounds(text, at) || joins && text[end..].chars().next().is_some_and(|c| c != ' ') {
                cuts.push((at, end));
            }
        }
        cuts.sort_unstable();
        let mut clauses: Vec<(&str, &str, &str, bool)> = Vec::new();
        let (mut at, mut before) = (0, "");
        cuts.push((text.len(), text.len()));
        for (start, end) in cuts {
            if start < at {
                at = at.max(end);
                continue;
            }
            let clause = text[at..start].trim_matches(' ');
            if !clause.is_empty() {
                let known = hits.iter().any(|h| at <= h.start && h.start < start);
                clauses.push((clause, before, &text[start..end], known));
            }
            before = &text[start..end];
            at = end;
        }
        let known = |n: usize| clauses.get(n).is_some_and(|clause| clause.3);
        (0..clauses.len()).any(|n| {
            let (clause, before, after, is_known) = clauses[n];
            let most = if before.chars().eq([WAW]) { 2 } else { 3 };
            // "John went home and carries"
            let begins = || self.has_subject(clause) && !clauses[..n].iter().any(|clause| clause.3);
            let is_filler = self.words.fillers.iter().any(|f| f == clause) || begins();
            if is_known || is_filler || !is_short(clause, most) {
                return false;
            }
            n > 0 && known(n - 1) && is_separator(before) || known(n + 1) && is_separator(after)
        })
    }

    /// Does a text hold a form that may be inflected, read by this language?
    pub fn holds(&self, text: &str, form: &str, home: bool, inflected: bool) -> bool {
        match (home, inflected) {
            (true, true) => holds(text, form, &self.words.proclitics, &[]),
            (true, false) => holds(text, form, &self.words.proclitics, &self.words.endings),
            (false, true) => false,
            (false, false) => holds(text, form, &[], &self.words.endings_on_foreign),
        }
    }
}

/// The rest of a word's clause.
fn rest<'a>(text: &'a str, hit: &Hit) -> &'a str {
    let rest = &text[hit.end..];
    let stop = rest.char_indices().find(|(at, _)| bounds(text, hit.end + at));
    &rest[..stop.map_or(rest.len(), |(at, _)| at)]
}

fn is_short(clause: &str, most: usize) -> bool {
    match clause.chars().any(is_ideograph) {
        true => clause.chars().count() <= 4,
        false => clause.split(' ').count() <= most,
    }
}

impl LanguageWords {
    /// What means no answer.
    pub(super) fn none(&self) -> Vec<(String, i32, Clitics)> {
        let refusals = self.refusals.iter().map(|w| (w.clone(), REFUSE, Clitics::Bare));
        refusals.chain(self.mask.iter().map(|w| (w.clone(), NONE, Clitics::Bare))).collect()
    }

    /// Forms of every entity of a kind; of actors in Latin letters too.
    pub(super) fn entities(&self, kind: &str, latin: bool) -> Vec<Vec<String>> {
        let mut all = self.kinds.get(kind).cloned().unwrap_or_default();
        if kind == "actor" && latin {
            all.iter_mut().zip(&self.latin).for_each(|(forms, latin)| forms.extend(latin.iter().cloned()));
        }
        all
    }
}
