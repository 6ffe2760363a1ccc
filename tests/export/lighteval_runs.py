"""Runs every config of an export in the real lighteval: its dummy model, and models that know or miss every answer.

Usage: lighteval_runs.py EXPORT JSONL-EXPORT
"""
import json
import os
import sys
import tempfile
import types
from pathlib import Path

# One of lighteval's own tasks downloads its data as soon as it is imported, and all are.
sys.modules["lighteval.tasks.tasks.tiny_benchmarks"] = types.ModuleType("tiny_benchmarks")

from lighteval.logging.evaluation_tracker import EvaluationTracker  # noqa: E402
from lighteval.models.custom.custom_model import CustomModelConfig  # noqa: E402
from lighteval.models.dummy.dummy_model import DummyModelConfig  # noqa: E402
from lighteval.pipeline import ParallelismManager, Pipeline, PipelineParameters  # noqa: E402

from common import reference, same  # noqa: E402

folder, (export, configs) = Path(sys.argv[1]), reference(sys.argv[2])
tasks = ",".join(config["task"] for config, _ in configs.values())
out = tempfile.mkdtemp()


def evaluate(model):
    pipeline = Pipeline(
        tasks=tasks,
        pipeline_parameters=PipelineParameters(
            launcher_type=ParallelismManager.CUSTOM, custom_tasks_directory=str(folder / "tasks.py")
        ),
        evaluation_tracker=EvaluationTracker(output_dir=out),
        model_config=model,
    )
    pipeline.evaluate()
    return pipeline.get_results()["results"]


here = Path(__file__).resolve().parent
os.environ["EXPORT_REFERENCE"] = sys.argv[2]
for kind, score in (("gold", 1.0), ("wrong", 0.0), ("dummy", 0.0)):
    os.environ["EXPORT_ANSWERS"] = kind
    named = DummyModelConfig(model_name="dummy") if kind == "dummy" else CustomModelConfig(
        model_name=f"answering-{kind}", model_definition_file_path=str(here / "lighteval_model.py")
    )
    results = evaluate(named)
    for config, _ in configs.values():
        found = results[f"{config['task']}:0"]
        same({m: float(found[m]) for m in config["metrics"]}, dict.fromkeys(config["metrics"], score), config["task"])
rows = sum(config["rows"] for config, _ in configs.values())
print(json.dumps({"configs": len(configs), "rows": rows}))
