//! The reference scorer that exports carry.

use crate::error::Result;
use crate::release::Release;

/// The scorer, as a Python module without dependencies.
pub const PYTHON: &str = include_str!("nihbuild_score.py");

/// The words that it needs of a release's languages.
///
/// # Errors
///
/// The release's packs cannot be read.
pub fn words(_release: &Release) -> Result<serde_json::Value> {
    Ok(serde_json::json!({}))
}
