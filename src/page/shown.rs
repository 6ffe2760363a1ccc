//! Sample prompts in every language, any two of them beside each other.

use super::Material;
use super::facts::words;
use super::html::Section;
use super::plots::grouped;
use super::prompt::{Prompt, direction, escaped};
use super::sample::{Candidate, Group, Languages, groups};
use crate::error::Result;
use crate::release::Release;
use crate::table::{read_spans, text, texts};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Bytes of samples: what comes after is named, not shown.
const MOST: usize = 3_000_000;

const COLUMNS: [&str; 7] = ["family", "id", "prompt", "system", "question", "answers", "needle_spans"];

pub(super) fn section(material: &Material<'_>, release: &Release) -> Result<Section> {
    let mut section = Section::new("samples", "Sample prompts", "Samples");
    let groups = groups(&material.all.candidates);
    let variants: BTreeSet<&Languages> = groups.iter().flat_map(|g| g.rows.iter().map(|r| &r.kind.languages)).collect();
    let mut order: Vec<&Languages> = variants.into_iter().collect();
    let known = material.languages();
    let place = |code: &String| known.iter().position(|l| l == code).unwrap_or(usize::MAX);
    order.sort_by_key(|l| (place(&l.needle), place(&l.haystack), *l));
    section.say(
        "Of each task one instance, drawn by lot: short prompts whole, of long ones the lines around the needles. \
         The same instance stands there in any two languages.",
    );
    section.html(
        "<p class=\"legend\"><mark>what the answer rests on</mark> <mark class=\"fact\">another fact, or the needle around its \
         answer</mark> <span class=\"dis\">a distractor, or running text</span></p>\n"
            .to_owned(),
    );
    section.html(picker(material, &order));
    // The second has distractors, where it is whole.
    let opened = usize::from(groups.get(1).is_some_and(|group| group.whole));
    let mut bytes = 0;
    let mut left = 0;
    for (n, group) in groups.iter().enumerate() {
        if bytes > MOST {
            left += 1;
            continue;
        }
        let html = shown(material, release, group, &order, n == opened)?;
        bytes += html.len();
        section.html(html);
    }
    if left > 0 {
        section.say(&format!(
            "{left} more samples are left out, so that the page stays small; `nihbuild show` prints any prompt."
        ));
    }
    Ok(section)
}

/// Two choices of language; a script shows them, and what is chosen.
fn picker(material: &Material<'_>, order: &[&Languages]) -> String {
    if order.len() < 2 {
        return String::new();
    }
    let plain = |wanted: &dyn Fn(&str) -> bool| order.iter().position(|l| wanted(&l.needle) && l.needle == l.haystack);
    let first = plain(&|code| code == "en").unwrap_or(0);
    let second = plain(&|code| direction(code) == "rtl").filter(|n| *n != first).unwrap_or(usize::from(first == 0));
    let mut out = "<div class=\"pick\" id=\"pick\" hidden>\n".to_owned();
    for (side, chosen) in [("Left", first), ("Right", second)] {
        write!(out, "<label>{side} <select>").expect("strings take all");
        for (n, languages) in order.iter().enumerate() {
            let selected = if n == chosen { " selected" } else { "" };
            write!(out, "<option value=\"{n}\"{selected}>{}</option>", escaped(&name(material, languages)))
                .expect("strings take all");
        }
        out += "</select></label>\n";
    }
    out + "<button type=\"button\" id=\"swap\">Swap</button>\n</div>\n"
}

/// What a combination of languages is called.
fn name(material: &Material<'_>, languages: &Languages) -> String {
    let Languages { needle, haystack, question } = languages;
    let mut out = material.language(needle);
    if haystack != needle {
        out += &format!(" in {} haystack", haystack);
    }
    if question != needle {
        out += &format!(", asked in {question}");
    }
    out
}

fn shown(
    material: &Material<'_>,
    release: &Release,
    group: &Group<'_>,
    order: &[&Languages],
    open: bool,
) -> Result<String> {
    let mut out = format!(
        "<details class=\"sample\"{}><summary><span>{}</span> <span class=\"soft\">{}, {}{}</span></summary>\n<div class=\"pair\">\n",
        if open { " open" } else { "" },
        escaped(&words(group.task)),
        escaped(group.length),
        escaped(group.instance),
        if group.whole { "" } else { ", excerpt" }
    );
    // Read in the order of the files, shown in that of the languages.
    let mut articles: Vec<(usize, String)> = Vec::new();
    for row in &group.rows {
        let mut picked = release.rows(row.place.file, &COLUMNS, &[row.place.row])?;
        let (batch, at) = picked.take()?;
        let place = order.iter().position(|l| **l == row.kind.languages).expect("it is one of the order");
        articles.push((place, article(material, group, row, place, &batch, at)));
    }
    articles.sort();
    articles.iter().for_each(|(_, article)| out += article);
    Ok(out + "</div></details>\n")
}

fn article(
    material: &Material<'_>,
    group: &Group<'_>,
    row: &Candidate,
    place: usize,
    batch: &arrow_array::RecordBatch,
    at: usize,
) -> String {
    let languages = &row.kind.languages;
    let (needle, question) = (escaped(&languages.needle), escaped(&languages.question));
    let spans = read_spans(batch, at);
    let prompt = Prompt {
        text: text(batch, "prompt", at),
        family: text(batch, "family", at),
        question: text(batch, "question", at),
        spans: &spans,
        languages,
        whole: group.whole,
    };
    let answers = texts(batch, "answers", at).join(" | ");
    let system = text(batch, "system", at);
    let mut out = format!(
        "<article data-v=\"{place}\" data-n=\"{needle}\"><h4>{}</h4>\n<p class=\"soft\"><code>{}</code> {} tokens, {} distractors</p>\n\
         <dl class=\"qa\"><dt>Question</dt><dd lang=\"{question}\" dir=\"auto\">{}</dd><dt>Answer</dt><dd lang=\"{needle}\" dir=\"auto\">{}</dd></dl>\n\
         <div class=\"prompt\" tabindex=\"0\" role=\"region\" aria-label=\"Prompt, {}\" lang=\"{needle}\" dir=\"{}\">",
        escaped(&name(material, languages)),
        escaped(text(batch, "id", at)),
        grouped(row.tokens),
        grouped(row.distractors),
        escaped(prompt.question),
        escaped(&answers),
        escaped(&name(material, languages)),
        direction(&languages.needle)
    );
    if !system.is_empty() {
        out += &format!("<p class=\"sys\" lang=\"{question}\" dir=\"auto\">{}</p>", escaped(system));
    }
    out += &prompt.html();
    out + "</div></article>\n"
}
