//! The papers' numbers.
