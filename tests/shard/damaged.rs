//! Streams that are not whole.

use super::streams::{batch, integers, stream, vectors};
use nihbuild::shard::stream::{Source, rows};
use std::path::Path;

/// Rows of a file, or the text of the error.
fn read(path: &Path) -> Result<usize, String> {
    let mut found = 0;
    rows(&Source::File(path.to_owned()), |piece| {
        piece.numbers()?;
        piece.vectors()?;
        found += piece.batch.num_rows();
        Ok(())
    })
    .map_err(|e| e.to_string())?;
    Ok(found)
}

#[test]
fn a_stream_that_breaks_off_anywhere_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.arrow");
    let of = |first: i64| {
        batch(vec![("number", integers(first..first + 3)), ("vector", vectors((0..3).map(|n| vec![n as i8, -1, 7])))])
    };
    let whole = stream(&[of(0), of(3)]);
    std::fs::write(&path, &whole).unwrap();
    assert_eq!(read(&path).unwrap(), 6);
    for length in 0..whole.len() {
        std::fs::write(&path, &whole[..length]).unwrap();
        let error = read(&path).unwrap_err();
        assert!(error.contains("s.arrow") && error.contains("run that step again"), "{length}: {error}");
        // So it is in front of another, and behind one.
        if length > 0 {
            for both in [[&whole[..length], &whole].concat(), [&whole, &whole[..length]].concat()] {
                std::fs::write(&path, &both).unwrap();
                assert!(read(&path).is_err(), "{length}");
            }
        }
    }
}
