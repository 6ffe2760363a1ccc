"""What the checks of exports share: the rows as `--to jsonl` has them, and models that know, or miss, every answer."""
import json
import sys
from pathlib import Path


def reference(folder):
    """Configs and rows of an export to JSON Lines: by config, the config's settings and the rows by id."""
    folder = Path(folder)
    export = json.loads((folder / "export.json").read_text(encoding="utf-8"))
    configs = {}
    for config in export["configs"]:
        with open(folder / config["data"], encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
        assert len(rows) == config["rows"] > 0, config
        configs[config["config"]] = (config, {row["id"]: row for row in rows})
    return export, configs


def gold(row, answer_format):
    if answer_format == "yes_no":
        return row["expected"]
    answer = row["answers"][0]
    if answer_format == "json":
        return json.dumps({"answer": answer}, ensure_ascii=False)
    if answer_format == "json_reasoning":
        return json.dumps({"reasoning": "Step by step.", "answer": answer}, ensure_ascii=False)
    return f"{answer}."


def wrong(row, answer_format):
    if answer_format == "yes_no":
        return {"Yes": "No", "No": "Yes"}[row["expected"]]
    if answer_format == "text":
        return "qxv"
    return json.dumps({"answer": "qxv"})


def same(found, expected, what):
    if found != expected:
        sys.exit(f"{what}: expected {str(expected)[:2000]!r}, found {str(found)[:2000]!r}")


def text_of(messages):
    """Messages as a model without roles reads them."""
    return "\n\n".join(message["content"] for message in messages)
