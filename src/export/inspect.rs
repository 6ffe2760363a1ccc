//! Inspect AI: a file with a task a config.

use super::config::Config;
use super::folder::Folder;
use super::with_scorer;
use crate::error::Result;

/// What all tasks share.
const TASKS: &str = include_str!("inspect.py");

pub(super) fn write(folder: &Folder, configs: &[Config]) -> Result<()> {
    let mut out = with_scorer(TASKS);
    for config in configs {
        let name = identifier(&config.config);
        // Inspect finds tasks by reading the file: each must stand there as a function.
        out += &format!(
            "\n\n@task\ndef {name}(judge: bool = False, json_schema: bool = False):\n    return make({:?}, judge, json_schema)\n",
            config.config
        );
    }
    folder.text("tasks.py", &out)
}

/// A config's name as one of Python's.
fn identifier(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}
