//! Reads a sentence back to its meaning with the patterns that write it.
//!
//! All patterns of a pack form one trie over bytes, with edges for slots. A slot matches declared
//! forms only. What matches is written again and must give the same text, so that a wrong gender,
//! case or contraction is refused.

use super::names::{Kind, PATTERN_COUNT, PRONOUNS, Slot, event};
use super::pack::Pack;
use super::pattern::Segment;
use super::{Message, PATTERNS};
use std::fmt;

/// Why a sentence has no single meaning. (Pronouns that a language writes alike are no fault: the sentence before tells
/// them apart.)
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ReadError {
    /// No pattern of the pack writes it.
    Unknown,
    /// Several meanings are written this way.
    Ambiguous(Vec<Message>),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::Unknown => f.write_str("no pattern of the language pack writes this sentence"),
            ReadError::Ambiguous(all) => {
                write!(f, "{} meanings share this text:", all.len())?;
                all.iter().try_for_each(|m| write!(f, " {}{:?}", PATTERNS[m.pattern as usize].path(), m.slots))
            }
        }
    }
}

#[derive(Default)]
struct Node {
    bytes: Vec<(u8, u32)>,
    forms: Vec<(FormEdge, u32)>,
    /// Of sentences: patterns, or places in a pack's memory. Of forms: entities.
    ends: Vec<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct FormEdge {
    slot: Slot,
    set: u32,
}

/// The printed forms of one kind under one form name, as a trie of entity numbers.
struct FormSet {
    kind: Kind,
    form: usize,
    start: bool,
    nodes: Vec<Node>,
}

/// The compiled trie of a pack.
pub(super) struct Reader {
    nodes: Vec<Node>,
    sets: Vec<FormSet>,
}

impl Reader {
    pub(super) fn new(pack: &Pack) -> Self {
        let mut reader = Reader { nodes: vec![Node::default()], sets: Vec::new() };
        for pattern in (0..PATTERN_COUNT as u8).filter(|pattern| !pack.segments(*pattern).is_empty()) {
            // Every choice of agreement is a branch; writing again settles which one is right.
            reader.insert(pack, u32::from(pattern), pack.segments(pattern), 0);
        }
        for (n, (_, segments)) in pack.memory().iter().enumerate() {
            reader.insert(pack, n as u32, segments, 0);
        }
        reader
    }

    fn insert(&mut self, pack: &Pack, pattern: u32, segments: &[Segment], node: u32) {
        let Some((first, rest)) = segments.split_first() else {
            let ends = &mut self.nodes[node as usize].ends;
            if !ends.contains(&pattern) {
                ends.push(pattern);
            }
            return;
        };
        match first {
            Segment::Text(text) => {
                let next = walk(&mut self.nodes, node, text);
                self.insert(pack, pattern, rest, next);
            }
            Segment::Agree { texts, .. } => {
                for text in texts {
                    self.insert(pack, pattern, &[text, rest].concat(), node);
                }
            }
            Segment::Form { slot, form, start } => {
                let set = self.form_set(pack, slot.kind(), *form, *start);
                let edge = FormEdge { slot: *slot, set };
                let known = self.nodes[node as usize].forms.iter().find(|(e, _)| *e == edge).map(|(_, next)| *next);
                let next = known.unwrap_or_else(|| {
                    self.nodes.push(Node::default());
                    let next = self.nodes.len() as u32 - 1;
                    self.nodes[node as usize].forms.push((edge, next));
                    next
                });
                self.insert(pack, pattern, rest, next);
            }
        }
    }

    fn form_set(&mut self, pack: &Pack, kind: Kind, form: usize, start: bool) -> u32 {
        if let Some(i) = self.sets.iter().position(|s| (s.kind, s.form, s.start) == (kind, form, start)) {
            return i as u32;
        }
        let mut nodes = vec![Node::default()];
        for (entity, text) in pack.forms().texts(kind, form, start).iter().enumerate() {
            let end = walk(&mut nodes, 0, text);
            nodes[end as usize].ends.push(entity as u32);
        }
        self.sets.push(FormSet { kind, form, start, nodes });
        self.sets.len() as u32 - 1
    }

