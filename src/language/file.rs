//! A pack file as it is written.

use super::names::Kind;
use crate::error::Result;
use crate::fail;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub code: String,
    pub name: String,
    pub english_name: String,
    pub capitalize: bool,
    pub genders: Vec<String>,
    pub cast: Cast,
    pub forms: FormTemplates,
    pub places: BTreeMap<String, Entity>,
    pub objects: BTreeMap<String, Entity>,
    #[serde(default)]
    pub facts: BTreeMap<String, OneOrMany>,
    #[serde(default)]
    pub questions: BTreeMap<String, OneOrMany>,
    #[serde(default)]
    pub fillers: BTreeMap<String, OneOrMany>,
    #[serde(default)]
    pub scenes: BTreeMap<String, OneOrMany>,
    /// In place of patterns: each sentence for itself, as machine translation gives them.
    #[serde(default)]
    pub sentences: Vec<Sentence>,
    pub answers: AnswerWords,
    pub instructions: Instructions,
    pub prompt: PromptWords,
    pub noise: Noise,
    /// Releases older than this section carry packs without it.
    #[serde(default)]
    pub matching: Matching,
    /// The same.
    #[serde(default)]
    pub running: Running,
    /// The same.
    #[serde(default)]
    pub factoids: Vec<FactoidWords>,
    /// The same, and so on: what bAbI's qa11-qa20 need.
    #[serde(default)]
    pub links: BTreeMap<String, Entity>,
    #[serde(default)]
    pub pronouns: BTreeMap<String, Entity>,
    #[serde(default)]
    pub times: BTreeMap<String, Entity>,
    #[serde(default)]
    pub animals: BTreeMap<String, Entity>,
    #[serde(default)]
    pub colours: BTreeMap<String, Entity>,
    #[serde(default)]
    pub shapes: BTreeMap<String, Entity>,
    #[serde(default)]
    pub containers: BTreeMap<String, Entity>,
    #[serde(default)]
    pub motives: BTreeMap<String, Entity>,
    /// How the cast's names are written in Latin letters, where the language's script is another.
    #[serde(default)]
    pub latin: BTreeMap<String, Vec<String>>,
}

impl File {
    /// Entities of a kind, and the templates of their forms; actors stand in the cast.
    pub fn entities(&self, kind: Kind) -> (&BTreeMap<String, Entity>, &BTreeMap<String, OneOrMany>) {
        let forms = &self.forms;
        match kind {
            Kind::Actor => unreachable!("actors are persons of the cast"),
            Kind::Object => (&self.objects, &forms.object),
            Kind::Place => (&self.places, &forms.place),
            Kind::Link => (&self.links, &forms.link),
            Kind::Pronoun => (&self.pronouns, &forms.pronoun),
            Kind::Time => (&self.times, &forms.time),
            Kind::Animal => (&self.animals, &forms.animal),
            Kind::Colour => (&self.colours, &forms.colour),
            Kind::Shape => (&self.shapes, &forms.shape),
            Kind::Container => (&self.containers, &forms.container),
            Kind::Motive => (&self.motives, &forms.motive),
        }
    }
}

/// What needs to be known of running text, to hide a sentence in it.
#[derive(Deserialize, Clone, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Running {
    pub system: String,
    pub openings: Vec<String>,
    pub soft_openings: Vec<String>,
    pub abbreviations: Vec<String>,
}

/// A factoid of the paper's Table 2.
#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields)]
pub(crate) struct FactoidWords {
    pub name: String,
    pub needle: String,
    pub question: String,
    pub answers: Vec<String>,
}

/// A sentence of a pack made by machine translation.
#[derive(Deserialize, Serialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sentence {
    /// Path of the English pattern that it says, such as `facts.move[2]`.
    pub says: String,
    /// The message's slots; of persons, 1 for a woman and 0 for a man.
    pub slots: [u8; 5],
    /// The sentence, with `{A}` and `{B}` for the persons.
    pub text: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Cast {
    pub story: Vec<Person>,
    pub extra: Vec<Person>,
    #[serde(default)]
    pub further: Vec<Person>,
}

