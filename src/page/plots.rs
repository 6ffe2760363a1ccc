//! The kinds of plots. Shares and accuracies are in millionths.

use super::svg::{Anchor, Svg, dashes, named, scale, series};

/// A plot: a name that is a file's name too, what it shows, and the drawing as a page holds it.
#[derive(Clone, Debug)]
pub struct Plot {
    /// Lower-case ASCII letters, digits and hyphens.
    pub name: String,
    /// Its title.
    pub title: String,
    /// The drawing.
    pub svg: String,
}

/// A name that is fit for a file: what is not a letter or digit of ASCII becomes a hyphen.
pub fn slug(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            c if c.is_ascii_alphanumeric() => out.push(c.to_ascii_lowercase()),
            _ if out.ends_with('-') || out.is_empty() => {}
            _ => out.push('-'),
        }
    }
    let out = out.trim_end_matches('-');
    if out.is_empty() { "plot".to_owned() } else { out.chars().take(60).collect() }
}

fn plot(name: &str, title: &str, about: &str, svg: &Svg) -> Plot {
    let name = slug(name);
    Plot { svg: svg.finish(&name, title, about), title: title.to_owned(), name }
}

/// A share of millionths as percent, with one decimal.
pub fn percent(share: u64) -> String {
    let tenths = (share + 500) / 1000;
    format!("{}.{}%", tenths / 10, tenths % 10)
}

const WIDTH: i64 = 7200;
const TEXT: i64 = 120;
const SMALL: i64 = 110;

/// Characters of a code: a language, a length, a number of tokens.
const CODE: usize = 8;

/// Room for labels of so many characters, in tenths of a pixel.
fn room(labels: impl Iterator<Item = usize>) -> i64 {
    labels.max().unwrap_or(0).min(38) as i64 * 68 + 120
}

fn short(label: &str) -> String {
    match label.char_indices().nth(38) {
        Some((at, _)) => format!("{}..", &label[..at]),
        None => label.to_owned(),
    }
}

fn count(text: &str) -> usize {
    text.chars().count()
}

/// A row of a [`histograms`] plot.
pub struct Histogram {
    /// What it is of.
    pub label: String,
    /// Counts of the bins.
    pub bins: Vec<u64>,
    /// Said at its right end.
    pub note: String,
}

/// Histograms below each other on one axis from `low` to `high`; each is as high as its own fullest bin.
pub fn histograms(name: &str, title: &str, axis: &str, low: u64, high: u64, rows: &[Histogram]) -> Plot {
    let left = room(rows.iter().map(|row| count(&row.label)));
    let right = room(rows.iter().map(|row| count(&row.note)));
    let (tall, gap) = (340, 90);
    let height = 100 + rows.len() as i64 * (tall + gap) + 480;
    let mut svg = Svg::new(WIDTH, height);
    let wide = WIDTH - left - right;
    let bottom = height - 480;
    for (n, row) in rows.iter().enumerate() {
        let base = 100 + n as i64 * (tall + gap) + tall;
        svg.line(left, base, left + wide, base, &named("line"), 10);
        svg.text(left - 80, base - 30, TEXT, Anchor::End, &named("ink"), &short(&row.label));
        svg.text(left + wide + 80, base - 30, SMALL, Anchor::Start, &named("soft"), &row.note);
        let most = row.bins.iter().max().copied().unwrap_or(0).max(1) as i64;
        let bins = row.bins.len().max(1) as i64;
        for (bin, n_rows) in row.bins.iter().enumerate().filter(|(_, n)| **n > 0) {
            let bin = bin as i64;
            let (x, next) = (left + wide * bin / bins, left + wide * (bin + 1) / bins);
            let h = (*n_rows as i64 * tall / most).max(10);
            svg.rect(x, base - h, (next - x - 5).max(5), h, &series(0), "");
        }
    }
    for n in 0..=4 {
        let value = low + (high - low) * n / 4;
        let x = left + wide * n as i64 / 4;
        svg.line(x, bottom, x, bottom + 50, &named("soft"), 10);
        svg.text(x, bottom + 190, SMALL, Anchor::Middle, &named("soft"), &grouped(value));
    }
    svg.text(left + wide / 2, bottom + 390, TEXT, Anchor::Middle, &named("soft"), axis);
    let about: Vec<String> = rows.iter().map(|row| format!("{}: {}", row.label, row.note)).collect();
    plot(name, title, &format!("Histograms of {axis}. {}", about.join("; ")), &svg)
}

