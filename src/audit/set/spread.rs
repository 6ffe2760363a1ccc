//! What only many rows show: the balance of labels, and where the gold stands.

use crate::audit::{Audit, Check, Finding, quoted};
use std::collections::{BTreeMap, BTreeSet};

/// Fewer rows say nothing of a spread.
const LEAST: u64 = 20;
/// More labels than this are no choice among few.
const LABELS: usize = 20;
/// The gold is at one depth if this share of rows, in percent, lies within [`WINDOW`].
const SHARE: u64 = 90;
/// In millionths of the context.
const WINDOW: u32 = 50_000;

/// Labels of a file, by task.
#[derive(Default)]
pub struct Labels(BTreeMap<String, Task>);

#[derive(Default)]
struct Task {
    /// Choices, such as yes and no.
    choices: BTreeMap<String, u64>,
    /// All answers; none once they are too many.
    all: Option<BTreeMap<String, u64>>,
    many: bool,
    questions: BTreeSet<u64>,
}

impl Labels {
    /// One more row.
    pub fn add(&mut self, task: &str, label: String, choice: bool, question: u64) {
        let task = self.0.entry(task.to_owned()).or_default();
        // One question more than one is all that matters.
        if task.questions.len() < 2 {
            task.questions.insert(question);
        }
        if choice && (task.choices.len() <= LABELS || task.choices.contains_key(&label)) {
            *task.choices.entry(label.clone()).or_default() += 1;
        }
        if !task.many {
            let all = task.all.get_or_insert_default();
            *all.entry(label).or_default() += 1;
            if all.len() > LABELS {
                (task.all, task.many) = (None, true);
            }
        }
    }

    /// Tells of labels that have most rows.
    pub fn judge(&self, audit: &mut Audit, file: &str) {
        for (name, task) in &self.0 {
            let choices: u64 = task.choices.values().sum();
            let all = task.all.as_ref();
            let open: u64 = all.map_or(0, |all| all.values().sum());
            // One question has one answer.
            let several = task.questions.len() > 1;
            let (labels, n) = match all {
                _ if choices >= LEAST && several => (&task.choices, choices),
                Some(all) if open >= LEAST && several => (all, open),
                _ => continue,
            };
            audit.looked(Check::LabelsSkewed, file, 1);
            let Some((label, most)) = labels.iter().max_by_key(|(_, n)| **n) else { continue };
            let kinds = labels.len() as u64;
            let skewed = kinds == 1 || most * 10 > 4 * n && 2 * most * kinds > 3 * n;
            if skewed {
                let task = if name.is_empty() { String::new() } else { format!("{name}: ") };
                let what = match kinds {
                    1 => format!("{task}all {n} rows have the answer {}", quoted(label, 60)),
                    _ => format!("{task}{most} of {n} rows have the answer {}, of {kinds} answers", quoted(label, 60)),
                };
                audit.add(whole(file, Check::LabelsSkewed, what));
            }
        }
    }
}

fn whole(file: &str, check: Check, what: String) -> Finding {
    Finding { file: file.to_owned(), row: None, id: None, check, group: file.to_owned(), what }
}

/// Where the gold stands in the rows of a file.
#[derive(Default)]
pub struct Positions {
    /// As a column says, and how many rows say so; at most a few hundred.
    stated: BTreeMap<String, u64>,
    n_stated: u64,
    /// As found, in millionths of the context.
    depths: Vec<u32>,
}

/// How all rows of a file stand.
enum Fixed {
    Stated(String, u64),
    At(u32, u64),
}

impl Positions {
    /// One more row.
    pub fn add(&mut self, stated: Option<String>, depth: Option<u32>) {
        self.depths.extend(depth);
        if let Some(stated) = stated {
            self.n_stated += 1;
            if self.stated.len() < 500 || self.stated.contains_key(&stated) {
                *self.stated.entry(stated).or_default() += 1;
            }
        }
    }

    fn fixed(&self) -> Option<Fixed> {
        if self.n_stated >= LEAST {
            let (stated, n) = self.stated.iter().max_by_key(|(_, n)| **n)?;
            return (n * 100 >= SHARE * self.n_stated).then(|| Fixed::Stated(stated.clone(), *n));
        }
        let mut depths = self.depths.clone();
        depths.sort_unstable();
        let all = depths.len() as u64;
        if all < LEAST {
            return None;
        }
        let within = |from: usize| depths.partition_point(|depth| *depth <= depths[from].saturating_add(WINDOW)) - from;
        let from = (0..depths.len()).max_by_key(|from| (within(*from), usize::MAX - from))?;
        let n = within(from) as u64;
        (n * 100 >= SHARE * all).then(|| Fixed::At(depths[from + n as usize / 2], n))
    }

    fn judged(&self) -> u64 {
        if self.n_stated >= LEAST { self.n_stated } else { self.depths.len() as u64 }
    }
}

/// Tells of files whose gold is always at one depth. Files that keep one each, but not the same, are a design: a file a depth.
pub fn fixed(audit: &mut Audit, files: &[(String, Positions)]) {
    let mut fixed: Vec<(&str, Fixed, u64)> = Vec::new();
    for (file, positions) in files.iter().filter(|(_, positions)| positions.judged() >= LEAST) {
        audit.looked(Check::PositionFixed, file, 1);
        fixed.extend(positions.fixed().map(|found| (file.as_str(), found, positions.judged())));
    }
    let stated: BTreeSet<&String> =
        fixed.iter().filter_map(|(_, f, _)| if let Fixed::Stated(place, _) = f { Some(place) } else { None }).collect();
    let depths: Vec<u32> =
        fixed.iter().filter_map(|(_, f, _)| if let Fixed::At(depth, _) = f { Some(*depth) } else { None }).collect();
    let apart = depths.iter().max().zip(depths.iter().min()).is_some_and(|(most, least)| most - least > WINDOW);
    let designed = (stated.len() > 1, apart);
    for (file, found, of) in fixed {
        let what = match found {
            Fixed::Stated(place, n) if !designed.0 => {
                format!("{n} of {of} rows say the gold stands at {}", quoted(&place, 60))
            }
            Fixed::At(depth, n) if !designed.1 => {
                let percent = (depth / 1000 + 5) / 10;
                format!("in {n} of {of} rows the answer stands near {percent}% of the context")
            }
            _ => continue,
        };
        audit.add(whole(file, Check::PositionFixed, what));
    }
}
