"""Skip-gram with negative sampling on two threads, against gensim.

Both get lists of words and make their vocabulary, then read them five times with the same
settings: 100 numbers, window 5, 5 negative words, frequent words skipped from 1e-3 on. Of the
planted corpus the truth is known: ours has to find as many analogies and to have as good a
rank correlation of similarities, up to twice the standard error of the difference of two runs. Of
Shakespeare the loss of negative sampling over the same pairs has to be as low.

    python -m benchmarks.word_vectors [--seeds 6] [--stems 300] [--corpus 0]

fits both with several seeds, and prints the means of both qualities with their standard errors, of
the vectors that each gives to its users, and of the vectors x of ours alone.
"""

import argparse
import os
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.harness import Answer, Case

EPOCHS, THREADS = 5, 2
SETTINGS = {"window": 5, "negative": 5, "sample": 1e-3, "epochs": EPOCHS}
PLANTED = {
    "n_stems": 300,
    "n_forms": 4,
    "n_fillers": 800,
    "size": 30,
    "random_state": 0,
}
PLANTED_TEXTS, SHAKESPEARES = 50_000, 2
SEED_SPREAD = {"analogies": 0.010, "similarities": 0.0015, "loss": 0.005}
"""The standard deviations of a run of the peer, over its seeds."""
PAIRS = 20_000


@cache
def planted():
    """A million words whose vectors are known."""
    from likely.data import word_families

    return word_families(PLANTED_TEXTS, **PLANTED)


def planted_rows() -> list[list[str]]:
    return [text.split() for text in planted().texts]


def shakespeare_rows() -> list[list[str]]:
    """400,000 words of Shakespeare: the same ones, twice."""
    from likely.text.vectors.corpus import WORDS

    root = Path(__file__).parents[1]
    shared = Path(os.environ.get("LIKELY_SHARED", root.parent / "shared"))
    text = (shared / "data" / "tinyshakespeare.txt").read_text("utf-8").lower()
    return SHAKESPEARES * [WORDS.findall(part) for part in text.split("\n\n")]


def ours(rows: list[list[str]], seed: int = 0) -> Answer:
    from likely import WordVectors

    made = WordVectors(
        100, min_count=1, n_jobs=THREADS, random_state=seed, **SETTINGS
    ).fit(rows)
    return {
        "words": np.array(made.words_),
        "vectors": made.vectors_,
        "X": made.input_vectors_,
        "Z": made.context_vectors_,
        "first": np.array(-np.log(SETTINGS["negative"])),
    }


def peer(rows: list[list[str]], seed: int = 0) -> Answer:
    from gensim.models import Word2Vec

    made = Word2Vec(
        rows, vector_size=100, sg=1, hs=0, min_count=1, workers=THREADS, seed=seed + 1,
        **SETTINGS,
    )  # fmt: skip
    return {
        "words": np.array(made.wv.index_to_key),
        "vectors": made.wv.vectors,
        "X": made.wv.vectors,
        "Z": made.syn1neg,
        "first": np.array(0.0),
    }


def unit(X: np.ndarray) -> np.ndarray:
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def qualities(found: Answer, of: str = "vectors") -> tuple[float, float]:
    """The share of planted analogies that are found, and the rank correlation of cosines."""
    from scipy.stats import spearmanr

    truth = planted()
    number = {word: i for i, word in enumerate(found["words"])}
    X = unit(found[of])
    asked = np.array([[number[w] for w in question] for question in truth.analogies])
    a, b, c, d = asked.T
    scores = (X[a] - X[b] + X[c]) @ X.T
    np.put_along_axis(scores, asked[:, :3], -np.inf, axis=1)
    right = np.mean(scores.argmax(1) == d)
    own = np.flatnonzero(truth.families >= 0)
    own = [i for i in own if truth.words[i] in number]
    V, W = unit(truth.vectors[own]), X[[number[truth.words[i]] for i in own]]
    above = np.triu_indices(len(own), 1)
    return float(right), float(spearmanr((V @ V.T)[above], (W @ W.T)[above]).statistic)


def margin(name: str) -> float:
    """Two standard errors of the difference of two runs."""
    return 2 * np.sqrt(2) * SEED_SPREAD[name]


def finds_as_much(mine: Answer, other: Answer) -> str | None:
    found, wanted = qualities(mine), qualities(other)
    print(f"analogies and similarities: ours {found}, peer {wanted}", flush=True)
    most = [margin("analogies"), margin("similarities")]
    worse = (np.subtract(wanted, found) > most).any()
    return f"analogies, similarities {found} against {wanted}" if worse else None


def loss(found: Answer) -> float:
    """Negative sampling over pairs of neighbours and random words, the same on both sides."""
    words = np.sort(found["words"])  # the same order on both sides
    place = {word: i for i, word in enumerate(words)}
    order = np.argsort(found["words"])
    X, Z = found["X"][order], found["Z"][order]
    rng = np.random.default_rng(0)
    rows = [row for row in shakespeare_rows() if len(row) > 1]
    counts = np.bincount([place[word] for row in rows for word in row])
    p = counts**0.75 / (counts**0.75).sum()
    pairs = [
        [place[rows[k][i]] for i in rng.choice(min(len(rows[k]), 6), 2, replace=False)]
        for k in rng.integers(len(rows), size=PAIRS)
    ]
    given, near = np.array(pairs).T
    others = rng.choice(len(p), (PAIRS, 5), p=p)
    positive = np.einsum("nd,nd->n", X[given], Z[near]) + found["first"]
    negative = np.einsum("nd,nkd->nk", X[given], Z[others]) + found["first"]
    return float(
        (np.log1p(np.exp(-positive)) + np.log1p(np.exp(negative)).sum(1)).mean()
    )


def as_low(mine: Answer, other: Answer) -> str | None:
    found, wanted = loss(mine), loss(other)
    print(f"loss: ours {found:.4f}, peer {wanted:.4f}", flush=True)
    low = found <= wanted + margin("loss")
    return None if low else f"loss {found} against {wanted}"


CASES = {
    "skip-gram, planted corpus": Case(planted_rows, ours, peer, finds_as_much, 1.0, 3),
    "skip-gram, Shakespeare": Case(shakespeare_rows, ours, peer, as_low, 1.0, 3),
}


def main() -> None:
    """Both qualities over several seeds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--stems", type=int, default=PLANTED["n_stems"])
    parser.add_argument("--corpus", type=int, default=0, help="another planted corpus")
    given = parser.parse_args()
    PLANTED.update(n_stems=given.stems, random_state=given.corpus)
    rows = planted_rows()
    for name, fit, kinds in (
        ("ours", ours, ("vectors", "X")),
        ("gensim", peer, ("vectors",)),
    ):
        fits = [fit(rows, seed) for seed in range(given.seeds)]
        for of in kinds:
            each = np.array([qualities(found, of) for found in fits])
            errors = each.std(0, ddof=1) / np.sqrt(len(each))
            parts = zip(SEED_SPREAD, each.mean(0), errors, strict=False)
            said = ", ".join(f"{k} {mean:.4f} ± {se:.4f}" for k, mean, se in parts)
            print(f"{name}, {of}: {said} ({len(each)} seeds)", flush=True)


if __name__ == "__main__":
    main()