/// A number with commas between its thousands.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// A cell of a [`heatmap`].
#[derive(Clone)]
pub struct Heat {
    /// What decides its colour, in millionths of the scale.
    pub share: u64,
    /// What is printed in it.
    pub text: String,
    /// What it says to a pointer.
    pub said: String,
}

/// The axes of a [`heatmap`].
pub struct Axes<'a> {
    /// What the columns are.
    pub across: &'a str,
    /// What the rows are.
    pub down: &'a str,
    /// What the colours are.
    pub colour: &'a str,
    /// What the ends of the scale are.
    pub ends: (&'a str, &'a str),
}

/// Cells by row and column; of a cell that is not there nothing is known.
pub fn heatmap(
    name: &str,
    title: &str,
    axes: &Axes<'_>,
    rows: &[String],
    columns: &[String],
    cell: &dyn Fn(usize, usize) -> Option<Heat>,
) -> Plot {
    let left = room(rows.iter().map(|row| count(row)));
    let wide = (WIDTH - left - 100) / columns.len().max(1) as i64;
    let wide = wide.min(900);
    let tall = if rows.len() > 14 { 160 } else { 300 };
    let top = 420;
    let height = top + rows.len() as i64 * tall + 760;
    let mut svg = Svg::new(WIDTH, height);
    svg.text(
        left,
        150,
        TEXT,
        Anchor::Start,
        &named("soft"),
        &format!("{} (down) by {} (across)", axes.down, axes.across),
    );
    // Labels that would run into each other are left out; words among codes are cut.
    let usual = columns.iter().map(|c| count(c)).filter(|n| *n <= CODE).max().unwrap_or(CODE) as i64 * 70 + 40;
    let every = ((usual + wide - 1) / wide.max(1)).max(1);
    let fits = ((every * wide - 40) / 68).max(1) as usize;
    for (n, column) in columns.iter().enumerate().step_by(every as usize) {
        let x = left + wide * n as i64 + wide / 2;
        let label = match column.char_indices().nth(fits) {
            Some(_) => column.chars().take(fits.saturating_sub(2)).collect::<String>() + "..",
            None => column.clone(),
        };
        svg.text(x, top - 70, SMALL, Anchor::Middle, &named("ink"), &label);
    }
    let mut empty = 0;
    let mut said = Vec::new();
    for (y, row) in rows.iter().enumerate() {
        let at = top + y as i64 * tall;
        if tall >= 200 || y % 2 == 0 || rows.len() <= 20 {
            svg.text(left - 80, at + tall / 2 + 40, SMALL, Anchor::End, &named("ink"), &short(row));
        }
        for (x, column) in columns.iter().enumerate() {
            let Some(heat) = cell(y, x) else {
                svg.rect(
                    left + wide * x as i64,
                    at,
                    wide - 10,
                    tall - 10,
                    &named("line"),
                    &format!("{row}, {column}: none"),
                );
                empty += 1;
                continue;
            };
            let (fill, ink) = scale(heat.share);
            let x0 = left + wide * x as i64;
            svg.rect(x0, at, wide - 10, tall - 10, fill, &heat.said);
            if wide >= count(&heat.text) as i64 * 66 + 30 && tall >= 200 {
                svg.text(x0 + wide / 2 - 5, at + tall / 2 + 35, SMALL, Anchor::Middle, ink, &heat.text);
            }
            said.push(heat.share);
        }
    }
    let base = top + rows.len() as i64 * tall + 220;
    for step in 0..=10 {
        let (fill, _) = scale(step * 100_000);
        svg.rect(left + step as i64 * 180, base, 180, 130, fill, "");
    }
    svg.text(left, base + 280, SMALL, Anchor::Start, &named("soft"), axes.ends.0);
    svg.text(left + 1980, base + 280, SMALL, Anchor::End, &named("soft"), axes.ends.1);
    svg.text(left + 2080, base + 100, SMALL, Anchor::Start, &named("soft"), axes.colour);
    if empty > 0 {
        svg.rect(left + 2080, base + 190, 120, 100, &named("line"), "");
        svg.text(left + 2260, base + 280, SMALL, Anchor::Start, &named("soft"), "no rows");
    }
    let about = format!(
        "Heatmap of {}: {} rows of {}, {} columns of {}; from {} to {} of the scale",
        axes.colour,
        rows.len(),
        axes.down,
        columns.len(),
        axes.across,
        percent(said.iter().min().copied().unwrap_or(0)),
        percent(said.iter().max().copied().unwrap_or(0))
    );
    plot(name, title, &about, &svg)
}

