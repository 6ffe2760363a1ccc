"""Runs every config of an export in the real lm_eval: its dummy model, and models that know or miss every answer.

Usage: lm_eval_runs.py EXPORT JSONL-EXPORT
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import lm_eval
from lm_eval.api.model import LM
from lm_eval.tasks import TaskManager

from common import gold, reference, same, wrong

folder, (export, configs) = Path(sys.argv[1]), reference(sys.argv[2])
name = export["release"]["name"]
decoding = json.loads((folder / "export.json").read_text(encoding="utf-8"))["decoding"]
by_task = {config["task"]: (config, rows) for config, rows in configs.values()}


class Answering(LM):
    tokenizer_name = "none"

    def __init__(self, say, chat):
        super().__init__()
        self.say, self.chat, self.seen = say, chat, 0

    def generate_until(self, requests, disable_tqdm=False):
        said = []
        for request in requests:
            context, settings = request.args
            config, rows = by_task[request.task_name]
            row = rows[request.doc["id"]]
            found = json.loads(context) if self.chat else context
            expected = row["messages"] if self.chat else "".join(message["content"] for message in row["messages"])
            same(found, expected, f"the prompt of {row['id']}")
            expected = {"until": config["stop"], "max_gen_toks": config["max_tokens"], **decoding}
            expected = {key: value for key, value in expected.items() if value is not None}
            same(dict(settings), expected, f"settings of {row['id']}")
            said.append(self.say(row, config["answer_format"]))
            self.seen += 1
        return said

    def apply_chat_template(self, history, add_generation_prompt=True):
        return json.dumps(history)

    def loglikelihood(self, requests, disable_tqdm=False):
        raise NotImplementedError

    loglikelihood_rolling = loglikelihood


manager = TaskManager(include_path=str(folder))
n_rows = sum(config["rows"] for config, _ in configs.values())
for say, score in ((gold, 1.0), (wrong, 0.0)):
    model = Answering(say, chat=say is gold)
    results = lm_eval.simple_evaluate(
        model=model, tasks=sorted(by_task), task_manager=manager, apply_chat_template=model.chat, log_samples=False,
        bootstrap_iters=0,
    )
    same(model.seen, n_rows, "rows that the model was asked")
    for task, (config, rows) in by_task.items():
        found = results["results"][task]
        same(results["n-samples"][task]["effective"], len(rows), f"rows of {task}")
        same({m: found[f"{m},none"] for m in config["metrics"]}, dict.fromkeys(config["metrics"], score), task)
        same(results["versions"][task], export["release"]["version"], f"version of {task}")

# The groups load, and cover what they say.
groups = sorted(path.stem for path in (folder / "groups").glob("*.yaml"))
for group in groups:
    results = lm_eval.simple_evaluate(
        model=Answering(gold, chat=False), tasks=[group], task_manager=manager, log_samples=False, limit=1, bootstrap_iters=0
    )
    members = results["group_subtasks"][group]
    metrics = by_task[members[0]][0]["metrics"]
    same({m: results["groups"][group][f"{m},none"] for m in metrics}, dict.fromkeys(metrics, 1.0), group)
covered = {task for group in groups for task in manager.load([group])["tasks"]} if hasattr(manager, "load") else None
if covered is not None:
    same(covered, set(by_task), "tasks of all groups")

# The program itself, with its own dummy model.
with tempfile.TemporaryDirectory() as out:
    command = [Path(sys.executable).with_name("lm_eval"), "--model", "dummy", "--include_path", folder, "--tasks", groups[0]]
    ran = subprocess.run([*map(str, command), "--output_path", out], capture_output=True, text=True)
    same(ran.returncode, 0, f"lm_eval: {ran.stderr[-3000:]}")
    (told,) = Path(out).rglob("results*.json")
    told = json.loads(told.read_text(encoding="utf-8"))
    same(len(told["results"]) > 0, True, "results of the dummy model")
print(json.dumps({"configs": len(configs), "rows": n_rows, "groups": len(groups)}))
