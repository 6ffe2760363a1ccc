def _scorer():
    spec = importlib.util.spec_from_file_location("nihbuild_score", HERE / "nihbuild_score.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Scorer(json.loads((HERE / "words.json").read_text(encoding="utf-8")))
