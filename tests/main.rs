//! The test program: one module a topic.
mod languages;
