"""Loads every config of releases with the packages that people use: python3 load.py FOLDER...

datasets, pyarrow, polars and DuckDB must give the same rows, in the types that the card's front matter names; mlcroissant must
find no error and give the same records; CITATION.cff must be valid; an RO-Crate must name every file.
"""
import os
import sys
import tempfile

cache = tempfile.TemporaryDirectory()
os.environ.update(HF_HOME=cache.name, HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1", HF_DATASETS_DISABLE_PROGRESS_BARS="1")

import json
from pathlib import Path
import datasets
import duckdb
import mlcroissant
import polars
import pyarrow.parquet as pq
import yaml
from cffconvert import Citation
from rocrate.rocrate import ROCrate


def front_matter(release):
    text = (release / "README.md").read_text(encoding="utf-8")
    assert text.startswith("---\n")
    return yaml.safe_load(text[4 : text.index("\n---\n", 4)])


def plain(value):
    """A value of mlcroissant's as others give it."""
    return value.decode("utf-8") if isinstance(value, bytes) else value


def check_config(release, config, info, metadata):
    path = release / config["data_files"][0]["path"]
    table = pq.read_table(path)
    rows = table.to_pylist()
    ids, prompts = table["id"].to_pylist(), table["prompt"].to_pylist()
    name = config["config_name"]

    loaded = datasets.load_dataset(str(release), name, split="test")
    said = datasets.load_dataset_builder(str(release), name).info.features
    assert said == datasets.Features.from_arrow_schema(table.schema), (name, said)
    assert loaded.features == said, name
    assert list(loaded) == rows, name

    assert polars.read_parquet(path).to_dicts() == rows, name
    query = duckdb.sql(f"select id, prompt, n_tokens from read_parquet('{path}')").fetchall()
    assert query == list(zip(ids, prompts, table["n_tokens"].to_pylist())), name

    split = info["splits"][0]
    assert info["config_name"] == name and split["num_examples"] == len(rows), name
    assert info["download_size"] == path.stat().st_size and info["dataset_size"] == split["num_bytes"], name
    groups = pq.ParquetFile(path).metadata
    assert split["num_bytes"] == sum(groups.row_group(n).total_byte_size for n in range(groups.num_row_groups)), name

    if not rows:
        return 0
    records = [{key.split("/")[-1]: value for key, value in record.items()} for record in metadata.records(name)]
    assert [plain(record["id"]) for record in records] == ids, name
    assert [plain(record["prompt"]) for record in records] == prompts, name
    assert [[plain(a) for a in record["answers"]] for record in records] == table["answers"].to_pylist(), name
    for record, row in zip(records, rows):
        starts = [int(span[f"{name}/needle_spans/start"]) for span in record["needle_spans"]]
        assert starts == [span["start"] for span in row["needle_spans"]], row["id"]
    return len(rows)


def check(release):
    front = front_matter(release)
    manifest = json.loads((release / "manifest.json").read_text())
    assert all(isinstance(code, str) for code in front["language"]), front["language"]
    assert front["language"] == list(json.loads((release / "croissant.json").read_text())["inLanguage"])
    metadata = mlcroissant.Dataset(str(release / "croissant.json"))
    issues = metadata.metadata.ctx.issues
    assert not issues.errors, issues.report()
    hashes = {file.id: file.sha256 for file in metadata.metadata.distribution}
    assert hashes == {file["path"]: file["sha256"] for file in manifest["files"]}
    assert len(front["configs"]) == len(front["dataset_info"]) == len(manifest["files"])
    rows = sum(check_config(release, *pair, metadata) for pair in zip(front["configs"], front["dataset_info"]))
    assert rows == manifest["rows"]
    default = datasets.load_dataset(str(release), split="test")
    assert default["id"][:] == datasets.load_dataset(str(release), front["configs"][0]["config_name"], split="test")["id"][:]
    citation = Citation((release / "CITATION.cff").read_text(encoding="utf-8"), src="CITATION.cff")
    citation.validate()
    if (release / "ro-crate-metadata.json").exists():
        crate = ROCrate(str(release))
        parts = {part.id for part in crate.root_dataset["hasPart"]}
        assert {file["path"] for file in manifest["files"]} <= parts
        assert all((release / part).is_file() for part in parts)
        assert crate.root_dataset["datePublished"] and crate.root_dataset["license"]
    print(f"{release.name}: {len(front['configs'])} configs, {rows} rows in five readers")


for folder in sys.argv[1:]:
    check(Path(folder).resolve())
