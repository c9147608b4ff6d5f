"""A language model of sentences whose exact probability is known.

    python -m benchmarks.grammar [--seeds 1] [--out FILE]

The sentences are those of `data.english_grammar`. No model can be better than the grammar
itself on average; how many nats per word the language model says more on held-out sentences is
what it has not learned. The best model that sees one word only is given for comparison.

The second part asks a model of the template corpus for facts: zero-shot, by the likelihood of
the answers, in phrasings that these facts have in the texts and in others.
"""

import argparse
import json
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np

SENTENCES, HELD_OUT = 60_000, 3000
SETTINGS = {
    "n_layers": 2,
    "n_heads": 4,
    "size": 64,
    "context": 24,
    "batch_size": 64,
    "max_iter": 2000,
    "learning_rate_init": 4e-3,
    "weight_decay": 0.01,
    "early_stopping": False,
}
NATS, SECONDS = 0.02, 300
FACTS = {
    "n_layers": 2,
    "n_heads": 4,
    "size": 64,
    "max_iter": 1500,
    "learning_rate_init": 3e-3,
}
SIGMAS = 5


def say(*words) -> None:
    print(*words, flush=True)


def bigram_nats(learn: list[str], judge: list[str]) -> float:
    """Nats per word of the best model of one word before, with a little smoothing."""
    pairs = Counter(p for text in learn for p in pairwise(["^", *text.split(), "$"]))
    firsts: Counter[str] = Counter()
    for (first, _), count in pairs.items():
        firsts[first] += count
    found = [
        -np.log((pairs[pair] + 0.01) / (firsts[pair[0]] + 0.01 * len(firsts)))
        for text in judge
        for pair in pairwise(["^", *text.split(), "$"])
    ]
    return sum(found) / sum(len(text.split()) for text in judge)


def sentences(seeds: int) -> dict:
    from likely import tune_host
    from likely.data import english_grammar
    from likely.text import LanguageModel

    tune_host()
    grammar = english_grammar()
    texts = grammar.sample(SENTENCES + HELD_OUT, random_state=0)
    learn, judge = texts[:SENTENCES], texts[SENTENCES:]
    words = sum(len(text.split()) for text in judge)
    own = grammar.log_prob(judge)
    runs = []
    for seed in range(seeds):
        start, used = time.perf_counter(), time.process_time()
        model = LanguageModel(**SETTINGS, tokenizer="words", random_state=seed)
        model.fit(learn)
        more = own - model.log_prob(judge)
        run = {
            "seed": seed,
            "seconds": time.perf_counter() - start,
            "processor_seconds": time.process_time() - used,
            "nats_above": float(more.sum() / words),
            "error": float(more.std() * np.sqrt(len(more)) / words),
        }
        say(json.dumps(run))
        runs.append(run)
    mean = float(np.mean([run["nats_above"] for run in runs]))
    return {
        "name": "English sentences of a grammar",
        "parameters": model.n_parameters_,
        "grammar_nats": float(-own.sum() / words),
        "bigram_nats": bigram_nats(learn, judge),
        "runs": runs,
        "nats_above": mean,
        "asked": NATS,
        "asked_seconds": SECONDS,
        "reached": mean <= NATS,
    }


def facts(seed: int = 0) -> dict:
    from likely.data import templates
    from likely.text import LanguageModel

    corpus = templates(3000, n_people=60, random_state=seed)
    used = time.process_time()
    model = LanguageModel(**FACTS, tokenizer="words").fit(corpus.texts)
    rows = []
    for relation in ("sport", "home", "employer"):
        options = corpus.answers(relation)
        for seen in (True, False):
            asked = [
                f for f in corpus.facts if (f.relation, f.seen) == (relation, seen)
            ]
            found = model.classify([fact.prompt for fact in asked], options).mode
            chance = 1 / len(options)
            rows.append({
                "relation": relation,
                "phrasing_in_texts": seen,
                "facts": len(asked),
                "right": float(np.mean(found == [fact.answer for fact in asked])),
                "chance": chance,
                "error": float(np.sqrt(chance * (1 - chance) / len(asked))),
            })  # fmt: skip
            say(json.dumps(rows[-1]))
    return {
        "name": "zero-shot facts of the template corpus",
        "processor_seconds": time.process_time() - used,
        "rows": rows,
        "reached": all(
            row["right"] > row["chance"] + SIGMAS * row["error"] for row in rows
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    found = [sentences(options.seeds), facts()]
    say(json.dumps(found, indent=2))
    if options.out is not None:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
