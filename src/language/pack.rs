//! A language pack: its file, checked and compiled.

use super::Message;
use super::breaks::Marks;
use super::file::{AnswerWords, FactoidWords, File, Instructions, OneOrMany, Person, PromptWords, Running};
use super::matching::Rules;
use super::names::{ACTORS, Kind, OBJECTS, PATTERNS, PLACES, STORY_ACTORS, Slot};
use super::pattern::{Segment, compile};
use super::reader::{ReadError, Reader};
use crate::error::{Error, Result};
use crate::fail;
use crate::hash::Digest;
use unicode_normalization::is_nfc;

/// The declared forms of every entity.
pub(super) struct Forms {
    names: [Vec<String>; 3],
    /// By kind, form, entity.
    texts: [Vec<Vec<String>>; 3],
    /// The same with the first letter upper-case.
    starts: [Vec<Vec<String>>; 3],
    /// By kind and entity: index into the pack's genders.
    gender: [Vec<usize>; 3],
    /// By kind and entity: accepted and never printed.
    also: [Vec<Vec<String>>; 3],
    genders: usize,
}

impl Forms {
    pub(super) fn index(&self, kind: Kind, form: &str) -> Result<usize> {
        let names = &self.names[kind as usize];
        names
            .iter()
            .position(|n| n == form)
            .ok_or_else(|| Error::new(format!("unknown form `{form}` of {kind:?}, declared are {}", names.join(", "))))
    }

    pub(super) fn genders(&self, kind: Kind) -> usize {
        if kind == Kind::Actor { self.genders.min(2) } else { self.genders }
    }

    pub(super) fn texts(&self, kind: Kind, form: usize, start: bool) -> &[String] {
        let texts = if start { &self.starts } else { &self.texts };
        &texts[kind as usize][form]
    }
}

/// A language pack, ready to write and read.
pub struct Pack {
    code: String,
    name: String,
    english_name: String,
    digest: Digest,
    forms: Forms,
    patterns: Vec<Vec<Segment>>,
    answers: AnswerWords,
    instructions: Instructions,
    prompt: PromptWords,
    noise: Vec<char>,
    matching: Rules,
    running: Running,
    factoids: Vec<FactoidWords>,
    reader: Option<Reader>,
}

impl Pack {
    /// Reads and checks a pack file. An error names the key at fault.
    pub fn parse(text: &str) -> Result<Pack> {
        check_characters(text)?;
        let file: File = toml::from_str(text).map_err(|e| Error::new(e.to_string().trim_end().to_owned()))?;
        let forms = build_forms(&file)?;
        let mut patterns = Vec::with_capacity(PATTERNS.len());
        for name in &PATTERNS {
            let section = match name.section {
                "facts" => &file.facts,
                "questions" => &file.questions,
                "fillers" => &file.fillers,
                _ => &file.scenes,
            };
            let text = match (section.get(name.key), name.of) {
                (Some(OneOrMany::One(text)), 0) => text,
                (Some(OneOrMany::Many(texts)), of) if of > 0 && texts.len() == of as usize => {
                    &texts[name.index as usize]
                }
                (Some(_), 0) => fail!("{}.{} must be one string", name.section, name.key),
                (Some(_), of) => fail!("{}.{} must be a list of {of} strings", name.section, name.key),
                (None, _) => fail!("missing key {}.{}", name.section, name.key),
            };
            patterns.push(compile(name, text, &forms, file.capitalize)?);
        }
        for (section, table) in [
            ("facts", &file.facts),
            ("questions", &file.questions),
            ("fillers", &file.fillers),
            ("scenes", &file.scenes),
        ] {
            let known = |key: &str| PATTERNS.iter().any(|p| p.section == section && p.key == key);
            if let Some(key) = table.keys().find(|key| !known(key)) {
                fail!("unknown pattern {section}.{key}");
            }
        }
        let words = &file.answers;
        for (key, list) in
            [("yes", &words.yes), ("no", &words.no), ("maybe", &words.maybe), ("nothing", &words.nothing)]
        {
            if list.is_empty() {
                fail!("answers.{key} needs at least the word itself");
            }
        }
        if words.count.len() != 11 || words.count.iter().any(Vec::is_empty) {
            fail!("answers.count needs eleven lists, for none to ten");
        }
        let noise: Vec<char> = file.noise.letters.chars().filter(|c| !c.is_whitespace()).collect();
        if noise.len() < 20 {
            fail!("noise.letters needs at least 20 letters");
        }
        let matching = Rules::new(&file.code, &file.matching)?;
        let mut pack = Pack {
            code: file.code,
            name: file.name,
            english_name: file.english_name,
            digest: Digest::of(text),
            forms,
            patterns,
            answers: file.answers,
            instructions: file.instructions,
            prompt: file.prompt,
            noise,
            matching,
            running: file.running,
            factoids: file.factoids,
            reader: None,
        };
        pack.reader = Some(Reader::new(&pack));
        Ok(pack)
    }

