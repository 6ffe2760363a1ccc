//! lighteval: a file of custom tasks.

use super::folder::Folder;
use crate::error::Result;

pub(super) fn write(folder: &Folder) -> Result<()> {
    folder.text("tasks.py", include_str!("lighteval.py"))
}
