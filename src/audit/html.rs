//! An audit as one page: nothing is loaded, light and dark, for a phone as well.

use super::files::beside;
use super::{Audit, Count, Finding, is_unsafe};
use crate::error::Result;
use crate::markup::{escaped_by, number};
use crate::store::write_aside;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// Findings of one check that are shown; the rest is counted.
pub const SHOWN: usize = 200;

/// Writes the page.
pub fn write(audit: &Audit, path: &Path) -> Result<()> {
    let page = page(audit);
    write_aside(&beside(path), |out| out.write_all(page.as_bytes()))
}

/// The page.
pub fn page(audit: &Audit) -> String {
    let path = escaped(&audit.path);
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width,initial-scale=1\">\n<title>Audit of {path}</title>\n<style>\n{}</style>\n</head>\n<body>\n",
        include_str!("page.css")
    );
    let n = audit.findings.len();
    write!(
        out,
        "<header>\n<h1 dir=\"auto\">Audit of {path}</h1>\n<p>{} files, {} rows, <span{}>{n} findings</span>; profile {}</p>\n\
         </header>\n<main>\n",
        audit.files,
        audit.rows,
        if n > 0 { " class=\"bad\"" } else { "" },
        escaped(&audit.profile)
    )
    .expect("strings take all");
    summary(audit, &mut out);
    out += "<h2>Findings</h2>\n";
    if n == 0 {
        out += "<p>Nothing was found.</p>\n";
    }
    for (check, all) in audit.by_check() {
        findings(check.words(), check.key(), &all, &mut out);
    }
    if !audit.notes.is_empty() {
        out += "<h2>Notes</h2>\n<ul>\n";
        for note in &audit.notes {
            writeln!(out, "<li dir=\"auto\">{}</li>", escaped(note)).expect("strings take all");
        }
        out += "</ul>\n";
    }
    out += "</main>\n</body>\n</html>\n";
    out
}

/// Checks down, groups across; found of looked at.
fn summary(audit: &Audit, out: &mut String) {
    let groups = audit.groups();
    *out += "<h2>Summary</h2>\n<p class=\"soft\">Rows found, of those that the check looked at.</p>\n<div class=\"wide\" tabindex=\"0\">\n\
             <table class=\"sum\">\n<thead><tr><th scope=\"col\">check</th>";
    for group in &groups {
        write!(out, "<th scope=\"col\" dir=\"auto\">{}</th>", escaped(group)).expect("strings take all");
    }
    *out += "</tr></thead>\n<tbody>\n";
    let mut line = |class: &str, words: &str, of: &BTreeMap<String, Count>| {
        write!(out, "<tr{class}><th scope=\"row\">{}</th>", escaped(words)).expect("strings take all");
        for group in &groups {
            match of.get(*group) {
                Some(Count { found: 0, of }) => write!(out, "<td class=\"soft\">0/{of}</td>"),
                Some(Count { found, of }) => write!(out, "<td><span class=\"bad\">{found}</span>/{of}</td>"),
                None => write!(out, "<td class=\"soft\">\u{2013}</td>"),
            }
            .expect("strings take all");
        }
        *out += "</tr>\n";
    };
    for (check, of) in &audit.summary {
        line("", check.words(), of);
    }
    if !audit.unanswerable.is_empty() {
        line(" class=\"all\"", "unanswerable, any cause", &audit.unanswerable);
    }
    *out += "</tbody>\n</table>\n</div>\n";
}

fn findings(words: &str, key: &str, all: &[&Finding], out: &mut String) {
    write!(
        out,
        "<details id=\"{}\">\n<summary>{} <span class=\"bad\">{}</span></summary>\n<table>\n<thead><tr><th scope=\"col\" \
         class=\"place\">where</th><th scope=\"col\">what</th></tr></thead>\n<tbody>\n",
        escaped(key),
        escaped(words),
        all.len()
    )
    .expect("strings take all");
    for finding in all.iter().take(SHOWN) {
        let row = finding.row.map_or(String::new(), |row| format!(", row {row}"));
        let id = finding.id.as_deref().map_or(String::new(), |id| format!(" <bdi>{}</bdi>", escaped(id)));
        let (file, what) = (escaped(&finding.file), escaped(&finding.what));
        writeln!(out, "<tr><td class=\"soft\"><bdi>{file}</bdi>{row}{id}</td><td dir=\"auto\">{what}</td></tr>")
            .expect("strings take all");
    }
    *out += "</tbody>\n</table>\n";
    if all.len() > SHOWN {
        writeln!(
            out,
            "<p class=\"soft\">The first {SHOWN} of {}; {} more are not shown.</p>",
            all.len(),
            all.len() - SHOWN
        )
        .expect("strings take all");
    }
    *out += "</details>\n";
}

/// Text that means nothing to a browser; what no page may hold is shown as its number.
fn escaped(text: &str) -> String {
    escaped_by(text, |c, out| match c {
        '\n' | '\t' => out.push(c),
        c if is_unsafe(c) => number(c, out),
        c => out.push(c),
    })
}
