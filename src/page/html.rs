//! The page around its sections: head, policy, contents, style and script.

use super::Material;
use super::plots::{Plot, grouped};
use super::prompt::escaped;
use super::svg::COLOURS;
use crate::hash::Digest;
use std::fmt::Write as _;

/// The style sheet, but for the colours of plots.
pub const STYLE: &str = include_str!("page.css");

/// The script.
pub const SCRIPT: &str = include_str!("page.js");

/// A part of a section.
pub(super) enum Part {
    /// HTML as it stands.
    Html(String),
    /// A drawing.
    Plot(Plot),
}

/// A section with a heading.
pub(super) struct Section {
    /// What it is named by in the contents, and in links.
    pub id: &'static str,
    /// Its heading.
    pub title: &'static str,
    /// The same in a word or two, for the contents.
    pub short: &'static str,
    /// What is in it.
    pub parts: Vec<Part>,
}

impl Section {
    pub(super) fn new(id: &'static str, title: &'static str, short: &'static str) -> Section {
        Section { id, title, short, parts: Vec::new() }
    }

    /// A paragraph; `text` is escaped here.
    pub(super) fn say(&mut self, text: &str) {
        self.parts.push(Part::Html(format!("<p>{}</p>\n", escaped(text))));
    }

    pub(super) fn html(&mut self, html: String) {
        self.parts.push(Part::Html(html));
    }

    pub(super) fn heading(&mut self, text: &str) {
        self.parts.push(Part::Html(format!("<h3>{}</h3>\n", escaped(text))));
    }

    pub(super) fn plot(&mut self, plot: Plot) {
        self.parts.push(Part::Plot(plot));
    }
}

/// A table of escaped cells. The first column heads its row.
pub(super) fn table(caption: &str, head: &[String], rows: &[Vec<String>]) -> String {
    let mut out = format!(
        "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table>\n<caption>{}</caption>\n<thead><tr>",
        escaped(caption),
        escaped(caption)
    );
    for cell in head {
        write!(out, "<th scope=\"col\">{}</th>", escaped(cell)).expect("strings take all");
    }
    out += "</tr></thead>\n<tbody>\n";
    for row in rows {
        out += "<tr>";
        for (n, cell) in row.iter().enumerate() {
            let cell = escaped(cell);
            match n {
                0 => write!(out, "<th scope=\"row\" dir=\"auto\">{cell}</th>"),
                _ => write!(out, "<td dir=\"auto\">{cell}</td>"),
            }
            .expect("strings take all");
        }
        out += "</tr>\n";
    }
    out + "</tbody></table></div>\n"
}

/// Gives a plot another name where one has its name already.
pub(super) fn name_apart(plot: &mut Plot, before: &[Plot]) {
    let taken = |name: &str| before.iter().any(|other| other.name == name);
    if !taken(&plot.name) {
        return;
    }
    let old = plot.name.clone();
    let mut n = 2;
    while taken(&format!("{old}-{n}")) {
        n += 1;
    }
    plot.name = format!("{old}-{n}");
    for end in ["-t", "-d"] {
        plot.svg = plot.svg.replacen(&format!("id=\"{old}{end}\""), &format!("id=\"{}{end}\"", plot.name), 1);
    }
    let labelled = |name: &str| format!("aria-labelledby=\"{name}-t {name}-d\"");
    plot.svg = plot.svg.replacen(&labelled(&old), &labelled(&plot.name), 1);
}

/// The style sheet whole.
fn style() -> String {
    let colours = |of: fn(&(&str, &str, &str)) -> String| COLOURS.iter().map(of).collect::<String>();
    let light = colours(|(name, light, _)| format!("--{name}:{light};"));
    let dark = colours(|(name, _, dark)| format!("--{name}:{dark};"));
    STYLE.replace("/*light*/", &light).replace("/*dark*/", &dark)
}

/// The digest of a script or style, as a policy names it.
fn source(text: &str) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digest = Digest::of(text).0;
    let mut out = String::from("'sha256-");
    for chunk in digest.chunks(3) {
        let bits = chunk.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for n in 0..4 {
            out.push(if n <= chunk.len() { char::from(LETTERS[(bits >> (18 - 6 * n) & 63) as usize]) } else { '=' });
        }
    }
    out + "'"
}

