//! The data files of an export: Parquet as the release has it, or cut to some rows; or JSON Lines.

use super::folder::Folder;
use super::pick::Picked;
use super::row::{Row, columns};
use crate::error::{Error, Result};
use crate::hash::{Digest, HashingWriter};
use crate::release::Release;
use crate::table::{GROUP_BYTES, text, writer_properties};
use arrow_array::RecordBatch;
use arrow_schema::Schema;
use parquet::arrow::ArrowWriter;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

/// Writes a config's rows as Parquet. All of them are the release's file, byte for byte, also of a compact release;
/// `link` leads to it. Some are a file in the same form.
pub(super) fn parquet(release: &Release, picked: &Picked, to: &str, link: bool, folder: &Folder) -> Result<()> {
    let data = &release.files()[picked.file];
    match &picked.rows {
        None if release.is_compact() => {
            refuse_link(link, "is compact: its Parquet files are put together when they are asked for")?;
            release.put(picked.file, &folder.partial)?;
            folder.enter(to, data.sha256, data.bytes);
        }
        None => {
            let from = release.folder.join(&data.path);
            let (digest, bytes) = if link { folder.link(&from, to)? } else { folder.copy(&from, to)? };
            if digest != data.sha256 {
                return Err(Error::new(format!("{} is not the file that the manifest names", from.display()))
                    .help("run verify on the release, and get it or build it again"));
            }
            folder.enter(to, digest, bytes);
        }
        Some(rows) => {
            refuse_link(link, "is cut to some rows: such a file is written anew")?;
            let path = folder.make(to)?;
            let (digest, bytes) = cut(release, picked.file, rows, &path)?;
            folder.enter(to, digest, bytes);
        }
    }
    Ok(())
}

fn refuse_link(link: bool, why: &str) -> Result<()> {
    match link {
        true => Err(Error::new(format!("--link: the release {why}")).help("leave --link out")),
        false => Ok(()),
    }
}

/// Writes some rows of a data file. Rows are written one by one, so that the bytes do not depend on how batches were read.
fn cut(release: &Release, file: usize, rows: &[u32], path: &Path) -> Result<(Digest, u64)> {
    let fault = |e: &dyn std::fmt::Display| Error::io("cannot write", path, e);
    let names: Vec<&str> = release.schema().fields().iter().map(|field| field.name().as_str()).collect();
    let out = File::create(path).map_err(|e| fault(&e))?;
    let mut out = HashingWriter::new(BufWriter::new(out));
    let mut writer: Option<ArrowWriter<&mut HashingWriter<BufWriter<File>>>> = None;
    let mut sink = Some(&mut out);
    let mut held = 0;
    for batch in release.batches(file, &names, Some(rows))? {
        let batch = batch?;
        let columns = names.iter().map(|name| batch.column_by_name(name).cloned().expect("the schema was checked"));
        let fields: Vec<_> = names
            .iter()
            .map(|name| batch.schema().field_with_name(name).cloned().expect("it has the column"))
            .collect();
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns.collect()).map_err(|e| fault(&e))?;
        if let Some(sink) = sink.take() {
            let opened = ArrowWriter::try_new(sink, batch.schema(), Some(writer_properties()));
            writer = Some(opened.map_err(|e| fault(&e))?);
        }
        let writer = writer.as_mut().expect("opened with the first batch");
        for row in 0..batch.num_rows() {
            let bytes = text(&batch, "prompt", row).len();
            if held > 0 && held + bytes > GROUP_BYTES {
                writer.flush().map_err(|e| fault(&e))?;
                held = 0;
            }
            held += bytes;
            writer.write(&batch.slice(row, 1)).map_err(|e| fault(&e))?;
        }
    }
    writer.expect("a config that is left has rows").close().map_err(|e| fault(&e))?;
    finish(out, path)
}

/// Writes a config's rows as JSON Lines, in the shape that an evaluator reads.
pub(super) fn json_lines(
    release: &Release,
    picked: &Picked,
    to: &str,
    folder: &Folder,
    shape: &dyn Fn(Row) -> serde_json::Value,
) -> Result<()> {
    let path = folder.make(to)?;
    let fault = |e: &dyn std::fmt::Display| Error::io("cannot write", &path, e);
    let mut out = HashingWriter::new(BufWriter::new(File::create(&path).map_err(|e| fault(&e))?));
    let held = release.schema();
    let columns: Vec<&str> = columns().into_iter().filter(|name| held.index_of(name).is_ok()).collect();
    for batch in release.batches(picked.file, &columns, picked.rows.as_deref())? {
        let batch = batch?;
        for row in 0..batch.num_rows() {
            serde_json::to_writer(&mut out, &shape(Row::read(&batch, row))).map_err(|e| fault(&e))?;
            out.write_all(b"\n").map_err(|e| fault(&e))?;
        }
    }
    let (digest, bytes) = finish(out, &path)?;
    folder.enter(to, digest, bytes);
    Ok(())
}

fn finish(mut out: HashingWriter<BufWriter<File>>, path: &Path) -> Result<(Digest, u64)> {
    let fault = |e: std::io::Error| Error::io("cannot write", path, e);
    out.flush().map_err(fault)?;
    let (file, digest, bytes) = out.finish();
    file.into_inner().map_err(|e| fault(e.into_error()))?.sync_all().map_err(fault)?;
    Ok((digest, bytes))
}
