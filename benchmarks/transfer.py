"""What does pre-training on texts without labels bring, and what do fewer parameters cost?

    python -m benchmarks.transfer [--seeds 5] [--fresh] [--speakers]

Made-up texts of four topics: a text has four words of topics, 85 % of them of its own,
and four common words. There are 1,200 words of topics: a hundred labelled texts hold a few of
them, eight thousand texts without labels hold all. A masked language model learns from the latter,
once for each seed; then transformers learn the topic from 100 labelled texts, from scratch and
beginning from it, in several regimes, and are judged on 2,000 others. No accuracy can be above
that of the rule that knows the topic of every word.

The sizes of these texts were chosen with accuracies in view. With `--fresh` it is other texts,
whose sizes and seeds were written down before anything was run on them: five topics of 260
words, five words of topics and five common ones in a text.

With `--speakers` also who of four of Shakespeare's characters speaks, from 100 speeches, after
pre-training on all 7,000 speeches of tinyshakespeare, which is little text.
"""

import argparse
import time
from typing import NamedTuple

import numpy as np

import likely as lk
from likely import data
from likely.text import MaskedLanguageModel

OWN_SHARE = 0.85
"""How many words of topics are of the text's own."""
UNLABELLED, LABELLED, TEST = 8000, 100, 2000
TRAINING = {
    "n_members": 1,
    "max_iter": 30,
    "batch_size": 20,
    "learning_rate": "cosine",
    "early_stopping": False,
    "min_count": 1,
}
REGIMES = {
    "scratch": (2e-3, None),
    "all": (2e-3, "all"),
    "last block": (2e-3, 1),
    "bias": (1e-2, "bias"),
    "adapters": (1e-2, ("adapters", 4)),
    "low rank": (1e-2, ("low_rank", 2)),
    "head": (2e-2, "head"),
}
"""The learning rate and `trainable` of each; nothing is pretrained from scratch."""


class Topics(NamedTuple):
    """How many topics, words of each, common words, and words of both kinds in a text."""

    topics: int = 4
    words: int = 300
    common: int = 40
    of_topics: int = 4
    of_common: int = 4
    first_seed: int = 0

    def texts(self, n: int, rng: np.random.Generator) -> tuple[list[str], np.ndarray]:
        """Texts and their topics."""
        texts, y = [], rng.integers(0, self.topics, n)
        for topic in y.tolist():
            other = (topic + rng.integers(1, self.topics, self.of_topics)) % self.topics
            of = np.where(rng.random(self.of_topics) < OWN_SHARE, topic, other)
            number = rng.integers(0, self.words, self.of_topics)
            words = [f"t{k}w{i}" for k, i in zip(of, number, strict=True)]
            words += [f"c{i}" for i in rng.integers(0, self.common, self.of_common)]
            rng.shuffle(words)
            texts.append(" ".join(words))
        return texts, y

    def known(self, texts: list[str]) -> np.ndarray:
        """The topic by the rule that knows that of every word; the first of equals."""
        counts = [[text.count(f"t{k}w") for k in range(self.topics)] for text in texts]
        return np.argmax(counts, 1)


FRESH = Topics(5, 260, 60, 5, 5, first_seed=100)


def tokens(model: MaskedLanguageModel, texts: list[str]) -> list[list[int]]:
    """Token lists; an empty text is one unknown token."""
    rows = model.tokenizer_.encode_batch(texts, max_length=model.context_)
    return [row.tolist() or [0] for row in rows]


def judged(model, learn, test, seed: int, regimes=REGIMES) -> dict[str, tuple]:
    """Accuracy, trained parameters and processor seconds of each regime."""
    found = {}
    for name, (rate, trainable) in regimes.items():
        begin = time.process_time()
        settings = TRAINING | {"learning_rate_init": rate, "random_state": seed}
        if trainable is not None:
            settings |= {"pretrained": model, "trainable": trainable}
        tuned = lk.SequenceClassifier(
            **model.architecture_settings() | settings  # the same network
        ).fit(tokens(model, learn[0]), learn[1])
        accuracy = tuned.score(tokens(model, test[0]), test[1])
        spent = time.process_time() - begin
        found[name] = accuracy, tuned.n_trainable_, tuned.n_parameters_, spent
    return found


def report(runs: list[dict[str, tuple]]) -> None:
    """Means over seeds, and differences with their standard errors."""
    for name in runs[0]:
        accuracy = np.array([run[name][0] for run in runs])
        of = {"scratch": "scratch", "all": "scratch"}.get(name, "all")
        gain = accuracy - np.array([run[of][0] for run in runs])
        error = gain.std(ddof=1) / np.sqrt(len(gain)) if len(gain) > 1 else np.nan
        _, trained, every, _ = runs[0][name]
        print(
            f"{name:>10}: accuracy {accuracy.mean():.4f}, against {of} {gain.mean():+.4f} "
            f"± {error:.4f}; {trained:,} of {every:,} parameters ({trained / every:.1%})",
            flush=True,
        )


def topics(seeds: int, of: Topics) -> None:
    """Pre-training and fine-tuning on the made-up texts."""
    runs, best, spent = [], [], []
    for seed in range(of.first_seed, of.first_seed + seeds):
        rng = np.random.default_rng(seed)
        unlabelled, _ = of.texts(UNLABELLED, rng)
        learn, test = of.texts(LABELLED, rng), of.texts(TEST, rng)
        begin = time.process_time()
        model = MaskedLanguageModel(
            1, 4, 32, context=16, fraction=0.25, batch_size=64, max_iter=4000,
            learning_rate_init=1e-2, n_iter_no_change=100, random_state=seed,
        ).fit(unlabelled)  # fmt: skip
        spent.append(time.process_time() - begin)
        best.append(np.mean(of.known(test[0]) == test[1]))
        runs.append(judged(model, learn, test, seed))
        print(seed, {k: round(v[0], 4) for k, v in runs[-1].items()}, flush=True)
    report(runs)
    print(
        f"known words: {np.mean(best):.4f}; {np.mean(spent):.0f} processor seconds of "
        "pre-training",
        flush=True,
    )


def speakers(seeds: int) -> None:
    """Pre-training on all speeches, fine-tuning on those of four speakers."""
    parts = [data.speakers(part, n_speakers=4) for part in ("train", "test")]
    every = [data.speakers(part, n_speakers=100) for part in ("train", "test")]
    begin = time.process_time()
    model = MaskedLanguageModel(2, 4, 64, max_iter=1500, n_iter_no_change=100).fit(
        [text for part in every for text in part.X]
    )
    print(f"{time.process_time() - begin:.0f} processor seconds of pre-training")
    test, runs = (list(parts[1].X), parts[1].y), []
    for seed in range(seeds):
        rows = np.random.default_rng(seed).permutation(len(parts[0].y))[:LABELLED]
        learn = [parts[0].X[i] for i in rows], parts[0].y[rows]
        regimes = {k: REGIMES[k] for k in ("scratch", "all", "low rank", "head")}
        runs.append(judged(model, learn, test, seed, regimes))
    report(runs)


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--speakers", action="store_true")
    given = parser.parse_args()
    topics(given.seeds, FRESH if given.fresh else Topics())
    if given.speakers:
        speakers(given.seeds)


if __name__ == "__main__":
    main()