/// The page.
pub(super) fn page(material: &Material<'_>, sections: &[Section]) -> String {
    let manifest = material.manifest;
    let title = escaped(&manifest.title());
    let style = style();
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src {}; style-src {}; base-uri 'none'; \
         form-action 'none'\">\n<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{title}: report</title>\n<style>{style}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#main\">Skip to the report</a>\n",
        source(SCRIPT),
        source(&style)
    );
    header(material, &title, &mut out);
    out += "<nav aria-label=\"Contents\"><ul>\n";
    for section in sections {
        writeln!(out, "<li><a href=\"#{}\">{}</a></li>", section.id, escaped(section.short)).expect("strings take all");
    }
    out += "</ul></nav>\n<main id=\"main\">\n";
    for section in sections {
        let (id, title) = (section.id, escaped(section.title));
        writeln!(out, "<section id=\"{id}\" aria-labelledby=\"{id}-h\">\n<h2 id=\"{id}-h\">{title}</h2>")
            .expect("strings take all");
        for part in &section.parts {
            match part {
                Part::Html(html) => out += html,
                Part::Plot(plot) => {
                    let title = escaped(&plot.title);
                    writeln!(
                        out,
                        "<figure><figcaption>{title}</figcaption><div class=\"wide\" tabindex=\"0\" role=\"region\" \
                         aria-label=\"{title}\">{}</div></figure>",
                        plot.svg
                    )
                    .expect("strings take all");
                }
            }
        }
        out += "</section>\n";
    }
    write!(
        out,
        "</main>\n<footer><p>Written by nihbuild {} from the release's own files. Rows digest <code>{}</code></p></footer>\n\
         <script>{SCRIPT}</script>\n</body>\n</html>\n",
        env!("CARGO_PKG_VERSION"),
        manifest.rows_digest
    )
    .expect("strings take all");
    out
}

fn header(material: &Material<'_>, title: &str, out: &mut String) {
    let manifest = material.manifest;
    let family = match manifest.family.as_str() {
        "reasoning" => "Reasoning over facts among distractors",
        "passage" => "A passage that answers, among others",
        "factoid" => "A factoid in running text",
        other => other,
    };
    let date = manifest.date.as_ref().map_or(String::new(), |date| format!(", {}", escaped(date)));
    let layout = if material.compact { ", compact" } else { "" };
    write!(
        out,
        "<header>\n<div class=\"top\"><p class=\"eyebrow\">{}</p><button type=\"button\" id=\"theme\" hidden>Theme: auto</button></div>\n\
         <h1>{title}</h1>\n<p class=\"soft\">{}{layout}, built with nihbuild {}{date}</p>\n<dl class=\"cards\">\n",
        escaped(family),
        escaped(&manifest.licence),
        escaped(&manifest.nihbuild)
    )
    .expect("strings take all");
    let tasks = material.all.tasks.keys().map(|(task, _)| task).collect::<std::collections::BTreeSet<_>>().len();
    let what = if manifest.family == "factoid" { "needles" } else { "tasks" };
    let cards = [
        ("prompts", grouped(material.all.rows)),
        ("tokens", short(material.all.all_tokens)),
        ("languages", material.languages().len().to_string()),
        ("lengths", material.lengths.len().to_string()),
        (what, tasks.to_string()),
    ];
    for (what, number) in cards {
        writeln!(out, "<div><dt>{what}</dt><dd>{number}</dd></div>").expect("strings take all");
    }
    *out += "</dl>\n</header>\n";
}

/// A large number in three digits or so.
fn short(n: u64) -> String {
    let (unit, name) = match n {
        0..10_000 => return grouped(n),
        10_000..1_000_000 => (1_000, "K"),
        1_000_000..1_000_000_000 => (1_000_000, "M"),
        _ => (1_000_000_000, "B"),
    };
    match (n * 10 + unit / 2) / unit {
        tenths if tenths >= 1000 => format!("{}\u{a0}{name}", (n + unit / 2) / unit),
        tenths => format!("{}.{}\u{a0}{name}", tenths / 10, tenths % 10),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn large_numbers_are_rounded() {
        let all =
            [(9_999, "9,999"), (12_345, "12.3 K"), (99_960, "100 K"), (1_397_520, "1.4 M"), (1_770_000_000, "1.8 B")];
        for (n, said) in all {
            assert_eq!(super::short(n).replace('\u{a0}', " "), said);
        }
    }

    #[test]
    fn sources_are_base64() {
        // The digest of nothing, as browsers' consoles print it.
        assert_eq!(super::source(""), "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='");
    }
}
