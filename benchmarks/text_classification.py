"""Does a network tell Shakespeare's speakers apart better than words and a linear model do?

    python -m benchmarks.text_classification [MODEL ...] [--speakers 10] [--skip 0] [--seeds 1]

learns from the first four fifths of the speeches of the ten most frequent speakers and judges on
the last fifth of each (the ten after these with `--skip 10`, whose speeches nothing was chosen
by): accuracy, nats per speech, processor time, and the difference in nats to
scikit-learn's TF-IDF and logistic regression, whose C is chosen by five folds, with its standard
error. The same for made-up reviews, in which words turn the meaning of later ones around. Models:
"scikit-learn", "linear" (our baseline), "auto", and the architectures of `TextClassifier`;
"pretrained" begins from a masked language model of all speeches to learn from.
"""

import argparse
import json
import time
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np

import likely as lk
from likely.data import reviews, speakers
from likely.evaluate import mean_score, paired_difference

HERE = Path(__file__).resolve().parents[2] / "shared" / "data" / "tinyshakespeare.txt"
MODELS = ("scikit-learn", "linear", "auto", "lstm", "transformer")
CS = 10.0 ** np.arange(-1, 2.5, 0.5)


def peer(X, y):
    """scikit-learn's pipeline with a chosen C."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline

    model = make_pipeline(
        TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2)),
        LogisticRegression(max_iter=1000),
    )
    grid = {"logisticregression__C": CS}
    return GridSearchCV(model, grid, scoring="neg_log_loss", cv=5).fit(X, y)


def ours(name, X, y, seed):
    """A `TextClassifier` by its default settings."""
    if name != "pretrained":
        return lk.TextClassifier(name, random_state=seed).fit(X, y)
    body = lk.MaskedLanguageModel(random_state=seed).fit(list(X))
    model = lk.TextClassifier("transformer", pretrained=body, random_state=seed)
    return model.fit(X, y)


def judged(name, train, test, seed, reference) -> tuple[dict, np.ndarray]:
    """Fit and judge one model on the held-out texts."""
    wall, cpu = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = (
            peer(train.X, train.y)
            if name == "scikit-learn"
            else ours(name, train.X, train.y, seed)
        )
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    probs = model.predict_proba(test.X)
    nats = -np.log(probs[np.arange(len(test.y)), test.y])
    found = {
        "model": name,
        "is": getattr(model, "architecture_", ""),
        "seed": seed,
        "accuracy": str(mean_score(probs.argmax(1) == test.y)),
        "nats": str(mean_score(nats)),
        "core_seconds": round(cpu, 1),
        "seconds": round(wall, 1),
    }
    if reference is not None:
        found["nats_less_scikit_learn"] = str(paired_difference(nats, reference))
    if getattr(model, "comparison_", None) is not None:
        found["said"] = model.comparison_.sentence
    return found, nats


def of_speakers(part, count, skip, path):
    """Speeches of the most frequent speakers but for the first ones."""
    every = speakers(part, skip + count, path=path)
    known = set(speakers(part, skip, path=path).target_names) if skip else set()
    names = [name for name in every.target_names if name not in known]
    code = {every.target_names.index(name): i for i, name in enumerate(names)}
    kept = [i for i, y in enumerate(every.y) if y in code]
    y = np.array([code[each] for each in every.y[kept]])
    return replace(every, X=every.X[kept], y=y, target_names=tuple(names))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=MODELS)
    parser.add_argument("--data", type=Path, default=HERE)
    parser.add_argument("--speakers", type=int, default=10)
    parser.add_argument("--skip", type=int, default=0)
    parser.add_argument("--reviews", type=int, default=2000)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--task", choices=("speakers", "reviews"))
    options = parser.parse_args()
    tasks = {
        "speakers": lambda: [
            of_speakers(part, options.speakers, options.skip, options.data)
            for part in ("train", "test")
        ],
        "reviews": lambda: [
            reviews(options.reviews, random_state=0),
            reviews(2000, random_state=1),
        ],
    }
    for task, load in tasks.items():
        if options.task not in (None, task):
            continue
        train, test = load()
        reference = None
        for name in options.models:
            alone = name in ("scikit-learn", "linear")
            for seed in range(1 if alone else options.seeds):
                found, nats = judged(name, train, test, seed, reference)
                if name == "scikit-learn":
                    reference = nats
                print(json.dumps({"task": task, **found}), flush=True)


if __name__ == "__main__":
    main()
