"""Runs every config of an export in the real evals: its dummy, and completion functions that know or miss every answer.

Usage: openai_evals_runs.py EXPORT JSONL-EXPORT
"""
import json
import os
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("OPENAI_API_KEY", "none")
folder = Path(sys.argv[1])
sys.path.insert(0, str(folder))

from evals.api import CompletionFn  # noqa: E402
from evals.cli import oaieval  # noqa: E402
from evals.registry import Registry  # noqa: E402

from common import gold, reference, same, wrong  # noqa: E402

export, configs = reference(sys.argv[2])
name = export["release"]["name"]
decoding = json.loads((folder / "export.json").read_text(encoding="utf-8"))["decoding"]
out = tempfile.mkdtemp()
by_prompt = {json.dumps(row["messages"], sort_keys=True): (config, row) for config, rows in configs.values() for row in rows.values()}


asked = []


class Said:
    def __init__(self, text):
        self.text = text

    def get_completions(self):
        return [self.text]


class Answering(CompletionFn):
    def __init__(self, say):
        self.say = say

    def __call__(self, prompt, **settings):
        config, row = by_prompt[json.dumps(prompt, sort_keys=True)]
        asked.append(row["id"])
        expected = {"temperature": decoding["temperature"], "max_tokens": config["max_tokens"]}
        if config["stop"]:
            expected["stop"] = config["stop"]
        if decoding["top_k"]:
            expected["extra_body"] = {"top_k": decoding["top_k"]}
        same(settings, expected, f"settings of {row['id']}")
        return Said(self.say(row, config["answer_format"]))


class Known(Registry):
    """The registry, with the two completion functions."""

    def make_completion_fn(self, name, **more):
        say = {"gold": gold, "wrong": wrong}.get(name)
        return Answering(say) if say else super().make_completion_fn(name, **more)


known, asked_before = Known(), False
for fn, score in (("gold", 1.0), ("wrong", 0.0), ("dummy", 0.0)):
    for config, rows in configs.values():
        record = f"{out}/{fn}-{config['config']}.jsonl"
        flags = [fn, f"{name}.{config['config']}", "--record_path", record]
        if not asked_before:
            flags += ["--registry_path", str(folder / "registry")]
        asked_before = True
        args = oaieval.get_parser().parse_args(flags)
        asked.clear()
        oaieval.run(args, registry=known)
        with open(record, encoding="utf-8") as lines:
            (report,) = [told["final_report"] for told in map(json.loads, lines) if "final_report" in told]
        names = ["accuracy", *config["metrics"]]
        same({m: report[m] for m in names}, dict.fromkeys(names, score), f"{fn} on {config['task']}")
        same(len(asked), 0 if fn == "dummy" else len(rows), f"rows of {config['task']}")
same(len(known.get_eval_set(name).evals), len(configs), "evals of the set")
print(json.dumps({"configs": len(configs), "rows": sum(config["rows"] for config, _ in configs.values())}))
