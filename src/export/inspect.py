"""One task a config of the release; see README.md. The folder may be moved.

Parameters of every task (`-T name=true`): `judge`, a model rates each answer by judge.json (the in-context recall test;
`--model-role grader=MODEL` says which); `json_schema`, the model is held to the JSON that the prompt asks for.
"""
import importlib.util
import json
import re
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import Sample, json_dataset
from inspect_ai.model import (
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    ResponseSchema,
    get_model,
)
from inspect_ai.scorer import Score, accuracy, mean, scorer, stderr
from inspect_ai.solver import generate
from inspect_ai.util import JSONSchema

HERE = Path(__file__).resolve().parent
EXPORT = json.loads((HERE / "export.json").read_text(encoding="utf-8"))
CONFIGS = {config["config"]: config for config in EXPORT["configs"]}
ROLES = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}


# scorer.py stands here in an export.


SCORER = _scorer()


def _sample(record):
    return Sample(
        id=record["id"],
        input=[ROLES[message["role"]](content=message["content"]) for message in record["input"]],
        target=record["target"],
        metadata=record["metadata"],
    )


def reference_scorer(metrics):
    """The rule of the release, see nihbuild_score.py."""

    @scorer(metrics={name: [accuracy(), stderr()] for name in metrics}, name="reference")
    def reference():
        async def score(state, target):
            found = SCORER.score(state.output.completion, state.metadata)
            return Score(value={name: int(found[name]) for name in metrics}, answer=state.output.completion)

        return score

    return reference()


@scorer(metrics=[mean(), stderr()], name="judge")
def judged():
    """Recall as the paper has it: a model's rating from 1 to 5, over 5."""
    rubric = json.loads((HERE / "judge.json").read_text(encoding="utf-8"))
    rating = re.compile(rubric["rating"])

    async def score(state, target):
        values = {
            "{reference}": state.metadata["reference"],
            "{question}": state.metadata["question"],
            "{answer}": state.output.completion,
        }
        messages = [
            ROLES[message["role"]](
                content=re.sub(r"\{(reference|question|answer)\}", lambda found: values[found[0]], message["content"])
            )
            for message in rubric["messages"]
        ]
        said = (await get_model(role="grader").generate(messages)).completion
        found = rating.findall(said)
        if not found:
            raise ValueError(f"the judge gave no rating: {said[-200:]!r}")
        return Score(value=int(found[-1]) / 5, answer=state.output.completion, explanation=said)

    return score


def _schema(answer_format):
    fields = {"json": ["answer"], "json_reasoning": ["reasoning", "answer"]}.get(answer_format)
    if fields is None:
        raise ValueError("json_schema: this config's prompts do not ask for JSON")
    return ResponseSchema(
        name="answer",
        json_schema=JSONSchema(
            type="object",
            properties={field: JSONSchema(type="string") for field in fields},
            required=fields,
            additionalProperties=False,
        ),
    )


def make(name, judge=False, json_schema=False):
    """The task of a config."""
    config, decoding = CONFIGS[name], EXPORT["decoding"]
    if judge and not (HERE / "judge.json").exists():
        raise ValueError("judge: only the in-context recall test has a judge's rubric")
    settings = GenerateConfig(
        max_tokens=config["max_tokens"],
        temperature=decoding["temperature"],
        top_k=decoding["top_k"],
        stop_seqs=config["stop"] or None,
        response_schema=_schema(config["answer_format"]) if json_schema else None,
    )
    scorers = [reference_scorer(config["metrics"])]
    return Task(
        name=config["task"],
        version=EXPORT["release"]["version"],
        dataset=json_dataset(str(HERE / config["data"]), sample_fields=_sample, name=config["task"]),
        solver=generate(),
        scorer=scorers + [judged()] if judge else scorers,
        config=settings,
    )
