//! Questions as rows, and which passages may not stand beside which question: found in parts of a collection, and merged as sets.

use super::part::Parts;
use super::said::{Handed, Said};
use super::stream::{Event, Notes, Piece, Sink, Source, begin, each, integers};
use super::{KIND, PARTS, QUESTIONS};
use crate::error::{Error, Result};
use crate::fail;
use crate::hash::Digest;
use crate::language::Language;
use crate::plan::Plan;
use crate::recipe::Choice;
use crate::source::clean::clean;
use crate::source::locate::Locator;
use crate::stage::leaks::{ByLanguage, Comparison, Reason};
use crate::stage::questions::{self, Questions};
use crate::stage::rank::question_languages;
use crate::work::share::Share;
use arrow_array::{ArrayRef, StringArray};
use arrow_schema::{DataType, Field};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::sync::Arc;

/// What streams of passages to be kept apart are called in their notes.
pub const NAME: &str = "leaks";

/// What streams of questions are called in their notes.
pub const ASKED: &str = "questions";

/// Passages that are compared at once.
const ROWS: usize = 1 << 12;

/// Column that says in which language a passage was compared.
const LANGUAGE: &str = "language";

/// The questions that a plan reads, before any is chosen.
pub struct Asked {
    pub(super) questions: Questions,
    /// Digest of ids and texts.
    pub digest: Digest,
}

impl Asked {
    /// Reads them from the plan's source.
    pub fn read(plan: &Plan) -> Result<Asked> {
        let Some(dataset) = &plan.recipe.source.dataset else {
            return Err(Error::new("the recipe has no questions to search passages for")
                .help("retrieval on shards is for recipes of questions and passages, such as mlneedle"));
        };
        let questions = questions::read(plan, &Locator::new(plan)?)?;
        let all =
            postcard::to_stdvec(questions.joined()).map_err(|e| Error::new(format!("cannot encode questions: {e}")))?;
        let digest = Digest::of_parts([dataset.0.as_bytes(), &all]);
        Ok(Asked { questions, digest })
    }

    /// Their numbers: all, or the first of the order in which a build chooses.
    pub fn first(&self, plan: &Plan, first: Option<usize>) -> Result<Vec<u32>> {
        let mut all: Vec<u32> = (0..self.questions.joined().len() as u32).collect();
        let Some(first) = first else { return Ok(all) };
        if plan.recipe.grid.choice == Some(Choice::First) {
            return Err(Error::new("--first: the recipe chooses the first questions of each language's file")
                .help("leave --first out: all questions are then asked"));
        }
        all.sort_by_cached_key(|n| self.questions.place(plan, *n as usize));
        all.truncate(first);
        all.sort_unstable();
        Ok(all)
    }

    /// Writes the questions of these numbers: `query` (the number), `id`, and a column of text for each language in which the plan asks
    /// (`text_de`), empty where the question does not exist in it.
    pub fn write(&self, plan: &Plan, numbers: &[u32], out: &mut dyn Write) -> Result<()> {
        let languages = question_languages(plan);
        let mut fields = vec![Field::new("query", DataType::Int64, false), Field::new("id", DataType::Utf8, false)];
        fields.extend(languages.iter().map(|language| Field::new(format!("text_{language}"), DataType::Utf8, true)));
        let notes = [(KIND, ASKED.to_owned()), (QUESTIONS, self.digest.to_string())];
        let mut sink = begin(out, fields, Notes::new(notes))?;
        for numbers in numbers.chunks(ROWS) {
            let of = |n: &u32| &self.questions.joined()[*n as usize];
            let mut columns: Vec<ArrayRef> = vec![
                integers(numbers.iter().copied()),
                Arc::new(StringArray::from_iter_values(numbers.iter().map(|n| of(n).0.as_str()))),
            ];
            for language in &languages {
                let text = |n: &u32| Some(of(n).1.get(language)?.question.as_str());
                columns.push(Arc::new(numbers.iter().map(text).collect::<StringArray>()));
            }
            sink.write(columns)?;
        }
        sink.finish()
    }
}

/// A passage that may not stand beside a question.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Leak {
    /// The question.
    pub question: u32,
    /// The passage.
    pub number: u32,
    /// In which language it was compared.
    pub language: Language,
    /// Why.
    pub reason: Reason,
}

fn word(reason: Reason) -> &'static str {
    match reason {
        Reason::Answer => "answer",
        Reason::Needle => "needle",
    }
}

fn fields() -> Vec<Field> {
    vec![
        Field::new("question", DataType::Int64, false),
        Field::new("number", DataType::Int64, false),
        Field::new(LANGUAGE, DataType::Utf8, false),
        Field::new("reason", DataType::Utf8, false),
    ]
}

fn write(leaks: &[Leak], sink: &mut Sink<'_>) -> Result<()> {
    sink.write(vec![
        integers(leaks.iter().map(|leak| leak.question)),
        integers(leaks.iter().map(|leak| leak.number)),
        Arc::new(StringArray::from_iter_values(leaks.iter().map(|leak| leak.language.code()))),
        Arc::new(StringArray::from_iter_values(leaks.iter().map(|leak| word(leak.reason)))),
    ])
}

