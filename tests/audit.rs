//! The audit of data of others: each check on small sets, formats, broken input, output, our own releases, and the released files.

#[path = "audit/broken.rs"]
mod broken;
#[path = "audit/output.rs"]
mod output;
#[path = "audit/own.rs"]
mod own;
#[path = "audit/real.rs"]
mod real;
#[path = "audit/rows.rs"]
mod rows;
