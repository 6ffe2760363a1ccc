"""Custom tasks, one a config of the release; see README.md. The folder may be moved."""
import importlib.util
import json
from pathlib import Path

import numpy as np
from lighteval.metrics.metrics_sample import SampleLevelComputation
from lighteval.metrics.utils.metric_utils import SampleLevelMetricGrouping
from lighteval.tasks.lighteval_task import LightevalTaskConfig
from lighteval.tasks.requests import Doc, SamplingMethod

HERE = Path(__file__).resolve().parent
EXPORT = json.loads((HERE / "export.json").read_text(encoding="utf-8"))
PROMPT = ("system", "prompt")


# scorer.py stands here in an export.


SCORER = _scorer()


def prompt(row, task_name=None):
    # lighteval has one system message for all tasks, not one a row: it stands before the text.
    text = f"{row['system']}\n\n{row['prompt']}" if row["system"] else row["prompt"]
    choices = [row["expected"]] if row["expected"] else row["answers"]
    kept = {name: row[name] for name in EXPORT["columns"] if name not in PROMPT}
    return Doc(query=text, choices=choices, gold_index=list(range(len(choices))), specific=kept)


class Reference(SampleLevelComputation):
    """The rule of the release, see nihbuild_score.py."""

    def __init__(self, metrics):
        self.metrics = metrics

    def compute(self, doc, model_response, **kwargs):
        scores = SCORER.score(model_response.final_text[0], doc.specific)
        return {name: int(scores[name]) for name in self.metrics}


def _metric(names):
    return SampleLevelMetricGrouping(
        metric_name=list(names),
        higher_is_better={name: True for name in names},
        category=SamplingMethod.GENERATIVE,
        sample_level_fn=Reference(names),
        corpus_level_fn={name: np.mean for name in names},
    )


TASKS_TABLE = [
    LightevalTaskConfig(
        name=config["task"],
        prompt_function=prompt,
        hf_repo=str(HERE),
        hf_subset=config["config"],
        hf_avail_splits=["test"],
        evaluation_splits=["test"],
        metrics=[_metric(config["metrics"])],
        generation_size=config["max_tokens"],
        stop_sequence=config["stop"],
        version=0,
    )
    for config in EXPORT["configs"]
]