/// A point of a curve.
#[derive(Clone, Copy)]
pub struct Point {
    /// Its place on the axis of steps.
    pub step: usize,
    /// Its value, in millionths.
    pub value: u64,
    /// Standard error, in millionths; 0 draws no bar.
    pub error: u64,
    /// Rows behind it.
    pub rows: u64,
}

/// A curve and its name.
pub struct Curve {
    /// Its name.
    pub label: String,
    /// Its points, from left to right.
    pub points: Vec<Point>,
}

/// What the axes of [`curves`] are.
pub struct Sides<'a> {
    /// What the steps are.
    pub across: &'a str,
    /// What the values are.
    pub up: &'a str,
    /// Values are written as percent, else as shares of 1.
    pub percent: bool,
}

/// Curves over steps that stand evenly, from nothing to all, with error bars of one standard error.
pub fn curves(name: &str, title: &str, sides: &Sides<'_>, steps: &[String], all: &[Curve]) -> Plot {
    let Sides { across, up, percent: as_percent } = *sides;
    let (left, right, top, tall) = (700, 250, 200, 2600);
    let legend: Vec<String> = all.iter().map(|curve| short(&curve.label)).collect();
    let each = room(legend.iter().map(|l| count(l))) + 420;
    let across_legend = ((WIDTH - left) / each).max(1) as usize;
    let lines = legend.len().div_ceil(across_legend) as i64;
    let height = top + tall + 560 + lines * 220 + 100;
    let mut svg = Svg::new(WIDTH, height);
    let wide = WIDTH - left - right;
    let tick = |n: i64| match as_percent {
        true => format!("{}%", n * 25),
        false => format!("{}.{:02}", n / 4, n * 25 % 100),
    };
    for n in 0..=4 {
        let y = top + tall - tall * n / 4;
        svg.line(left, y, left + wide, y, &named("line"), 10);
        svg.text(left - 80, y + 40, SMALL, Anchor::End, &named("soft"), &tick(n));
    }
    svg.text(left - 80, top - 80, SMALL, Anchor::Start, &named("soft"), up);
    let place = |step: usize| left + wide * (2 * step as i64 + 1) / (2 * steps.len().max(1) as i64);
    let most = steps.iter().map(|s| count(s)).max().unwrap_or(1) as i64 * 70 + 60;
    let every = (most * steps.len() as i64 / wide + 1).max(1) as usize;
    for (n, step) in steps.iter().enumerate().filter(|(n, _)| n % every == 0) {
        svg.text(place(n), top + tall + 180, SMALL, Anchor::Middle, &named("soft"), step);
    }
    svg.text(left + wide / 2, top + tall + 390, TEXT, Anchor::Middle, &named("soft"), across);
    let y = |value: u64| top + tall - tall * value.min(1_000_000) as i64 / 1_000_000;
    for (n, curve) in all.iter().enumerate() {
        // Bars of several curves stand beside each other.
        let shift = (n as i64 * 2 + 1 - all.len() as i64) * 18;
        let at = |point: &Point| (place(point.step) + shift, y(point.value));
        let colour = series(n);
        let points: Vec<(i64, i64)> = curve.points.iter().map(at).collect();
        svg.path(&points, &colour, 20, dashes(n));
        for point in &curve.points {
            let (x, middle) = at(point);
            if point.error > 0 {
                let (low, high) = (y(point.value.saturating_sub(point.error)), y(point.value + point.error));
                svg.line(x, low, x, high, &colour, 12);
                svg.line(x - 30, low, x + 30, low, &colour, 12);
                svg.line(x - 30, high, x + 30, high, &colour, 12);
            }
            let said = format!(
                "{}, {}: {} +- {}, {} rows",
                curve.label,
                steps[point.step],
                percent(point.value),
                percent(point.error),
                point.rows
            );
            svg.mark(x, middle, n, &said);
        }
    }
    for (n, label) in legend.iter().enumerate() {
        let x = left + (n % across_legend) as i64 * each;
        let y = top + tall + 620 + (n / across_legend) as i64 * 220;
        svg.path(&[(x, y), (x + 260, y)], &series(n), 20, dashes(n));
        svg.mark(x + 130, y, n, "");
        svg.text(x + 330, y + 40, SMALL, Anchor::Start, &named("ink"), label);
    }
    let mean = |curve: &Curve| curve.points.iter().map(|p| p.value).sum::<u64>() / (curve.points.len() as u64).max(1);
    let about: Vec<String> =
        all.iter().map(|curve| format!("{} on average {}", curve.label, percent(mean(curve)))).collect();
    plot(name, title, &format!("Curves of {up} by {across}: {}", about.join("; ")), &svg)
}