    /// The single meaning of a sentence.
    pub(super) fn read(&self, pack: &Pack, sentence: &str) -> Result<Message, ReadError> {
        let mut ends = Vec::new();
        self.follow(sentence.as_bytes(), 0, [None; 5], &mut ends);
        let mut found: Vec<Message> = ends.into_iter().map(|(end, slots)| message_of(pack, end, slots)).collect();
        for message in std::mem::take(&mut found) {
            // A pronoun that is told by agreement alone is any that agrees.
            let told = message.slots[Slot::G.index()] != 0 || !PATTERNS[message.pattern as usize].has(Slot::G);
            let pronouns = if told { 0..1 } else { 0..PRONOUNS.len() };
            found.extend(pronouns.map(|n| {
                let mut message = message;
                if !told {
                    message.slots[Slot::G.index()] = 1 << n;
                }
                message
            }));
        }
        found.sort();
        found.dedup();
        let mut text = String::with_capacity(sentence.len());
        found.retain(|message| {
            text.clear();
            pack.write(*message, &mut text);
            text == sentence
        });
        // Pronouns that are written alike are one reading, which leaves open whom they stand for.
        found.dedup_by(|next, first| {
            let alike = first.pattern == next.pattern && PATTERNS[first.pattern as usize].has(Slot::G);
            let mut merged = *first;
            merged.slots[Slot::G.index()] |= next.slots[Slot::G.index()];
            let mut other = *next;
            other.slots[Slot::G.index()] = merged.slots[Slot::G.index()];
            let same = alike && merged == other;
            if same {
                *first = merged;
            }
            same
        });
        if pack.is_translated() {
            // Verbs that a translation says alike are one event, told with the first of them.
            found.dedup_by_key(|message| Message { pattern: event(message.pattern), ..*message });
        }
        match found.len() {
            0 => Err(ReadError::Unknown),
            1 => Ok(found[0]),
            _ => Err(ReadError::Ambiguous(found)),
        }
    }

    fn follow(&self, mut rest: &[u8], mut node: u32, slots: [Option<u8>; 5], found: &mut Vec<End>) {
        loop {
            let here = &self.nodes[node as usize];
            if rest.is_empty() {
                found.extend(here.ends.iter().map(|&end| (end, slots)));
            }
            for &(edge, next) in &here.forms {
                let set = &self.sets[edge.set as usize].nodes;
                let (mut at, mut length) = (0, 0);
                loop {
                    for &entity in &set[at as usize].ends {
                        let mut slots = slots;
                        // A slot that is printed twice must name the same entity twice.
                        let value = if edge.slot == Slot::G { 1 << entity } else { entity as u8 };
                        if slots[edge.slot.index()].replace(value).is_none_or(|before| before == value) {
                            self.follow(&rest[length..], next, slots, found);
                        }
                    }
                    let Some(next) = rest.get(length).and_then(|&byte| step(&set[at as usize], byte)) else { break };
                    at = next;
                    length += 1;
                }
            }
            let Some(next) = rest.first().and_then(|&byte| step(here, byte)) else { return };
            node = next;
            rest = &rest[1..];
        }
    }
}

/// Where a sentence ends, and what stands in its slots.
type End = (u32, [Option<u8>; 5]);

fn message_of(pack: &Pack, end: u32, slots: [Option<u8>; 5]) -> Message {
    match pack.memory().get(end as usize) {
        None => Message { pattern: end as u8, slots: slots.map(Option::unwrap_or_default) },
        // The sentence says all but its persons.
        Some((message, _)) => {
            let slots = std::array::from_fn(|n| slots[n].unwrap_or(message.slots[n]));
            Message { pattern: message.pattern, slots }
        }
    }
}

fn step(node: &Node, byte: u8) -> Option<u32> {
    node.bytes.iter().find(|(b, _)| *b == byte).map(|(_, next)| *next)
}

fn walk(nodes: &mut Vec<Node>, mut node: u32, text: &str) -> u32 {
    for byte in text.bytes() {
        node = step(&nodes[node as usize], byte).unwrap_or_else(|| {
            nodes.push(Node::default());
            let next = nodes.len() as u32 - 1;
            nodes[node as usize].bytes.push((byte, next));
            next
        });
    }
    node
}
