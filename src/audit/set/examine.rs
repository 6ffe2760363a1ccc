//! What one row says by itself.

use super::answers::{Looked, is_choice, rules};
use super::near::Sketch;
use super::row::Row;
use super::scripts::{Scripts, of_language};
use crate::audit::{Check, cut, quoted};
use crate::hash::Digest;
use crate::language::{Language, normalize};
use crate::tokenizer::Tokenizer;
use unicode_script::Script;

const CONTEXT: &str = "<context>";
const CONTEXT_END: &str = "</context>";

/// Marks that a translation leaves behind: the language's own, then an ASCII one, or the other way round.
const DOUBLED: [&str; 6] = ["\u{ff1f}?", "\u{61f}?", "?\u{ff1f}", "?\u{61f}", "\u{3002}.", "\u{964}."];

/// What a row says.
pub struct Examined {
    pub number: u64,
    pub id: Option<String>,
    /// Of the prompt, context and question.
    pub text: Digest,
    /// Of the answers.
    pub gold: Digest,
    /// Of the question alone.
    pub question: u64,
    /// Of all that makes rows with like texts different ones: question, answers, length, place of the gold.
    pub same: u64,
    pub sketch: Option<Box<Sketch>>,
    pub tokens: u64,
    /// Its script, where its language does not say which it should be.
    pub script: Option<Script>,
    /// Where the gold stands, in millionths of the context, if it is there once.
    pub depth: Option<u32>,
    pub position: Option<String>,
    /// The first answer, and whether it is a choice such as yes or no.
    pub label: Option<(String, bool)>,
    pub task: Option<String>,
    pub measured: bool,
    /// Checks that looked at it.
    pub looked: Vec<Check>,
    pub found: Vec<(Check, String)>,
}

impl Examined {
    fn check(&mut self, check: Check, found: Option<String>) {
        self.looked.push(check);
        self.found.extend(found.map(|what| (check, what)));
    }
}

/// Looks at a row.
pub fn examine(row: &Row, tokenizer: &Tokenizer) -> Examined {
    let (context, frame) = context_of(row);
    let normal = normalize(&context);
    let none = Vec::new();
    let answers: Vec<&str> =
        row.answers.as_ref().unwrap_or(&none).iter().map(String::as_str).filter(|a| !a.trim().is_empty()).collect();
    let gold = Digest::of_parts(answers.iter().map(|answer| answer.as_bytes()));
    let asked = normalize(row.question.as_deref().unwrap_or(&frame));
    let length = row.length.as_deref().unwrap_or_default();
    let position = row.position.as_deref().unwrap_or_default();
    let all: String = answers.iter().map(|answer| normalize(answer) + "\n").collect();
    let parts =
        [Some(row.prompt.as_str()), row.context.as_deref(), row.question.as_deref()].map(Option::unwrap_or_default);
    let mut examined = Examined {
        number: row.number,
        id: row.id.clone(),
        text: Digest::of_parts(parts.map(str::as_bytes)),
        gold,
        question: short(&Digest::of(&asked)),
        same: short(&Digest::of_parts([asked.as_bytes(), all.as_bytes(), length.as_bytes(), position.as_bytes()])),
        sketch: Sketch::of(&normal),
        tokens: tokenizer.count(&row.prompt) as u64,
        script: None,
        depth: None,
        position: row.position.clone(),
        label: answers.first().map(|answer| (normalize(answer), is_choice(answer))),
        task: row.task.clone(),
        measured: row.measured,
        looked: Vec::new(),
        found: Vec::new(),
    };
    debris(&mut examined, row, &answers);
    scripts(&mut examined, row, &context);
    gold_in_texts(&mut examined, row, &answers, &normal);
    if let Some(nominal) = row.nominal.filter(|_| !row.cut) {
        let judged = nominal.judge(examined.tokens, tokenizer.name());
        for check in [Check::OverLength, Check::ShortLength] {
            let found = judged.iter().find(|(found, _)| *found == check).map(|(_, what)| what.clone());
            examined.check(check, found);
        }
    }
    examined
}

fn short(digest: &Digest) -> u64 {
    u64::from_le_bytes(digest.0[..8].try_into().expect("a digest has 32 bytes"))
}

/// The text that holds the answer, and what stands around it: a column's; what `<context>` marks; else the prompt without its
/// question.
fn context_of(row: &Row) -> (String, String) {
    let prompt = row.prompt.as_str();
    if let Some(context) = &row.context {
        return (context.clone(), String::new());
    }
    let marked = prompt.find(CONTEXT).map(|at| at + CONTEXT.len()).zip(prompt.rfind(CONTEXT_END));
    if let Some((start, end)) = marked.filter(|(start, end)| start <= end) {
        return (prompt[start..end].to_owned(), [&prompt[..start], &prompt[end..]].concat());
    }
    let question = row.question.as_deref().map(str::trim).filter(|question| !question.is_empty());
    if let Some((at, question)) = question.and_then(|question| Some((prompt.rfind(question)?, question))) {
        return ([&prompt[..at], " ", &prompt[at + question.len()..]].concat(), String::new());
    }
    // Without a question of its own, the end of the prompt is where it usually stands.
    let tail = prompt.char_indices().rev().nth(299).map_or(0, |(at, _)| at);
    (prompt.to_owned(), prompt[tail..].to_owned())
}

