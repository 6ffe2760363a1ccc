"""Runs the Python port over cases given on standard input: {"words", "rule", "rows", "cases": [[row, output, output_en]]}."""

import json
import sys

sys.path.insert(0, sys.argv[1])
import nihbuild_score

given = json.load(sys.stdin)
scorer = nihbuild_score.Scorer(given["words"], given["rule"])
results = [scorer.score(output, given["rows"][row], english) for row, output, english in given["cases"]]
json.dump({"results": results, "normal": [nihbuild_score.normalize(text) for text in given.get("texts", [])]}, sys.stdout)
