//! The verdict, its reasons, and whether the step of the version numbers is as large.

use super::change::Kind;
use super::{Rows, Side};
use serde::Serialize;

/// How far one release is from another, by what it does to scores.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verdict {
    /// Equal bytes.
    Same,
    /// The same rows: re-serialised, or only metadata changed.
    Patch,
    /// Rows were added; those that were there are the same.
    Minor,
    /// Scores cannot be compared: of a row that was there the question, the gold or anything else that a model is shown
    /// is another, or it is gone. A prompt that changed beside the same question and gold is such a row: models answer
    /// other prompts otherwise.
    Major,
}

impl Verdict {
    /// As it is printed.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Same => "SAME",
            Verdict::Patch => "PATCH",
            Verdict::Minor => "MINOR",
            Verdict::Major => "MAJOR",
        }
    }
}

fn rows_of(n: u64) -> String {
    if n == 1 { "1 row".to_owned() } else { format!("{n} rows") }
}

fn were(n: u64) -> &'static str {
    if n == 1 { "was" } else { "were" }
}

/// The verdict and its reasons, the gravest first. `bytes`: all files of both are equal.
pub(super) fn verdict(rows: &Rows, bytes: bool, formats: (u32, u32)) -> (Verdict, Vec<String>) {
    let of = |kind| rows.kinds.get(&kind).copied().unwrap_or(0);
    let mut major = Vec::new();
    for (kind, what) in [(Kind::Question, "the question"), (Kind::Answer, "the gold, or what else is accepted,")] {
        if of(kind) > 0 {
            major.push(format!("{what} of {} changed", rows_of(of(kind))));
        }
    }
    if rows.removed > 0 {
        major.push(format!("{} {} removed", rows_of(rows.removed), were(rows.removed)));
    }
    let asked_alike = rows.shown_otherwise;
    if asked_alike > 0 {
        let what = "has another prompt or system message beside the same question and gold, which changes scores";
        let have = if asked_alike == 1 { what.to_owned() } else { what.replacen("has", "have", 1) };
        major.push(format!("{} {have}", rows_of(asked_alike)));
    }
    if !major.is_empty() {
        return (Verdict::Major, major);
    }
    let mut patch = Vec::new();
    if rows.metadata > 0 {
        patch.push(format!("only metadata of {} changed", rows_of(rows.metadata)));
    }
    if rows.added > 0 {
        let added = format!("{} {} added, those that were there are the same", rows_of(rows.added), were(rows.added));
        return (Verdict::Minor, [vec![added], patch].concat());
    }
    if formats.0 != formats.1 {
        patch.push(format!("the format is another ({} -> {})", formats.0, formats.1));
    }
    let outside = rows.outside_a + rows.outside_b;
    if outside > 0 {
        patch.push(format!("the rows that both have are the same, {} not in the part", rows_of(outside)));
    } else if bytes && patch.is_empty() {
        return (Verdict::Same, vec!["all files are equal".to_owned()]);
    } else if rows.metadata == 0 {
        patch.push("the same rows, in other files or beside another description".to_owned());
    }
    (Verdict::Patch, patch)
}

/// What the version numbers say beside the verdict.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Versions {
    /// The step from the first to the second; none where they cannot be compared.
    pub step: Option<&'static str>,
    /// The step is as large as the verdict asks for.
    pub enough: Option<bool>,
    /// What there is to say.
    pub note: String,
}

impl Versions {
    pub(super) fn of(a: &Side, b: &Side, verdict: Verdict) -> Versions {
        let none = |note: &str| Versions { step: None, enough: None, note: note.to_owned() };
        if a.name != b.name {
            return none("is not compared: the releases have two names");
        }
        if a.part != b.part {
            return none("is not compared: a part has the version of the whole");
        }
        let (Some(x), Some(y)) = (numbers(&a.version), numbers(&b.version)) else {
            return none("is not compared: one is not three numbers");
        };
        let (step, size) = match () {
            () if y < x => ("back", Verdict::Same),
            () if y[0] != x[0] => ("major", Verdict::Major),
            () if y[1] != x[1] => ("minor", Verdict::Minor),
            () if y[2] != x[2] => ("patch", Verdict::Patch),
            () => ("none", Verdict::Same),
        };
        let enough = size >= verdict;
        let walk = format!("{} -> {}", a.version, b.version);
        let note = match (step, enough) {
            ("back", _) => format!("{walk} goes back: compare the older release with the newer"),
            ("none", true) => format!("{} in both, as it should be", a.version),
            ("none", false) => format!("{} in both: the verdict asks for a step ({})", a.version, verdict.name()),
            (_, true) => format!("{walk} is a {step} step, which is enough"),
            (_, false) => format!("{walk} is a {step} step, smaller than the verdict asks ({})", verdict.name()),
        };
        Versions { step: Some(step), enough: (step != "back").then_some(enough), note }
    }
}

fn numbers(version: &str) -> Option<[u64; 3]> {
    let parts: Vec<u64> = version.split('.').map(|n| n.parse().ok()).collect::<Option<_>>()?;
    parts.try_into().ok()
}
