"""Stub."""
import json
import unicodedata


class Scorer:
    def __init__(self, words):
        self.words = words

    def score(self, output, row, output_en=None):
        fold = lambda text: unicodedata.normalize("NFKC", str(text)).casefold().strip().rstrip(".")
        if row["prompt_kind"] == "existence":
            return {"existence": int(fold(output) == fold(row["expected"]))}
        if row["family"] == "reasoning":
            try:
                said = json.loads(output)["answer"]
            except Exception:
                said = output
            right = int(fold(said) in map(fold, list(row["answers"]) + list(row["answer_variants"] or [])))
            return {"exact": right, "any": right}
        right = int(any(fold(a) in fold(output) for a in row["answers"]))
        if row["family"] == "factoid":
            return {"exact": right, "any": right}
        by = [a for entry in row["answers_by_language"] or [] for a in entry["answers"]]
        return {"exact": right, "any": int(any(fold(a) in fold(output) for a in by + list(row["answers"])))}
