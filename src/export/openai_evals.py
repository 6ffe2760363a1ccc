"""The eval of this folder's registry: answers are held against the rule of the release; see README.md."""
import importlib.util
import json
from pathlib import Path

import evals
import evals.metrics

HERE = Path(__file__).resolve().parent
EXPORT = json.loads((HERE / "export.json").read_text(encoding="utf-8"))
CONFIGS = {config["config"]: config for config in EXPORT["configs"]}


# scorer.py stands here in an export.


SCORER = _scorer()


class Reference(evals.Eval):
    """`accuracy` is that of the first of the config's metrics."""

    def __init__(self, completion_fns, samples_jsonl, config, *args, **kwargs):
        super().__init__(completion_fns, *args, samples_jsonl=samples_jsonl, **kwargs)
        self.config = CONFIGS[config]
        decoding = EXPORT["decoding"]
        self.settings = {"temperature": decoding["temperature"], "max_tokens": self.config["max_tokens"]}
        if self.config["stop"]:
            self.settings["stop"] = self.config["stop"]
        if decoding["top_k"]:
            # The service of OpenAI has no such setting; servers with its protocol take it here.
            self.settings["extra_body"] = {"top_k": decoding["top_k"]}

    def eval_sample(self, sample, *_):
        said = self.completion_fn(prompt=sample["input"], **self.settings).get_completions()
        said = said[0] if said else ""
        scores = SCORER.score(said, sample["row"])
        first, *others = self.config["metrics"]
        evals.record.record_match(
            bool(scores[first]), expected=sample["ideal"], picked=said, sampled=said, id=sample["id"]
        )
        evals.record.record_metrics(**{name: int(scores[name]) for name in [first, *others]})

    def run(self, recorder):
        self.eval_all_samples(recorder, self.get_samples())
        events = recorder.get_metrics()
        result = {"accuracy": evals.metrics.get_accuracy(recorder.get_events("match"))}
        for name in self.config["metrics"]:
            result[name] = sum(event[name] for event in events) / len(events)
        return result
