//! nihbuild
pub mod error;
pub mod hash;
pub mod language;
pub mod seed;
pub mod source;
pub mod story;
