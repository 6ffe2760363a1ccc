//! lighteval: a file of custom tasks.

use super::folder::Folder;
use super::with_scorer;
use crate::error::Result;

pub(super) fn write(folder: &Folder) -> Result<()> {
    folder.text("tasks.py", &with_scorer(include_str!("lighteval.py")))
}