/// A row of a [`dots`] plot: a value beside another.
pub struct Pair {
    /// What it is of.
    pub label: String,
    /// The value, in millionths.
    pub value: u64,
    /// What it stands beside.
    pub beside: u64,
}

/// Two values a row, such as a score beside chance.
pub fn dots(name: &str, title: &str, what: (&str, &str), rows: &[Pair]) -> Plot {
    let left = room(rows.iter().map(|row| count(&row.label)));
    let (right, step) = (700, 260);
    let height = 420 + rows.len() as i64 * step + 260;
    let mut svg = Svg::new(WIDTH, height);
    let wide = WIDTH - left - right;
    svg.mark(left + 60, 130, 1, "");
    svg.text(left + 160, 170, SMALL, Anchor::Start, &named("ink"), what.0);
    let second = left + 400 + count(what.0) as i64 * 68;
    svg.line(second, 60, second, 200, &named("ink"), 25);
    svg.text(second + 100, 170, SMALL, Anchor::Start, &named("ink"), what.1);
    let x = |value: u64| left + wide * value.min(1_000_000) as i64 / 1_000_000;
    for n in 0..=4 {
        let at = left + wide * n / 4;
        svg.line(at, 320, at, height - 240, &named("line"), 10);
        svg.text(at, height - 80, SMALL, Anchor::Middle, &named("soft"), &format!("{}%", n * 25));
    }
    for (n, row) in rows.iter().enumerate() {
        let y = 420 + n as i64 * step + step / 2 - 60;
        svg.text(left - 80, y + 40, SMALL, Anchor::End, &named("ink"), &short(&row.label));
        svg.line(x(row.beside), y, x(row.value), y, &series(1), 25);
        svg.line(x(row.beside), y - 80, x(row.beside), y + 80, &named("ink"), 25);
        let said = format!("{}: {} {}, {} {}", row.label, what.0, percent(row.value), what.1, percent(row.beside));
        svg.mark(x(row.value), y, 1, &said);
        svg.text(WIDTH - right + 120, y + 40, SMALL, Anchor::Start, &named("soft"), &percent(row.value));
    }
    let about: Vec<String> = rows
        .iter()
        .map(|row| format!("{}: {} beside {}", row.label, percent(row.value), percent(row.beside)))
        .collect();
    plot(name, title, &format!("{} beside {}. {}", what.0, what.1, about.join("; ")), &svg)
}