    /// ISO 639-1 code.
    pub fn code(&self) -> &str {
        &self.code
    }

    /// The language's own name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The language's English name.
    pub fn english_name(&self) -> &str {
        &self.english_name
    }

    /// SHA-256 of the pack file.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Appends the sentence of a message.
    pub fn write(&self, message: Message, out: &mut String) {
        for segment in &self.patterns[message.pattern as usize] {
            match segment {
                Segment::Text(text) => out.push_str(text),
                Segment::Form { slot, form, start } => {
                    out.push_str(&self.forms.texts(slot.kind(), *form, *start)[message.slots[*slot as usize] as usize]);
                }
                Segment::Agree { slot, texts } => {
                    let gender = self.forms.gender[slot.kind() as usize][message.slots[*slot as usize] as usize];
                    out.push_str(&texts[gender]);
                }
            }
        }
    }

    /// The sentence of a message.
    pub fn sentence(&self, message: Message) -> String {
        let mut out = String::new();
        self.write(message, &mut out);
        out
    }

    /// The single meaning of a sentence.
    pub fn read(&self, sentence: &str) -> std::result::Result<Message, ReadError> {
        self.reader.as_ref().expect("set by parse").read(self, sentence)
    }

    /// The words that stand for the entity in a slot of a message's sentence, as printed there.
    pub fn printed(&self, message: Message, slot: Slot) -> Vec<&str> {
        let entity = message.slots[slot as usize] as usize;
        let forms = self.patterns[message.pattern as usize].iter().filter_map(|segment| match segment {
            Segment::Form { slot: s, form, start } if *s == slot => {
                Some(self.forms.texts(slot.kind(), *form, *start)[entity].as_str())
            }
            _ => None,
        });
        forms.filter(|text| !text.is_empty()).collect()
    }

    /// The citation form of an entity: what the gold answer prints.
    pub fn citation(&self, kind: Kind, entity: u8) -> &str {
        &self.forms.texts(kind, 0, false)[entity as usize]
    }

    /// Everything besides the citation form that is accepted for an entity: its declared forms and
    /// the pack's synonyms, without repeats, sorted.
    pub fn variants(&self, kind: Kind, entity: u8) -> Vec<String> {
        let k = kind as usize;
        let names = self.forms.names[k].iter().enumerate();
        let mut all: Vec<String> = names
            .filter(|(_, name)| !name.starts_with('_'))
            .map(|(form, _)| self.forms.texts[k][form][entity as usize].clone())
            .chain(self.forms.also[k][entity as usize].iter().cloned())
            .filter(|text| text != self.citation(kind, entity))
            .collect();
        all.sort();
        all.dedup();
        all
    }

    /// Several entities in the same form, for every way in which each can be printed: all in the
    /// citation form, then all in each declared form, then the first synonyms of all, and so on.
    pub(crate) fn parallel_forms(&self, kind: Kind, entities: &[u8]) -> Vec<Vec<String>> {
        let k = kind as usize;
        let names = self.forms.names[k].iter().enumerate().filter(|(_, name)| !name.starts_with('_'));
        let mut all: Vec<Vec<String>> = names
            .map(|(form, _)| entities.iter().map(|&e| self.forms.texts[k][form][e as usize].clone()).collect())
            .collect();
        let also = |e: u8, n: usize| self.forms.also[k][e as usize].get(n).cloned();
        let mut n = 0;
        // An entity without an n-th synonym keeps its citation form beside those that have one.
        while entities.iter().any(|&e| also(e, n).is_some()) {
            let form = |&e: &u8| also(e, n).unwrap_or_else(|| self.citation(kind, e).to_owned());
            all.push(entities.iter().map(form).collect());
            n += 1;
        }
        all.dedup();
        all
    }

    /// Every way in which an entity can be printed or is accepted.
    pub fn forms_of(&self, kind: Kind, entity: u8) -> Vec<String> {
        let mut all = self.variants(kind, entity);
        all.push(self.citation(kind, entity).to_owned());
        all
    }

    /// Does the language put spaces between words? (Told by how it joins two sentences.)
    pub fn writes_spaces(&self) -> bool {
        !self.instructions.join.is_empty()
    }

    /// The letters random noise is drawn from.
    pub fn noise(&self) -> &[char] {
        &self.noise
    }

    /// How answers are found in this language's text.
    pub fn matching(&self) -> &Rules {
        &self.matching
    }

    /// The system message of the in-context recall test; empty in packs of old releases.
    pub fn system(&self) -> &str {
        &self.running.system
    }

