//! The one error type: what went wrong, where, and the way out.

use std::fmt;
use std::path::Path;

/// Result of every fallible function of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// A failure a person can act on.
///
/// `what` names the fault, `place` the file, line, row or key it was found at, `help` the way out.
#[derive(Debug)]
pub struct Error {
    what: String,
    place: Vec<String>,
    help: Option<String>,
    key: Option<Box<Key>>,
    excerpt: Option<Box<str>>,
}

/// What of a recipe an error is about.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    /// Keys from the top, such as `grid.lengths[2]`.
    pub path: String,
    /// The key itself, rather than its value.
    pub itself: bool,
}

/// An error of a library with all its causes: the first line of a connection's fault says little.
pub fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text += &format!(": {more}");
        }
        cause = error.source();
    }
    text
}

impl Error {
    /// A failure described by one sentence.
    pub fn new(what: impl Into<String>) -> Self {
        Error { what: what.into(), place: Vec::new(), help: None, key: None, excerpt: None }
    }

    /// A failed operation on a file or folder.
    pub fn io(doing: &str, path: &Path, cause: impl fmt::Display) -> Self {
        let error = Error::new(format!("{doing} {}: {cause}", path.display()));
        let text = cause.to_string();
        if text.contains("No space left") {
            return error.help("free some space and run the same command again: finished files are kept");
        }
        if text.contains("Permission denied") || text.contains("Read-only") {
            return error.help("look at its permissions; releases and the store go to another folder with --out DIR");
        }
        error
    }

    /// Says where the fault was found; the innermost place is added first.
    pub fn at(mut self, place: impl fmt::Display) -> Self {
        self.place.push(place.to_string());
        self
    }

    /// Says whose value in a recipe is at fault, by the keys from the top, such as `grid.lengths[2]`. Of several calls the first
    /// counts.
    pub fn on(self, path: impl Into<String>) -> Self {
        self.about(path.into(), false)
    }

    /// Says which key of a recipe should not be there.
    pub fn on_key(self, path: impl Into<String>) -> Self {
        self.about(path.into(), true)
    }

    fn about(mut self, path: String, itself: bool) -> Self {
        self.key.get_or_insert(Box::new(Key { path, itself }));
        self
    }

    /// Says which table the key of the error is in; without a key, that the table is meant.
    pub fn under(mut self, table: &str) -> Self {
        let (path, itself) = match self.key {
            Some(key) => (format!("{table}.{}", key.path), key.itself),
            None => (table.to_owned(), false),
        };
        self.key = Some(Box::new(Key { path, itself }));
        self
    }

    pub(crate) fn key(&self) -> Option<&Key> {
        self.key.as_deref()
    }

    /// Shows the line of a file that the fault is in.
    pub(crate) fn excerpt(mut self, lines: String) -> Self {
        self.excerpt = Some(lines.into());
        self
    }

    /// Has the error a way out already?
    pub(crate) fn has_help(&self) -> bool {
        self.help.is_some()
    }

    /// What went wrong.
    pub(crate) fn what(&self) -> &str {
        &self.what
    }

    /// Says what to do about it.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.what)?;
        for place in &self.place {
            write!(f, "\n  at {place}")?;
        }
        if let Some(lines) = &self.excerpt {
            write!(f, "\n{lines}")?;
        }
        if let Some(help) = &self.help {
            write!(f, "\n  help: {help}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

/// Shorthand for `Err(Error::new(format!(..)))`; with `on` or `key` and a path of a recipe's keys, `.on(..)` or `.on_key(..)` of it.
#[macro_export]
macro_rules! fail {
    (on $path:expr; $($arg:tt)*) => { return Err($crate::error::Error::new(format!($($arg)*)).on($path)) };
    (key $path:expr; $($arg:tt)*) => { return Err($crate::error::Error::new(format!($($arg)*)).on_key($path)) };
    ($($arg:tt)*) => { return Err($crate::error::Error::new(format!($($arg)*))) };
}
