//! One sentence pattern: its text in the pack, compiled to segments that write it.

use super::names::{Kind, PatternName, Slot};
use super::pack::Forms;
use crate::error::{Error, Result};

/// A piece of a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Segment {
    /// Printed as it is.
    Text(String),
    /// A form of the entity in a slot; `start` where the sentence begins with it and the language
    /// writes a capital there.
    Form { slot: Slot, form: usize, start: bool },
    /// One of several texts, by the gender of the entity in a slot; of two persons, the second where both are women.
    Agree { slots: Vec<Slot>, texts: Vec<Vec<Segment>> },
}

/// Compiles a pattern's text. `{P.into}` is a form, `[A:x|y]` an agreement, all else text.
pub(super) fn compile(name: &PatternName, text: &str, forms: &Forms, capitalize: bool) -> Result<Vec<Segment>> {
    let mut compiler = Compiler { name, text, forms, capitalize, printed: [false; 5] };
    let segments = compiler.segments(text, true)?;
    for slot in name.used().filter(|slot| !compiler.printed[slot.index()]) {
        // A pronoun may be told by agreement alone.
        let agrees = |s: &Segment| matches!(s, Segment::Agree { slots, .. } if slots == &[Slot::G]);
        if slot != Slot::G || !segments.iter().any(agrees) {
            return Err(compiler.fault("a slot of this pattern is not printed".to_owned()));
        }
    }
    Ok(segments)
}

struct Compiler<'a> {
    name: &'a PatternName,
    text: &'a str,
    forms: &'a Forms,
    capitalize: bool,
    printed: [bool; 5],
}

impl Compiler<'_> {
    fn fault(&self, what: String) -> Error {
        Error::new(what).at(self.name.path()).at(format!("pattern {:?}", self.text))
    }

    /// `first` where the text begins the sentence.
    fn segments(&mut self, text: &str, first: bool) -> Result<Vec<Segment>> {
        let mut segments = Vec::new();
        let mut rest = text;
        while let Some(open) = rest.find(['{', '[', '}', ']', '|']) {
            if open > 0 {
                segments.push(Segment::Text(rest[..open].to_owned()));
            }
            let close = match rest.as_bytes()[open] {
                b'{' => '}',
                b'[' => ']',
                _ => return Err(self.fault(format!("stray `{}`", &rest[open..open + 1]))),
            };
            let end = rest[open..].find(close);
            let end = end.ok_or_else(|| self.fault(format!("no `{close}` closes this slot")))? + open;
            let inside = &rest[open + 1..end];
            let start = first && segments.is_empty();
            segments.push(if close == '}' { self.form(inside, start)? } else { self.agree(inside, start)? });
            rest = &rest[end + 1..];
        }
        if !rest.is_empty() {
            segments.push(Segment::Text(rest.to_owned()));
        }
        Ok(segments)
    }

    fn slot(&self, letter: Option<char>, inside: &str) -> Result<Slot> {
        let slot = letter.and_then(Slot::of).filter(|slot| self.name.has(*slot));
        slot.ok_or_else(|| {
            let known: Vec<_> = self.name.used().map(Slot::letter).collect();
            self.fault(format!("unknown slot in `{inside}`, this pattern has {known:?}"))
        })
    }

    fn form(&mut self, inside: &str, start: bool) -> Result<Segment> {
        let slot = self.slot(inside.chars().next(), inside)?;
        self.printed[slot.index()] = true;
        let tail = &inside[1..];
        let form = match tail.strip_prefix('.') {
            Some(form) => form,
            None if tail.is_empty() => "base",
            None => return Err(self.fault(format!("expected `.form` after the slot in `{inside}`"))),
        };
        let form = self.forms.index(slot.kind(), form).map_err(|e| e.at(self.name.path()))?;
        Ok(Segment::Form { slot, form, start: self.capitalize && start })
    }

    fn agree(&mut self, inside: &str, start: bool) -> Result<Segment> {
        let (letters, tail) = inside.split_once(':').ok_or_else(|| {
            // A wrong slot is the nearer fault.
            self.slot(inside.chars().next(), inside)
                .err()
                .unwrap_or_else(|| self.fault(format!("expected `:` in `{inside}`")))
        })?;
        let slots = letters.chars().map(|c| self.slot(Some(c), inside)).collect::<Result<Vec<_>>>()?;
        let texts: Vec<&str> = tail.split('|').collect();
        let wanted: &[usize] = match slots[..] {
            [slot] => {
                let genders = self.forms.genders(slot.kind());
                if slot.kind() == Kind::Actor { &[genders, 2] } else { &[genders] }
            }
            [Slot::A, Slot::B] => &[2],
            _ => return Err(self.fault(format!("`{letters}` in `{inside}`: one slot agrees, or the two persons AB"))),
        };
        if !wanted.contains(&texts.len()) {
            let genders = wanted[0];
            return Err(self.fault(format!("`{inside}` has {} alternatives, expected {genders}", texts.len())));
        }
        let texts = texts.into_iter().map(|text| self.segments(text, start)).collect::<Result<_>>()?;
        Ok(Segment::Agree { slots, texts })
    }
}
