"""One generative model in a comparison: fitted, judged on held-out rows, and timed."""

import time
import warnings
from typing import Any, NamedTuple

import numpy as np

from likely.core.checks import InputError
from likely.core.text_tables import cell
from likely.diagnostics.generators.table_space import TableSpace
from likely.diagnostics.rows.drift import drift
from likely.evaluate.assignment import generator_of
from likely.evaluate.generated.likelihood import HeldOutLikelihood, held_out_likelihood
from likely.evaluate.generated.memorization import MemorizationTest, memorization_test
from likely.evaluate.generated.support import SupportScores, support_scores
from likely.evaluate.scores import Score
from likely.preprocess import TableCodec
from likely.solvers.training.events import StepLimit

MAX_SAMPLES = 2000
"""Rows that are drawn from each model, and real rows they are set beside."""


class Split(NamedTuple):
    """A table in two parts, and what is known of its columns."""

    train: Any
    held_out: Any
    codec: TableCodec
    """Learned from all rows: it decides the kinds of columns only."""
    space: TableSpace


class SampleScores(NamedTuple):
    """Scores of the rows that a model draws, beside held-out rows."""

    told_apart: Score
    """The area under the ROC curve of a classifier that tells them from real rows: ½ at best."""
    support: SupportScores
    memorization: MemorizationTest


class Trial(NamedTuple):
    """What came of one model."""

    name: str
    taxonomy: str
    """What is known of log p: it is "explicit", has a "bound", or is "implicit"."""
    model: Any = None
    """The fitted model; None where it failed."""
    losses: np.ndarray | None = None
    """(m,) −log p of each held-out row, or an upper bound."""
    likelihood: HeldOutLikelihood | None = None
    samples: SampleScores | None = None
    seconds: float = float("nan")
    """Of the fit and of judging held-out rows."""
    failure: str = ""
    """Why there is nothing, in a sentence."""


def attempt(
    name: str,
    model: Any,
    max_steps: int | None = None,
    *,
    split: Split,
    n_samples: int,
    seed: int,
) -> Trial:
    """Fit and judge a model; what goes wrong becomes a sentence.

    Args:
        name: of the model.
        model: unfitted.
        max_steps: after how many steps its training ends; None for its own limit.
        split: the rows.
        n_samples: rows to draw; 0 for none.
        seed: of the draws.
    """
    kind = str(model.taxonomy)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            limit = {} if max_steps is None else {"callbacks": StepLimit(max_steps)}
            fitted = _with_kinds(model, split.codec).fit(split.train, **limit)
            kind = str(fitted.taxonomy)
            losses, likelihood = _judged(fitted, split)
            seconds = time.perf_counter() - start
            samples = _sampled(fitted, split, n_samples, seed) if n_samples else None
        except (KeyboardInterrupt, MemoryError):
            raise
        except Exception as error:
            sentence = " ".join(str(error).split()) or type(error).__name__
            seconds = time.perf_counter() - start
            return Trial(name, kind, seconds=seconds, failure=sentence)
    return Trial(name, kind, fitted, losses, likelihood, samples, seconds)


def _with_kinds(model: Any, codec: TableCodec) -> Any:
    """The model with the kinds of columns of numbers as they are in all rows."""
    if "kinds" not in model.get_params(deep=False) or model.kinds is not None:
        return model
    whole = type(model).__name__ == "BayesianNetwork"
    kinds = {
        c.name: "whole" if whole and c.kind == "count" else c.kind
        for c in codec.columns
        if c.read == "number"
    }
    return model.set_params(kinds=kinds or None)


def _judged(
    model: Any, split: Split
) -> tuple[np.ndarray | None, HeldOutLikelihood | None]:
    """−log p of held-out rows, and its mean."""
    if model.taxonomy == "implicit":
        return None, None
    errors = None
    if model.taxonomy == "bound":
        found = model.bound(split.held_out)
        values, errors = found.values, found.errors
    else:
        values = model.log_prob(split.held_out)
    if np.isnan(values).any():
        row = int(np.argmax(np.isnan(values)))
        raise InputError(f"log p of held-out row {row} is {cell(values[row])}.")
    bound = errors is not None
    q = split.codec.q
    return -values, held_out_likelihood(values, q, errors=errors, bound=bound)


def _sampled(model: Any, split: Split, n: int, seed: int) -> SampleScores:
    """Scores of drawn rows beside held-out rows, with as many missing cells as real ones."""
    drawn = model.sample(min(n, MAX_SAMPLES), random_state=seed)
    space = split.space
    V = space.codes(drawn)
    missing = np.isnan(V)
    if (
        not missing.any()
    ):  # most models draw whole rows: cells are missing as in training
        gaps = np.isnan(space.codes(split.train))
        missing = gaps[generator_of(seed).integers(len(gaps), size=len(V))]
    held = space.codes(split.held_out)
    apart = drift(held, np.where(missing, np.nan, V), random_state=seed)
    real, G = space.features(split.held_out), space.features(drawn, missing)
    k = max(1, min(5, len(real) - 1, len(G) - 1))
    return SampleScores(
        Score(apart.auc, apart.auc_error),
        support_scores(real, G[: len(real)], n_neighbors=k),
        memorization_test(G, space.features(split.train), real, random_state=seed),
    )
