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
    /// One of several texts, by the gender of the entity in a slot.
    Agree { slot: Slot, texts: Vec<String> },
}

/// Compiles a pattern's text. `{P.into}` is a form, `[A:x|y]` an agreement, all else text.
pub(super) fn compile(name: &PatternName, text: &str, forms: &Forms, capitalize: bool) -> Result<Vec<Segment>> {
    let fault = |what: String| Error::new(what).at(name.path()).at(format!("pattern {text:?}"));
    let mut segments = Vec::new();
    let mut used = [false; 5];
    let mut rest = text;
    while let Some(open) = rest.find(['{', '[', '}', ']', '|']) {
        if open > 0 {
            segments.push(Segment::Text(rest[..open].to_owned()));
        }
        let close = match rest.as_bytes()[open] {
            b'{' => '}',
            b'[' => ']',
            _ => return Err(fault(format!("stray `{}`", &rest[open..open + 1]))),
        };
        let end = rest[open..].find(close).ok_or_else(|| fault(format!("no `{close}` closes this slot")))? + open;
        let inside = &rest[open + 1..end];
        let slot = inside.chars().next().and_then(Slot::of).filter(|slot| name.slots[*slot as usize]);
        let slot = slot.ok_or_else(|| {
            let known: Vec<_> = Slot::ALL.iter().filter(|s| name.slots[**s as usize]).map(|s| s.letter()).collect();
            fault(format!("unknown slot in `{inside}`, this pattern has {known:?}"))
        })?;
        let tail = &inside[1..];
        if close == '}' {
            used[slot as usize] = true;
            let form = match tail.strip_prefix('.') {
                Some(form) => form,
                None if tail.is_empty() => "base",
                None => return Err(fault(format!("expected `.form` after the slot in `{inside}`"))),
            };
            let form = forms.index(slot.kind(), form).map_err(|e| e.at(name.path()))?;
            segments.push(Segment::Form { slot, form, start: capitalize && segments.is_empty() });
        } else {
            let texts = tail.strip_prefix(':').ok_or_else(|| fault(format!("expected `:` in `{inside}`")))?;
            let texts: Vec<String> = texts.split('|').map(str::to_owned).collect();
            let genders = forms.genders(slot.kind());
            if texts.len() != genders && !(slot.kind() == Kind::Actor && texts.len() == 2) {
                return Err(fault(format!("`{inside}` has {} alternatives, the pack {genders} genders", texts.len())));
            }
            segments.push(Segment::Agree { slot, texts });
        }
        rest = &rest[end + 1..];
    }
    if !rest.is_empty() {
        segments.push(Segment::Text(rest.to_owned()));
    }
    if used != name.slots {
        return Err(fault("a slot of this pattern is not printed".to_owned()));
    }
    Ok(segments)
}
