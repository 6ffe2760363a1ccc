"""Recomputes the digests of a release from its files, with pyarrow alone: python3 check_release.py FOLDER"""
import hashlib
import json
import struct
import sys
from pathlib import Path
import pyarrow.parquet as pq
import pyarrow.types as is_type

def sha(data):
    return hashlib.sha256(data).digest()


def encode(value, kind):
    if value is None:
        return b"\x00"
    if is_type.is_string(kind):
        text = value.encode()
        return b"\x01" + struct.pack("<Q", len(text)) + text
    if is_type.is_boolean(kind):
        return b"\x01" + bytes([value])
    if is_type.is_integer(kind):
        return b"\x01" + struct.pack("<q", value)
    if is_type.is_struct(kind):
        return b"".join(encode(value[field.name], field.type) for field in kind)
    head = b"\x01" + struct.pack("<Q", len(value))
    return head + b"".join(encode(item, kind.value_type) for item in value)


def file_digests(path):
    ids, rows, columns = [], [], {}
    for batch in pq.ParquetFile(path).iter_batches(batch_size=16):
        for row in batch.to_pylist():
            assert sha(row["prompt"].encode()).hex() == row["prompt_sha256"], (path, row["id"])
            cells = {field.name: encode(row[field.name], field.type) for field in batch.schema}
            cells["prompt"] = b"\x01" + bytes.fromhex(row["prompt_sha256"])
            for name, cell in cells.items():
                columns.setdefault(name, []).append(sha(cell))
            ids.append(row["id"])
            rows.append(sha(b"".join(cells.values())))
    return ids, rows, {name: sha(b"".join(cells)) for name, cells in columns.items()}


folder = Path(sys.argv[1])
manifest = json.loads((folder / "manifest.json").read_text())
said_rows = pq.read_table(folder / "digests/rows.parquet").to_pylist()
said_columns = pq.read_table(folder / "digests/columns.parquet").to_pylist()
lines, found_rows, found_columns = [], [], []
for path in sorted(file["path"] for file in manifest["files"]):
    ids, rows, columns = file_digests(folder / path)
    lines.append(f"{sha(b''.join(rows)).hex()}  {path}\n")
    found_rows += [{"file": path, "id": i, "digest": d} for i, d in zip(ids, rows)]
    found_columns += [{"file": path, "column": n, "digest": d} for n, d in columns.items()]
root = sha("".join(sorted(lines)).encode()).hex()
said = {file["path"]: file["rows_digest"] for file in manifest["files"]}
assert all(said[line[66:-1]] == line[:64] for line in lines), "rows digest of a file"
assert root == manifest["rows_digest"], "the release's rows digest"
assert found_rows == said_rows, "digests/rows.parquet"
assert found_columns == said_columns, "digests/columns.parquet"
print(f"{root}  {len(found_rows)} rows")
