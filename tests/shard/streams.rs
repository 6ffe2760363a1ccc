//! Arrow IPC streams as engines write and read them, with the library alone.

use arrow_array::{ArrayRef, BinaryArray, Int64Array, RecordBatch, StringArray};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::Schema;
use std::path::Path;
use std::sync::Arc;

/// The bytes of a stream of these batches, which have the same columns.
pub fn stream(batches: &[RecordBatch]) -> Vec<u8> {
    let mut writer = StreamWriter::try_new(Vec::new(), &batches[0].schema()).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap();
    writer.into_inner().unwrap()
}

/// The batches of a stream.
pub fn read(bytes: &[u8]) -> Vec<RecordBatch> {
    StreamReader::try_new(bytes, None).unwrap().map(Result::unwrap).collect()
}

/// A note of a stream's schema.
pub fn note(bytes: &[u8], key: &str) -> Option<String> {
    StreamReader::try_new(bytes, None).unwrap().schema().metadata().get(key).cloned()
}

/// A stream with one more note, or another.
pub fn noted(bytes: &[u8], key: &str, value: &str) -> Vec<u8> {
    let reader = StreamReader::try_new(bytes, None).unwrap();
    let schema = reader.schema();
    let mut notes = schema.metadata().clone();
    notes.insert(key.to_owned(), value.to_owned());
    let schema = Arc::new(Schema::new_with_metadata(schema.fields().clone(), notes));
    let mut writer = StreamWriter::try_new(Vec::new(), &schema).unwrap();
    for batch in reader {
        writer.write(&RecordBatch::try_new(schema.clone(), batch.unwrap().columns().to_vec()).unwrap()).unwrap();
    }
    writer.finish().unwrap();
    writer.into_inner().unwrap()
}

/// A batch of named columns.
pub fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter(columns).unwrap()
}

pub fn integers(values: impl IntoIterator<Item = i64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(values))
}

pub fn texts<S: AsRef<str>>(values: impl IntoIterator<Item = S>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}

/// Vectors of bytes.
pub fn vectors(rows: impl IntoIterator<Item = Vec<i8>>) -> ArrayRef {
    Arc::new(BinaryArray::from_iter_values(
        rows.into_iter().map(|row| row.into_iter().map(i8::cast_unsigned).collect::<Vec<u8>>()),
    ))
}

/// Runs the program with bytes on its standard input: exit code, standard output, standard error.
pub fn piped(folder: &Path, args: &[&str], input: &[u8]) -> (Option<i32>, Vec<u8>, String) {
    use std::io::Write;
    use std::process::{Command, Stdio};
    let mut child = Command::new(env!("CARGO_BIN_EXE_nihbuild"))
        .current_dir(folder)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // A worker that refuses its input reads no further.
    let writing = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    writing.join().unwrap();
    (output.status.code(), output.stdout, String::from_utf8(output.stderr).unwrap())
}

/// The worker did its work; gives its stream.
#[track_caller]
pub fn worked(folder: &Path, args: &[&str], input: &[u8]) -> Vec<u8> {
    let (code, out, err) = piped(folder, args, input);
    assert_eq!(code, Some(0), "{args:?}: {err}");
    out
}

/// The worker failed with one line that says all of this.
#[track_caller]
pub fn failed(folder: &Path, args: &[&str], input: &[u8], said: &[&str]) {
    let (code, _, err) = piped(folder, args, input);
    assert_eq!(code, Some(2), "{args:?}: {err}");
    assert_eq!(err.lines().count(), 1, "{err}");
    for word in said {
        assert!(err.contains(word), "expected {word:?} in: {err}");
    }
}
