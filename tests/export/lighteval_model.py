"""A model of lighteval that knows, or misses, every answer."""
import os

from lighteval.models.abstract_model import LightevalModel
from lighteval.models.model_output import ModelResponse
from lighteval.utils.cache_management import SampleCache

from common import gold, reference, same, text_of, wrong


class Answering(LightevalModel):
    def __init__(self, config):
        self.config, self._cache = config, SampleCache(config)
        self.say = {"gold": gold, "wrong": wrong}[os.environ["EXPORT_ANSWERS"]]
        _, configs = reference(os.environ["EXPORT_REFERENCE"])
        self.by_task = {f"{config['task']}|0": (config, rows) for config, rows in configs.values()}

    tokenizer, add_special_tokens, max_length = None, False, 1 << 20

    def greedy_until(self, docs):
        said = []
        for doc in docs:
            config, rows = self.by_task[doc.task_name]
            row = rows[doc.specific["id"]]
            same(doc.query, text_of(row["messages"]), f"the prompt of {row['id']}")
            same((doc.generation_size, list(doc.stop_sequences)), (config["max_tokens"], config["stop"]), "settings")
            said.append(ModelResponse(text=[self.say(row, config["answer_format"])]))
        return said

    def loglikelihood(self, docs):
        raise NotImplementedError

    loglikelihood_rolling = loglikelihood
