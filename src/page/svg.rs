//! A small writer of SVG. All measures are tenths of a pixel, so that no float reaches a file.

use crate::markup::escaped_by;
use std::fmt::Write as _;

/// Colours by name: in a page the name is a variable of its style sheet, in a file of its own the colour stands there.
/// Name, colour on white, colour on black. The series are Okabe and Ito's, which people of any colour vision tell apart.
pub const COLOURS: [(&str, &str, &str); 11] = [
    ("ink", "#1b1d22", "#eceef2"),
    ("soft", "#5a606b", "#a7aebb"),
    ("line", "#d9dce2", "#3a3f49"),
    ("s0", "#0072b2", "#5cb3e6"),
    ("s1", "#c84e00", "#ff8a3d"),
    ("s2", "#008060", "#2fc79d"),
    ("s3", "#b4558f", "#e79ac6"),
    ("s4", "#9a6b00", "#f0b429"),
    ("s5", "#5b4bb5", "#b3a6ff"),
    ("s6", "#5f6670", "#b9c0cc"),
    ("s7", "#a01840", "#ff8fa8"),
];

/// Colours of a series before they begin again, with other dashes.
const SERIES: usize = 8;

/// The steps of a scale from little to much, after cividis: even in lightness, for any colour vision, on white and black.
const SCALE: [&str; 11] = [
    "#00224e", "#123570", "#3b496c", "#575d6d", "#707173", "#8a8779", "#a59c74", "#c3b369", "#d9c55c", "#ecd850",
    "#fee838",
];

/// Where a text is held.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// At its beginning.
    Start,
    /// In its middle.
    Middle,
    /// At its end.
    End,
}

/// A drawing.
pub struct Svg {
    width: i64,
    height: i64,
    body: String,
}

/// A named colour of [`COLOURS`].
pub fn named(name: &str) -> String {
    format!("var(--{name})")
}

/// The colour of the n-th series.
pub fn series(n: usize) -> String {
    format!("var(--s{})", n % SERIES)
}

/// The dashes of the n-th series; empty for a whole line.
pub fn dashes(n: usize) -> &'static str {
    ["", "6 3", "2 3", "8 3 2 3"][n / SERIES % 4]
}

/// The step of the scale for a share in millionths, and the colour of text on it.
pub fn scale(share: u64) -> (&'static str, &'static str) {
    let step = (share.min(1_000_000) * 10 + 500_000) / 1_000_000;
    (SCALE[step as usize], if step < 6 { "#ffffff" } else { "#000000" })
}

/// Tenths of a pixel, as SVG reads them.
fn px(tenths: i64) -> String {
    match tenths % 10 {
        0 => (tenths / 10).to_string(),
        rest => format!("{}{}.{}", if tenths < 0 { "-" } else { "" }, (tenths / 10).abs(), rest.abs()),
    }
}

/// Text between tags or in an attribute. What XML cannot hold is left out.
pub fn escaped(text: &str) -> String {
    escaped_by(text, |c, out| {
        let is_held = !c.is_control() && !matches!(c, '\u{fffe}' | '\u{ffff}');
        out.push(if is_held { c } else { '\u{fffd}' });
    })
}

impl Svg {
    /// An empty drawing of so many tenths of a pixel.
    pub fn new(width: i64, height: i64) -> Svg {
        Svg { width, height, body: String::new() }
    }

    fn push(&mut self, args: std::fmt::Arguments<'_>) {
        self.body.write_fmt(args).expect("strings take all");
    }

    /// A filled rectangle; `said` is what a pointer that rests on it is told.
    pub fn rect(&mut self, x: i64, y: i64, w: i64, h: i64, fill: &str, said: &str) {
        self.push(format_args!(
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{fill}\"",
            px(x),
            px(y),
            px(w),
            px(h)
        ));
        match said.is_empty() {
            true => self.body += "/>",
            false => self.push(format_args!("><title>{}</title></rect>", escaped(said))),
        }
    }

    /// A straight line.
    pub fn line(&mut self, x1: i64, y1: i64, x2: i64, y2: i64, stroke: &str, width: i64) {
        self.push(format_args!(
            "<path d=\"M{} {}L{} {}\" stroke=\"{stroke}\" stroke-width=\"{}\" fill=\"none\"/>",
            px(x1),
            px(y1),
            px(x2),
            px(y2),
            px(width)
        ));
    }

    /// A line through points.
    pub fn path(&mut self, points: &[(i64, i64)], stroke: &str, width: i64, dashes: &str) {
        let mut d = String::new();
        for (n, (x, y)) in points.iter().enumerate() {
            write!(d, "{}{} {}", if n == 0 { 'M' } else { 'L' }, px(*x), px(*y)).expect("strings take all");
        }
        let dashes = if dashes.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{dashes}\"") };
        self.push(format_args!(
            "<path d=\"{d}\" stroke=\"{stroke}\" stroke-width=\"{}\" fill=\"none\" stroke-linejoin=\"round\"{dashes}/>",
            px(width)
        ));
    }

    /// A mark of the n-th series: circle, square, diamond, triangle.
    pub fn mark(&mut self, x: i64, y: i64, n: usize, said: &str) {
        let fill = series(n);
        let r = 34;
        let shape = match n % 4 {
            0 => format!("<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{fill}\"", px(x), px(y), px(r)),
            1 => format!(
                "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{fill}\"",
                px(x - 30),
                px(y - 30),
                px(60),
                px(60)
            ),
            2 => format!(
                "<path d=\"M{} {}L{} {}L{} {}L{} {}Z\" fill=\"{fill}\"",
                px(x),
                px(y - 42),
                px(x + 42),
                px(y),
                px(x),
                px(y + 42),
                px(x - 42),
                px(y)
            ),
            _ => format!(
                "<path d=\"M{} {}L{} {}L{} {}Z\" fill=\"{fill}\"",
                px(x),
                px(y - 40),
                px(x + 38),
                px(y + 32),
                px(x - 38),
                px(y + 32)
            ),
        };
        let tag = &shape[1..shape.find(' ').expect("a tag")].to_owned();
        match said.is_empty() {
            true => self.push(format_args!("{shape}/>")),
            false => self.push(format_args!("{shape}><title>{}</title></{tag}>", escaped(said))),
        }
    }

    /// Text of so many tenths of a pixel.
    pub fn text(&mut self, x: i64, y: i64, size: i64, anchor: Anchor, fill: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        self.push(format_args!(
            "<text x=\"{}\" y=\"{}\" font-size=\"{}\"{anchor} fill=\"{fill}\">{}</text>",
            px(x),
            px(y),
            px(size),
            escaped(text)
        ));
    }

    /// The drawing, with a title and a description for those who do not see it. `id` begins the ids inside it.
    pub fn finish(&self, id: &str, title: &str, about: &str) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" role=\"img\" \
             aria-labelledby=\"{id}-t {id}-d\" font-family=\"system-ui,-apple-system,Segoe UI,sans-serif\">\
             <title id=\"{id}-t\">{}</title><desc id=\"{id}-d\">{}</desc>{}</svg>",
            escaped(title),
            escaped(about),
            self.body,
            w = px(self.width),
            h = px(self.height)
        )
    }
}

/// A drawing of a page as a file of its own: the names of colours give way to colours, on white.
pub fn alone(svg: &str) -> String {
    let mut out = svg.to_owned();
    for (name, light, _) in COLOURS {
        out = out.replace(&named(name), light);
    }
    match out.find("</desc>") {
        Some(at) => {
            let at = at + "</desc>".len();
            format!("{}<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>{}\n", &out[..at], &out[at..])
        }
        None => out,
    }
}