/// Compares the questions of these numbers with a part of the passages: `number`, or an `id` of digits, and a column of text for each of
/// `columns`. Writes `question`, `number`, `language` and `reason` (`answer`, `needle`) as they are found. Without a share, the parts are
/// those that the passages say.
///
/// Holds the questions and a block of passages. Runs on the ambient rayon pool.
pub fn find(
    passages: &[Source],
    plan: &Plan,
    asked: &Asked,
    numbers: &[u32],
    columns: &[(Language, String)],
    share: Option<Share>,
    out: &mut dyn Write,
) -> Result<()> {
    if let Some((language, _)) = columns.iter().find(|(own, _)| !plan.packs.iter().any(|(language, _)| language == own))
    {
        fail!("--text {language}: the recipe has no {language}");
    }
    let questions: Vec<&ByLanguage> = numbers.iter().map(|n| &asked.questions.joined()[*n as usize].1).collect();
    let comparison = Comparison::new(&plan.packs, &questions)?;
    let own = [(KIND, NAME.to_owned()), (QUESTIONS, asked.digest.to_string())];
    let own = own.into_iter().chain(share.map(|share| (PARTS, Parts::of(share).to_string())));
    let mut handed = Handed::new(if share.is_some() { &[] } else { &[PARTS] });
    let mut out = Some(out);
    let mut sink: Option<Sink<'_>> = None;
    for source in passages {
        each(source, |event| {
            let piece = match event {
                Event::Stream(_, notes) => {
                    let parts = handed.add(notes)?;
                    if let (Some(out), Some(parts)) = (out.take(), parts) {
                        sink = Some(begin(out, fields(), Notes::new(own.clone().chain(parts)))?);
                    }
                    return Ok(());
                }
                Event::Rows(piece) => piece,
            };
            let Some(sink) = &mut sink else { return Ok(()) };
            for piece in piece.pieces(ROWS) {
                let places = piece.numbers()?;
                for (language, column) in columns {
                    let texts: Vec<String> = piece.texts(column)?.into_iter().map(clean).collect();
                    let found = comparison.found(*language, &texts).into_iter().map(|(question, place, reason)| Leak {
                        question: numbers[question as usize],
                        number: places[place as usize],
                        language: *language,
                        reason,
                    });
                    let found: Vec<Leak> = found.collect();
                    if !found.is_empty() {
                        write(&found, sink)?;
                    }
                }
            }
            Ok(())
        })?;
    }
    sink.map_or(Ok(()), Sink::finish)
}

/// What parts found, each once.
pub struct Leaks {
    /// Ascending.
    pub all: BTreeSet<Leak>,
    /// What the streams say.
    pub said: Said,
}

impl Default for Leaks {
    fn default() -> Leaks {
        Leaks { all: BTreeSet::new(), said: Said::new(Some(NAME), &[QUESTIONS]) }
    }
}

impl Leaks {
    /// Merges streams, in any order of rows and streams.
    pub fn merge(sources: &[Source]) -> Result<Leaks> {
        let mut leaks = Leaks::default();
        for source in sources {
            each(source, |event| leaks.take(event))?;
        }
        Ok(leaks)
    }

    /// Takes in what a source holds, one after the other.
    pub fn take(&mut self, event: Event<'_>) -> Result<()> {
        match event {
            Event::Stream(_, notes) => self.said.add(notes),
            Event::Rows(piece) => self.rows(&piece),
        }
    }

    fn rows(&mut self, piece: &Piece<'_>) -> Result<()> {
        let (questions, numbers) = (piece.small("question")?, piece.small("number")?);
        let (languages, reasons) = (piece.texts(LANGUAGE)?, piece.texts("reason")?);
        for row in 0..questions.len() {
            let reason = [Reason::Answer, Reason::Needle].into_iter().find(|reason| word(*reason) == reasons[row]);
            let reason = reason.ok_or_else(|| Error::new(format!("unknown reason {:?}", reasons[row])));
            let language = languages[row].parse().map_err(Error::new);
            self.all.insert(Leak {
                question: questions[row],
                number: numbers[row],
                language: language.map_err(|e| e.at(piece.place(row)))?,
                reason: reason.map_err(|e| e.at(piece.place(row)))?,
            });
        }
        Ok(())
    }

    /// Writes them as one stream.
    pub fn write(&self, out: &mut dyn Write) -> Result<()> {
        let mut sink = begin(out, fields(), self.said.notes())?;
        let all: Vec<Leak> = self.all.iter().copied().collect();
        for leaks in all.chunks(1 << 14) {
            write(leaks, &mut sink)?;
        }
        sink.finish()
    }

    /// [`Leaks::by_question`], of queries that are of these questions, if that is known.
    pub fn of(&self, questions: Option<&str>) -> Result<BTreeMap<u32, Vec<u32>>> {
        match (self.said.get(QUESTIONS), questions) {
            (Some(one), Some(other)) if one != other => {
                Err(Error::new("the leaks are of other questions than the queries")
                    .help("make both by the same recipe, from the same files of questions"))
            }
            _ => Ok(self.by_question()),
        }
    }

    /// By question, the passages that may not stand beside it in any language, ascending.
    pub fn by_question(&self) -> BTreeMap<u32, Vec<u32>> {
        let mut all: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for leak in &self.all {
            all.entry(leak.question).or_default().push(leak.number);
        }
        all.values_mut().for_each(|numbers| numbers.dedup());
        all
    }
}
