//! Arrow IPC streams that are read to the end they should have, and written so that they have it.
//!
//! A reader takes the end of its input for the end of a stream; but where whoever wrote it was killed, the rows that came must not pass for
//! all of them.

use crate::error::{Error, Result};
use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::SchemaRef;
use std::io::{BufWriter, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What stands at the end of a stream: no message follows.
const END: [u8; 8] = [0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0];

/// Remembers the last bytes that passed.
struct Tail<R> {
    inner: R,
    last: [u8; 8],
}

impl<R: Read> Read for Tail<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = self.inner.read(buffer)?;
        let keep = n.min(8);
        self.last.rotate_left(keep);
        self.last[8 - keep..].copy_from_slice(&buffer[n - keep..n]);
        Ok(n)
    }
}

/// A stream that is read: its batches, then an error where it breaks off. Errors say what is wrong; where, their reader knows.
pub struct Stream<R: Read> {
    reader: StreamReader<Tail<R>>,
    over: bool,
}

impl<R: Read> Stream<R> {
    /// Reads the schema. Nothing behind the stream's end is read, so another may begin there.
    pub fn open(inner: R) -> std::result::Result<Stream<R>, String> {
        let tail = Tail { inner, last: [0; 8] };
        let reader = guarded(|| StreamReader::try_new(tail, None).map_err(|e| e.to_string()));
        let reader = reader.map_err(|e| format!("no Arrow IPC stream: {e}"))?;
        Ok(Stream { reader, over: false })
    }

    /// Its columns.
    pub fn schema(&self) -> SchemaRef {
        self.reader.schema()
    }
}

impl<R: Read> Iterator for Stream<R> {
    type Item = std::result::Result<RecordBatch, String>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over {
            return None;
        }
        let next = guarded(|| self.reader.next().transpose().map_err(|e| e.to_string()));
        if let Ok(Some(batch)) = next {
            return Some(Ok(batch));
        }
        self.over = true;
        match next {
            Err(e) => Some(Err(format!("the Arrow IPC stream is damaged: {e}"))),
            _ if self.reader.get_ref().last == END => None,
            _ => Some(Err("the Arrow IPC stream breaks off".to_owned())),
        }
    }
}

/// The reader may fail in its own ways on bytes that were made to break it.
fn guarded<T>(read: impl FnOnce() -> std::result::Result<T, String>) -> std::result::Result<T, String> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| Err("it breaks the reader".to_owned()))
}

/// A stream that is written.
pub struct Sink<'a> {
    schema: SchemaRef,
    writer: StreamWriter<BufWriter<&'a mut dyn Write>>,
}

impl<'a> Sink<'a> {
    /// Begins a stream.
    pub fn new(out: &'a mut dyn Write, schema: SchemaRef) -> Result<Sink<'a>> {
        let writer = StreamWriter::try_new(BufWriter::with_capacity(1 << 18, out), &schema).map_err(unwritten)?;
        Ok(Sink { schema, writer })
    }

    /// Writes rows, and does not wait for more.
    pub fn write(&mut self, columns: Vec<arrow_array::ArrayRef>) -> Result<()> {
        let batch = RecordBatch::try_new(self.schema.clone(), columns).map_err(unwritten)?;
        self.batch(&batch)
    }

    /// [`Sink::write`] of rows that have the schema.
    pub fn batch(&mut self, batch: &RecordBatch) -> Result<()> {
        self.writer.write(batch).map_err(unwritten)?;
        self.writer.flush().map_err(unwritten)
    }

    /// Ends the stream. What is not ended is not whole for whoever reads it.
    pub fn finish(mut self) -> Result<()> {
        self.writer.finish().map_err(unwritten)?;
        self.writer.flush().map_err(unwritten)
    }
}

fn unwritten(cause: impl std::fmt::Display) -> Error {
    Error::new(format!("cannot write the Arrow IPC stream: {cause}"))
}