#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields)]
pub(super) struct Person {
    pub name: String,
    pub gender: String,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct FormTemplates {
    pub actor: BTreeMap<String, OneOrMany>,
    pub place: BTreeMap<String, OneOrMany>,
    pub object: BTreeMap<String, OneOrMany>,
    pub link: BTreeMap<String, OneOrMany>,
    pub pronoun: BTreeMap<String, OneOrMany>,
    pub time: BTreeMap<String, OneOrMany>,
    pub animal: BTreeMap<String, OneOrMany>,
    pub colour: BTreeMap<String, OneOrMany>,
    pub shape: BTreeMap<String, OneOrMany>,
    pub container: BTreeMap<String, OneOrMany>,
    pub motive: BTreeMap<String, OneOrMany>,
}

#[derive(Deserialize)]
pub(super) struct Entity {
    pub base: String,
    pub gender: Option<String>,
    #[serde(default)]
    pub also: Vec<String>,
    #[serde(flatten)]
    pub forms: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl OneOrMany {
    /// The form of a word of gender number `g`.
    pub fn of(&self, g: usize, name: &str, file: &File, base: &str) -> Result<String> {
        match self {
            OneOrMany::One(text) => Ok(text.replace("{base}", base)),
            OneOrMany::Many(all) if all.len() == file.genders.len() => Ok(all[g].replace("{base}", base)),
            _ => fail!("forms: `{name}` needs one template, or one for each of {}", file.genders.join(", ")),
        }
    }
}

/// Answers that are words of their own. In each list the first is the gold, the others are accepted.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AnswerWords {
    pub yes: Vec<String>,
    pub no: Vec<String>,
    pub maybe: Vec<String>,
    pub nothing: Vec<String>,
    pub count: Vec<Vec<String>>,
    pub list_separator: String,
    pub list_and: String,
    /// Other separators, and other ways to write "and", that are accepted and never printed.
    #[serde(default)]
    pub list_separator_also: Vec<String>,
    #[serde(default)]
    pub list_and_also: Vec<String>,
    /// Other ways to join the directions of a way, in which each follows the one before.
    #[serde(default)]
    pub way_also: Vec<String>,
    /// North, south, east, west.
    #[serde(default)]
    pub directions: Vec<Vec<String>>,
}

fn space() -> String {
    " ".to_owned()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Instructions {
    /// What stands between two sentences.
    #[serde(default = "space")]
    pub join: String,
    pub opening: String,
    pub order: String,
    pub place: String,
    pub giving: String,
    pub yes_no: String,
    pub chain: String,
    pub relations: String,
    pub count: String,
    pub list: String,
    pub maybe: String,
    /// Takes the place of `opening` where no persons, objects and places are told of. From here on: instructions of
    /// qa11-qa20, empty in packs of old releases.
    #[serde(default)]
    pub opening_other: String,
    /// Said of pronouns.
    #[serde(default)]
    pub coreference: String,
    #[serde(default)]
    pub time: String,
    #[serde(default)]
    pub deduction: String,
    #[serde(default)]
    pub induction: String,
    #[serde(default)]
    pub position: String,
    #[serde(default)]
    pub size: String,
    #[serde(default)]
    pub path: String,
    #[serde(default)]
    pub motive: String,
}

impl Instructions {
    /// Those of qa11-qa20, with their keys.
    pub fn late(&self) -> [(&'static str, &str); 9] {
        [
            ("opening_other", &self.opening_other),
            ("coreference", &self.coreference),
            ("time", &self.time),
            ("deduction", &self.deduction),
            ("induction", &self.induction),
            ("position", &self.position),
            ("size", &self.size),
            ("path", &self.path),
            ("motive", &self.motive),
        ]
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PromptWords {
    pub question: String,
    pub json: String,
    pub chain_of_thought: String,
    pub translate: String,
    #[allow(dead_code, reason = "a word every pack must have; the passage family reads it")]
    pub passages: String,
    #[allow(dead_code, reason = "a word every pack must have; the passage family reads it")]
    pub answer: String,
    #[allow(dead_code, reason = "a word every pack must have; few-shot prompts have tags in its place")]
    pub example: String,
    /// The JSON that is asked for after a chain of thought; empty in packs of old releases.
    #[serde(default)]
    pub json_reasoning: String,
    /// Said before worked examples; empty in packs of old releases.
    #[serde(default)]
    pub examples: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Noise {
    pub letters: String,
}

/// How the language's answers are found in running text; every list may be missing.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Matching {
    /// Words of their own before an answer that are no part of it.
    pub articles: Vec<String>,
    /// The same, written as one with the word.
    pub joined_articles: Vec<String>,
    /// What may be joined to the front of a word.
    pub proclitics: Vec<String>,
    /// What may be joined to the end of a word.
    pub endings: Vec<String>,
    /// Endings that take the place of a word's own.
    pub changes: BTreeMap<String, Vec<String>>,
    /// What the language joins to the end of names and words that are not its own.
    pub endings_on_foreign: Vec<String>,
}
