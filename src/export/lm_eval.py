"""What the tasks of this folder call; see ../README.md."""
import importlib.util
import json
from pathlib import Path

import datasets

HERE = Path(__file__).resolve().parent.parent
EXPORT = json.loads((HERE / "export.json").read_text(encoding="utf-8"))


# scorer.py stands here in an export.


SCORER = _scorer()


def load(data_files, **_):
    """The config's rows, wherever this folder lies."""
    files = {split: str(HERE / name) for split, name in data_files.items()}
    return datasets.load_dataset("parquet", data_files=files, columns=EXPORT["columns"])


def doc_to_text(doc):
    return doc["prompt"]


def doc_to_target(doc):
    return doc["expected"] or doc["answers"][0]


def process_results(doc, results):
    scores = SCORER.score(results[0], doc)
    names = {"existence"} if doc["prompt_kind"] == "existence" else set(EXPORT["metrics"]) - {"existence"}
    return {name: scores[name] for name in names}
