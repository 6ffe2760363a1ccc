"""Runs every config of an export in the real inspect_ai with its mock model: one that knows every answer, one that
misses all, and a judge.

Usage: inspect_runs.py EXPORT JSONL-EXPORT
"""
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from inspect_ai import eval as run
from inspect_ai.model import ModelOutput, ModelUsage, get_model

from common import gold, reference, same, wrong

folder, (export, configs) = Path(sys.argv[1]), reference(sys.argv[2])
decoding = json.loads((folder / "export.json").read_text(encoding="utf-8"))["decoding"]
logs = tempfile.mkdtemp()


def output(text):
    """An answer that says what it cost: the mock model would count tokens with a tokenizer from a network."""
    made = ModelOutput.from_content("mockllm/model", text)
    made.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return made


def plain(messages):
    return [{"role": message.role, "content": message.text} for message in messages]


def model(say):
    """Answers by the prompt; rows of equal prompts have equal answers."""
    by_prompt = {}
    for config, rows in configs.values():
        for row in rows.values():
            key = json.dumps(row["messages"], sort_keys=True)
            by_prompt[key] = (say(row, config["answer_format"]), config)

    def outputs(messages, tools, tool_choice, settings):
        said, config = by_prompt[json.dumps(plain(messages), sort_keys=True)]
        found = (settings.max_tokens, settings.temperature, settings.top_k, settings.stop_seqs or [])
        same(found, (config["max_tokens"], decoding["temperature"], decoding["top_k"], config["stop"]), "settings")
        return output(said)

    return get_model("mockllm/model", custom_outputs=outputs)


def value(log, scorer, metric, of):
    (score,) = [score for score in log.results.scores if score.scorer == scorer and score.name == metric]
    return score.metrics[of].value


def evaluate(tasks, say, **options):
    made = run(
        [f"{folder}/tasks.py@{task}" for task in tasks], model=model(say), log_dir=logs, display="none", log_samples=True,
        max_tasks=8, **options,
    )
    same([log.status for log in made], ["success"] * len(tasks), f"status ({[log.error.message for log in made if log.error][:1]})")
    return dict(zip(tasks, made))


names = {config: re.sub(r"[^A-Za-z0-9]", "_", config) for config in configs}
for say, score in ((gold, 1.0), (wrong, 0.0)):
    made = evaluate(list(names.values()), say)
    for name, (config, rows) in configs.items():
        log = made[names[name]]
        same(log.eval.task, config["task"], "the task's name")
        same(sorted(sample.id for sample in log.samples), sorted(rows), f"rows of {name}")
        for metric in config["metrics"]:
            same(value(log, "reference", metric, "accuracy"), score, f"{metric} of {name}")
        sample = log.samples[0]
        row = rows[sample.id]
        same(sample.target, [row["expected"]] if row["expected"] else row["answers"], f"target of {sample.id}")
        same(plain(sample.input), row["messages"], f"input of {sample.id}")

n_judged = 0
if (folder / "judge.json").exists():
    asked = []

    def judge(messages, tools, tool_choice, settings):
        asked.append(plain(messages))
        return output("It is nearly so. Rating: [[4]]")

    first = next(iter(configs))
    grader = get_model("mockllm/model", custom_outputs=judge)
    log = evaluate([names[first]], gold, task_args={"judge": True}, model_roles={"grader": grader})[names[first]]
    (score,) = [score for score in log.results.scores if score.scorer == "judge"]
    same(round(score.metrics["mean"].value, 9), 0.8, "the judge's mean")
    rows = configs[first][1]
    n_judged = len(asked)
    same(n_judged, len(rows), "answers that were judged")
    rubric = json.loads((folder / "judge.json").read_text(encoding="utf-8"))
    row = rows[log.samples[0].id]
    filled = [
        {**message, "content": message["content"].replace("{reference}", row["reference"])
         .replace("{question}", row["question"]).replace("{answer}", gold(row, "text"))}
        for message in rubric["messages"]
    ]
    same(filled in asked, True, "the judge's prompt")

jsons = [config for config, _ in configs.values() if config["answer_format"].startswith("json")]
if jsons:
    log = evaluate([names[jsons[0]["config"]]], gold, task_args={"json_schema": True})[names[jsons[0]["config"]]]
    schema = log.plan.config.response_schema or log.eval.model_generate_config.response_schema
    same("answer" in schema.json_schema.properties, True, "the schema of answers")

# The program finds every task.
command = [str(Path(sys.executable).with_name("inspect")), "list", "tasks", "--json", "tasks.py"]
ran = subprocess.run(command, capture_output=True, text=True, cwd=folder)
same(ran.returncode, 0, f"inspect: {ran.stdout[-2000:]}{ran.stderr[-2000:]}")
same(sorted(found["name"] for found in json.loads(ran.stdout)), sorted(names.values()), "tasks that inspect lists")
rows = sum(config["rows"] for config, _ in configs.values())
print(json.dumps({"configs": len(configs), "rows": rows, "judged": n_judged}))