    /// What is to be known of its sentences to hide one more among them.
    pub fn marks(&self) -> Marks<'_> {
        let Running { openings, soft_openings, abbreviations, .. } = &self.running;
        Marks { abbreviations, openings, soft: soft_openings, spaced: self.writes_spaces() }
    }

    /// The paper's factoids in this language.
    pub(crate) fn factoids(&self) -> &[FactoidWords] {
        &self.factoids
    }

    pub(crate) fn answers(&self) -> &AnswerWords {
        &self.answers
    }

    pub(crate) fn instructions(&self) -> &Instructions {
        &self.instructions
    }

    pub(crate) fn prompt(&self) -> &PromptWords {
        &self.prompt
    }

    pub(super) fn segments(&self, pattern: u8) -> &[Segment] {
        &self.patterns[pattern as usize]
    }

    pub(super) fn forms(&self) -> &Forms {
        &self.forms
    }
}

/// Invisible and look-alike characters have no place in a benchmark's text.
fn forbidden(c: char) -> bool {
    matches!(c, '\u{a0}' | '\u{ad}' | '\u{61c}' | '\u{640}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

fn check_characters(text: &str) -> Result<()> {
    for (n, line) in text.lines().enumerate() {
        if let Some(c) = line.chars().find(|c| forbidden(*c)) {
            fail!("line {} holds the invisible character U+{:04X}", n + 1, c as u32);
        }
        if !is_nfc(line) {
            fail!("line {} is not in Unicode normal form NFC", n + 1);
        }
    }
    Ok(())
}

fn build_forms(file: &File) -> Result<Forms> {
    let gender = |what: &str, gender: Option<&String>| match gender {
        None => Ok(0),
        Some(g) => file.genders.iter().position(|known| known == g).ok_or_else(|| {
            Error::new(format!("{what}: unknown gender `{g}`, the pack has {}", file.genders.join(", ")))
        }),
    };
    let mut forms = Forms {
        names: [vec!["base".to_owned()], Vec::new(), Vec::new()],
        texts: Default::default(),
        starts: Default::default(),
        gender: Default::default(),
        also: Default::default(),
        genders: file.genders.len(),
    };
    if file.genders.len() < 2 || file.genders[..2] != ["m", "f"] {
        fail!("genders must begin with m, f");
    }
    let cast: Vec<Person> = file.cast.story.iter().chain(&file.cast.extra).cloned().collect();
    if file.cast.story.len() != STORY_ACTORS || cast.len() != ACTORS {
        fail!("cast needs {STORY_ACTORS} story roles and {} more", ACTORS - STORY_ACTORS);
    }
    let genders = cast.iter().map(|p| gender(&p.name, Some(&p.gender))).collect::<Result<Vec<_>>>()?;
    if genders.iter().any(|g| *g > 1) {
        fail!("cast: a person is m or f");
    }
    let actor = Kind::Actor as usize;
    forms.also[actor] = vec![Vec::new(); cast.len()];
    forms.texts[actor] = vec![cast.iter().map(|p| p.name.clone()).collect()];
    for (name, template) in &file.forms.actor {
        let texts = cast.iter().zip(&genders).map(|(person, &g)| template.of(g, name, file, &person.name));
        forms.texts[actor].push(texts.collect::<Result<_>>()?);
        forms.names[actor].push(name.clone());
    }
    forms.gender[actor] = genders;
    for (kind, section, ids, entities, templates) in [
        (Kind::Object, "objects", &OBJECTS[..], &file.objects, &file.forms.object),
        (Kind::Place, "places", &PLACES[..], &file.places, &file.forms.place),
    ] {
        let k = kind as usize;
        if let Some(key) = entities.keys().find(|key| !ids.contains(&key.as_str())) {
            fail!("unknown key {section}.{key}, expected {}", ids.join(", "));
        }
        let mut names = vec!["base".to_owned()];
        names.extend(templates.keys().cloned());
        let mut texts = vec![Vec::new(); names.len()];
        for id in ids {
            let Some(entity) = entities.get(*id) else { fail!("missing key {section}.{id}") };
            if let Some(form) = entity.forms.keys().find(|form| !names.contains(form)) {
                fail!("{section}.{id}: unknown form `{form}`, declared are {}", names.join(", "));
            }
            let g = gender(&format!("{section}.{id}"), entity.gender.as_ref())?;
            forms.gender[k].push(g);
            forms.also[k].push(entity.also.clone());
            for (form, name) in names.iter().enumerate() {
                let text = match (name.as_str(), entity.forms.get(name), templates.get(name)) {
                    ("base", ..) => entity.base.clone(),
                    (_, Some(text), _) => text.clone(),
                    (_, None, Some(template)) => template.of(g, name, file, &entity.base)?,
                    (_, None, None) => unreachable!("names beside `base` are the templates' keys"),
                };
                texts[form].push(text);
            }
        }
        forms.names[k] = names;
        forms.texts[k] = texts;
    }
    let capital = |text: &String| {
        let mut chars = text.chars();
        chars.next().map_or_else(String::new, |c| c.to_uppercase().chain(chars).collect::<String>())
    };
    forms.starts =
        std::array::from_fn(|k| forms.texts[k].iter().map(|texts| texts.iter().map(capital).collect()).collect());
    Ok(forms)
}
