//! Markdown to the paragraphs a reader would read aloud.
//!
//! Kept, each as a paragraph of its own: headings, paragraphs, items of lists, paragraphs of block quotes. In them the
//! text of links, emphasis and inline code stays. Dropped: images with their descriptions, blocks of code, raw HTML,
//! tables, footnotes and the marks that refer to them, boxes of task lists, and front matter: none is running text.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// A paragraph, and the line its block begins on, counted from 1.
pub(super) type Paragraph = (usize, String);

/// The paragraphs of a Markdown text, in order. A line end inside one is a line feed; white space is as written.
pub(super) fn paragraphs(text: &str) -> Vec<Paragraph> {
    let mut walk = Walk { text, counted: 0, line: 1, dropped: 0, open: (1, String::new()), done: Vec::new() };
    for (event, range) in Parser::new_ext(text, options()).into_offset_iter() {
        walk.event(event, range.start);
    }
    walk.cut(text.len());
    walk.done
}

/// Blocks that are to be dropped must be known as such; smart punctuation would change the author's characters.
fn options() -> Options {
    Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_HEADING_ATTRIBUTES
        | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS
        | Options::ENABLE_PLUSES_DELIMITED_METADATA_BLOCKS
}

/// The state between two events.
struct Walk<'a> {
    text: &'a str,
    /// Up to here line feeds are counted.
    counted: usize,
    line: usize,
    /// How many elements that are dropped are open.
    dropped: usize,
    open: Paragraph,
    done: Vec<Paragraph>,
}

impl Walk<'_> {
    fn event(&mut self, event: Event, at: usize) {
        match event {
            Event::Start(tag) => self.start(&tag, at),
            Event::End(tag) => self.end(tag, at),
            Event::Text(piece) | Event::Code(piece) => self.push(&piece),
            Event::SoftBreak | Event::HardBreak => self.push("\n"),
            Event::InlineHtml(html) if is_line_end(&html) => self.push("\n"),
            Event::Rule => self.cut(at),
            // Raw HTML, references to footnotes and boxes of tasks; mathematics is not asked for.
            _ => {}
        }
    }

    fn start(&mut self, tag: &Tag, at: usize) {
        if !is_inline(&tag.to_end()) {
            self.cut(at);
        }
        self.dropped += usize::from(is_dropped(&tag.to_end()));
    }

    fn end(&mut self, tag: TagEnd, at: usize) {
        if !is_inline(&tag) {
            self.cut(at);
        }
        self.dropped -= usize::from(is_dropped(&tag)).min(self.dropped);
    }

    fn push(&mut self, piece: &str) {
        if self.dropped == 0 {
            self.open.1.push_str(piece);
        }
    }

    /// Ends the open paragraph; the next begins at or after byte `at`.
    fn cut(&mut self, at: usize) {
        // An event of an end points to the beginning of its block, so positions can go back.
        if let Some(passed) = self.text.as_bytes().get(self.counted..at) {
            self.line += passed.iter().filter(|b| **b == b'\n').count();
            self.counted = at;
        }
        let next = (self.line, String::new());
        let done = std::mem::replace(&mut self.open, next);
        if !done.1.trim().is_empty() {
            self.done.push(done);
        }
    }
}

/// Does an element stand inside a paragraph?
fn is_inline(tag: &TagEnd) -> bool {
    matches!(tag, TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough | TagEnd::Link | TagEnd::Image)
}

/// Is nothing inside an element running text?
fn is_dropped(tag: &TagEnd) -> bool {
    matches!(
        tag,
        TagEnd::Image
            | TagEnd::CodeBlock
            | TagEnd::HtmlBlock
            | TagEnd::Table
            | TagEnd::FootnoteDefinition
            | TagEnd::MetadataBlock(_)
    )
}

/// Without this one element of HTML, the words on both sides of it would become one.
fn is_line_end(html: &str) -> bool {
    html.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("<br"))
}