fn debris(examined: &mut Examined, row: &Row, answers: &[&str]) {
    let question = row.question.as_deref();
    let blank = match question {
        _ if row.prompt.trim().is_empty() => Some("the prompt is blank"),
        Some(question) if question.trim().is_empty() => Some("the question is blank"),
        _ => None,
    };
    examined.check(Check::BlankText, blank.map(str::to_owned));
    if row.answers.is_some() {
        let blank = answers.is_empty().then(|| "there is no answer in it".to_owned());
        examined.check(Check::BlankAnswer, blank);
    }
    let texts = || [Some(row.prompt.as_str()), row.context.as_deref(), question].into_iter().flatten();
    let around = |text: &str, at: usize| {
        let from = text[..at].char_indices().rev().nth(20).map_or(0, |(at, _)| at);
        cut(&text[from..], 40)
    };
    let doubled = texts().find_map(|text| {
        let at = DOUBLED.iter().filter_map(|marks| text.find(marks)).min()?;
        Some(around(text, at))
    });
    examined.check(Check::DoubledMark, doubled);
    let hidden = |c: char| matches!(c, '\u{fffd}' | '\u{200b}' | '\u{2060}' | '\u{feff}');
    let invisible = texts().chain(answers.iter().copied()).find_map(|text| {
        let at = text.find(hidden)?;
        let c = text[at..].chars().next()?;
        Some(format!("U+{:04X} in: {}", u32::from(c), around(text, at)))
    });
    examined.check(Check::Invisible, invisible);
}

fn scripts(examined: &mut Examined, row: &Row, context: &str) {
    let scripts = Scripts::of(context);
    let language = row.language.as_deref();
    match language.map(|language| (language, of_language(code(language)))) {
        Some((language, Some(own))) => {
            let found = scripts.lacks(own).then(|| {
                let most = scripts.most().map_or("none", |script| script.full_name());
                format!("most letters are {most}, the language is {language}")
            });
            examined.check(Check::ScriptMix, found);
        }
        // A language that is not known here, or several at once, says nothing.
        Some(_) => {}
        None => examined.script = scripts.most(),
    }
}

fn gold_in_texts(examined: &mut Examined, row: &Row, answers: &[&str], normal: &str) {
    if answers.first().is_none_or(|answer| is_choice(answer)) {
        return;
    }
    let rules = rules(row.language.as_deref().map_or_else(|| by_script(normal), code));
    let listed = || answers.iter().take(3).map(|a| quoted(a, 60)).collect::<Vec<_>>().join(", ");
    let looked = Looked::in_normal(answers, normal, rules);
    examined.check(Check::AnswerAbsent, (looked == Looked::Absent).then(listed));
    examined.check(Check::AnswerPart, (looked == Looked::Part).then(listed));
    if let Looked::Whole(depth) = looked {
        examined.depth = depth;
    }
    if let Some(question) = row.question.as_deref() {
        let found = Looked::for_in(answers, question, rules).is_whole();
        let what = || format!("in {}: {}", quoted(question, 120), listed());
        examined.check(Check::AnswerInQuestion, found.then(what));
    }
    if let Some(distractors) = &row.distractors {
        let holds = |text: &&String| Looked::for_in(answers, text, rules).is_whole();
        let found = distractors.iter().position(|text| holds(&text));
        let what = found.map(|n| format!("in distractor {}, {}: {}", n + 1, quoted(&distractors[n], 80), listed()));
        examined.check(Check::DistractorAnswer, what);
    }
}

/// The code of a language that may have a region behind it, or be written out in English.
fn code(language: &str) -> &str {
    let bare = language.split(['-', '_']).next().unwrap_or(language);
    match bare {
        "english" => "en",
        "german" => "de",
        "spanish" => "es",
        "chinese" => "zh",
        "vietnamese" => "vi",
        "hindi" => "hi",
        "arabic" => "ar",
        "indonesian" => "id",
        other => other,
    }
}

/// A language that is written in the script of a text.
fn by_script(text: &str) -> &'static str {
    let Some(most) = Scripts::of(text).most() else { return "en" };
    let fits = |language: &Language| of_language(language.code()).is_some_and(|own| own.contains(&most));
    Language::all().find(fits).map_or("en", |language| language.code())
}
