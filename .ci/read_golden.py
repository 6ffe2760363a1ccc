"""Reads a release with pyarrow alone and checks what needs no knowledge of its language."""

import hashlib
import json
import pathlib
import sys

import pyarrow.parquet as pq

folder = pathlib.Path(sys.argv[1])
manifest = json.loads((folder / "manifest.json").read_text())
rows = 0
for file in manifest["files"]:
    parquet = pq.ParquetFile(folder / file["path"])
    assert parquet.metadata.created_by == "nihbuild table 1", parquet.metadata.created_by
    table = parquet.read()
    assert table.num_rows == file["rows"], file["path"]
    for row in table.to_pylist():
        prompt = row["prompt"].encode()
        assert hashlib.sha256(prompt).hexdigest() == row["prompt_sha256"], row["id"]
        for n, span in enumerate(row["needle_spans"]):
            sentence = prompt[span["start"] : span["end"]].decode()
            assert "\n" not in sentence and prompt[span["end"]] == 10, row["id"]
            assert span["supporting"] == (n in row["supporting"]), row["id"]
        assert row["n_distractors"] == len(row["distractor_ids"]), row["id"]
        assert row["answers"] and row["certificate"] in ("solved", "contained"), row["id"]
        rows += 1
assert rows == manifest["rows"]
print(f"pyarrow read {rows} rows of {len(manifest['files'])} files")
