//! Which column of a prompt set holds what.

use crate::error::{Error, Result};
use std::collections::BTreeMap;

/// What a column may hold.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Role {
    /// What a model is asked, whole.
    Prompt,
    /// The text that holds the answer, where it stands apart.
    Context,
    /// The question alone.
    Question,
    /// The accepted answers: a text or a list of texts.
    Answers,
    /// The row's id.
    Id,
    /// The length that the prompt should have.
    Length,
    /// Where the gold stands: any number or word.
    GoldPosition,
    /// The texts that should not hold the answer: a text or a list of texts.
    Distractors,
    /// The language of the text.
    Language,
    /// The task, for the balance of labels.
    Task,
    /// Not empty where the row was cut from a longer prompt: it need not have its length.
    Cut,
}

/// Roles, their names on the command line, and the columns that usually hold them, the first of these that are there.
/// Names with a `+` are taken together, where all are there.
const ROLES: [(Role, &str, &[&str]); 11] = [
    (Role::Prompt, "prompt", &["prompt", "input", "inputs", "full_prompt", "instruction_and_input"]),
    (Role::Context, "context", &["context", "passage", "document", "haystack"]),
    (Role::Question, "question", &["question", "query"]),
    (
        Role::Answers,
        "answers",
        &[
            "answers+answer_variants+answers_by_language",
            "answers+answer_variants",
            "answers",
            "outputs",
            "answer",
            "target",
            "targets",
            "gold",
            "ideal",
            "expected_answer",
            "label",
            "reference",
            "references",
            "output",
        ],
    ),
    (Role::Id, "id", &["id", "_id", "index", "qid", "question_id", "sample_id", "uid", "example_id"]),
    (Role::Length, "length", &["length", "nominal_length", "context_length", "max_length", "context_size"]),
    (
        Role::GoldPosition,
        "gold_position",
        &["gold_position", "position", "needle_depth", "depth_percent", "depth", "gold_index", "answer_position"],
    ),
    (Role::Distractors, "distractors", &["distractors", "negatives", "hard_negatives", "distractor_passages"]),
    (Role::Language, "language", &["haystack_language", "language", "lang", "input_lang"]),
    (Role::Task, "task", &["source_task", "task", "subtask", "dataset", "task_name"]),
    (Role::Cut, "cut", &["retriever"]),
];

/// A map of columns as the command line gives it.
#[derive(Clone, Debug, Default)]
pub struct Map(BTreeMap<Role, Vec<String>>);

impl Map {
    /// Reads `prompt=input,answers=outputs`; columns of several names are joined by `+`, fields inside a column by `.`.
    pub fn parse(text: &str) -> Result<Map> {
        let mut map = BTreeMap::new();
        for pair in text.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
            let fault = |what: String| {
                let roles: Vec<&str> = ROLES.iter().map(|(_, name, _)| *name).collect();
                Error::new(format!("--map: {what}"))
                    .help(format!("write ROLE=COLUMN, parted by commas; roles are {}", roles.join(", ")))
            };
            let (role, columns) = pair.split_once('=').ok_or_else(|| fault(format!("{pair:?} has no `=`")))?;
            let known = ROLES.iter().find(|(_, name, _)| *name == role.trim());
            let (role, _, _) = known.ok_or_else(|| fault(format!("unknown role {:?}", role.trim())))?;
            let columns: Vec<String> = columns.split('+').map(|column| column.trim().to_owned()).collect();
            if columns.iter().any(String::is_empty) {
                return Err(fault(format!("{pair:?} names no column")));
            }
            if map.insert(*role, columns).is_some() {
                return Err(fault(format!("{pair:?}: the role stands twice")));
            }
        }
        Ok(Map(map))
    }

    /// The columns of each role in a file that has these columns.
    ///
    /// # Errors
    ///
    /// A column of the map that is not there; no column that could be the prompt.
    pub fn resolve(&self, file: &str, there: &[String]) -> Result<Columns> {
        let listed = || match there.is_empty() {
            true => "it has none".to_owned(),
            false => format!("it has {}", there.join(", ")),
        };
        let has = |column: &str| there.iter().any(|known| known == top(column) || known == column);
        let mut columns = BTreeMap::new();
        for (role, name, usual) in &ROLES {
            if let Some(given) = self.0.get(role) {
                if let Some(missing) = given.iter().find(|column| !has(column)) {
                    return Err(Error::new(format!("there is no column {missing:?} for {name}: {}", listed()))
                        .at(file)
                        .help(format!("name another with --map {name}=COLUMN")));
                }
                columns.insert(*role, given.clone());
            } else if let Some(found) = usual.iter().find(|names| names.split('+').all(has)) {
                columns.insert(*role, found.split('+').map(str::to_owned).collect());
            }
        }
        if !columns.contains_key(&Role::Prompt) && !columns.contains_key(&Role::Context) {
            return Err(Error::new(format!("no column is known to hold the prompt: {}", listed()))
                .at(file)
                .help("name it with --map prompt=COLUMN (or context=COLUMN)"));
        }
        let given = self.0.keys().copied().collect();
        Ok(Columns { columns, given })
    }
}

/// The column that a field lies in.
fn top(column: &str) -> &str {
    column.split_once('.').map_or(column, |(top, _)| top)
}

/// The columns of a file.
#[derive(Clone, Debug)]
pub struct Columns {
    columns: BTreeMap<Role, Vec<String>>,
    given: Vec<Role>,
}

impl Columns {
    /// Those of a role.
    pub fn of(&self, role: Role) -> &[String] {
        self.columns.get(&role).map_or(&[], Vec::as_slice)
    }

    /// Was the role named on the command line?
    pub fn is_given(&self, role: Role) -> bool {
        self.given.contains(&role)
    }

    /// The columns that were named on the command line.
    pub fn given(&self) -> impl Iterator<Item = &str> {
        self.given.iter().flat_map(|role| self.of(*role)).map(String::as_str)
    }

    /// Is a column needed at all?
    pub fn uses(&self, column: &str) -> bool {
        self.columns.values().flatten().any(|used| used == column || top(used) == column)
    }

    /// What each role is read from, in words.
    pub fn words(&self) -> String {
        let of = |(role, name): (Role, &str)| {
            let columns = self.of(role);
            (!columns.is_empty()).then(|| format!("{name}={}", columns.join("+")))
        };
        ROLES.iter().filter_map(|(role, name, _)| of((*role, name))).collect::<Vec<_>>().join(",")
    }
}
