"""Fitting a cascade: stage by stage, on the windows that the stages before let pass."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from likely.core.checks import InputError, check_finite, check_weights
from likely.evaluate.assignment import generator_of
from likely.vision.features.cascade import HaarCascade
from likely.vision.features.grey import grey
from likely.vision.features.haar import HaarFeatures, checked_windows, haar_features
from likely.vision.features.stumps import Stumps, boosted_stumps

MIN_WINDOWS = 10
"""Windows of each kind that a stage needs to be learned from."""
RATE = 0.3
"""Learning rate of the stumps."""
MINED_AT_ONCE = 4096
MAX_MINING_ROUNDS = 50
"""Random windows of the backgrounds that are looked at before a stage starts."""


class _Rows(NamedTuple):
    """Windows, whether they are objects, weights, and whether they are held out."""

    W: np.ndarray
    y: np.ndarray
    w: np.ndarray
    held: np.ndarray

    def some(self, mask: np.ndarray) -> "_Rows":
        return _Rows(*(a[mask] for a in self))


def haar_cascade(
    windows: Any,
    y: Any,
    *,
    backgrounds: Sequence = (),
    stumps: Sequence[int] = (20, 80, 300, 300),
    stage_recall: float | int = 0.998,
    max_false_positives: float | int = 1e-3,
    n_features: int = 2000,
    validation_fraction: float | int = 0.25,
    sample_weight: Any = None,
    random_state: Any = 0,
) -> HaarCascade:
    """A cascade of boosted stumps of Haar-like features.

    A share of the windows is held out: cuts are set on its objects, so that the recall
    holds for new ones, and it says when to stop.

    Args:
        windows: (n, h, w) all of one size; numbers from 0 to 1, or bytes.
        y: (n,) true (1) for objects, false (0) for anything else.
        backgrounds: images without objects. Before each stage, windows that pass so far are
            cut from them at random, as many as there are objects.
        stumps: how many each stage has.
        stage_recall: the share of held-out objects that each stage lets pass.
        max_false_positives: stop when no more than this share of other held-out windows
            passes.
        n_features: how many of the possible features to draw and choose from.
        validation_fraction: the share of windows that is held out.
        sample_weight: (n,) how often each window counts.
        random_state: seed of the features, the held-out windows and the backgrounds.
    """
    rng, share = generator_of(random_state), float(validation_fraction)
    rows = _checked(windows, y, sample_weight, share, rng)
    shape = rows.W.shape[1], rows.W.shape[2]
    planes = [grey(image, "a background") for image in backgrounds]
    features = haar_features(shape, max_features=n_features, random_state=rng)
    cascade = _empty(shape)
    left, total = rows, _held_weight(rows)
    for rounds in stumps:
        mined = _mined(planes, cascade, int(left.y.sum()), rng)
        fresh = _with_more(left, mined, share)
        if min(np.bincount(fresh.y[~fresh.held], minlength=2)) < MIN_WINDOWS:
            break
        stage, cut = _stage(fresh, features, int(rounds), float(stage_recall))
        cascade = _extended(cascade, features, stage, cut)
        left = left.some(cascade.predict(left.W))
        false, recall = _held_weight(left) / total
        cascade = replace(
            cascade,
            recalls=np.append(cascade.recalls, recall),
            false_positive_rates=np.append(cascade.false_positive_rates, false),
        )
        if false <= max_false_positives and not planes:
            break
    return cascade


def _checked(windows: Any, y: Any, w: Any, share: float, rng: Any) -> _Rows:
    """The windows of positive weight; some of each kind, spread evenly, are held out."""
    W, y = checked_windows(windows), np.asarray(y)
    if y.shape != (len(W),) or not np.isin(y, (0, 1)).all():
        raise InputError(
            f"y has shape {y.shape}; give true or false (1 or 0) for each of the {len(W)} "
            "windows: whether it is an object."
        )
    if not 0 < share < 1:
        raise InputError(
            f"validation_fraction is {share}; give a number between 0 and 1."
        )
    w = check_weights(w, len(W))
    here = np.flatnonzero(w > 0)
    check_finite("windows", W.reshape(len(W), -1), w)
    codes, order = y[here].astype(np.int64), rng.permutation(len(here))
    if min(np.bincount(codes, minlength=2)) * min(share, 1 - share) < 1:
        raise InputError(
            f"there are {int(codes.sum())} objects among {len(codes)} windows; give more of "
            "each kind, so that some can be held out."
        )
    held = np.zeros(len(here), bool)
    held[order] = held_out(codes[order], share)
    return _Rows(W[here], codes, w[here], held)


def held_out(codes: np.ndarray, share: float) -> np.ndarray:
    """Whether each row is held out: the same share of each kind, in their order."""
    rank = np.empty(len(codes))
    for kind in np.unique(codes):
        rank[codes == kind] = np.arange(np.sum(codes == kind))
    return np.floor((rank + 1) * share) > np.floor(rank * share)


def _held_weight(rows: _Rows) -> np.ndarray:
    """The weight of held-out windows that are no objects, and that are."""
    return np.bincount(rows.y[rows.held], rows.w[rows.held], minlength=2)


def _mined(planes: list, cascade: HaarCascade, count: int, rng: Any) -> np.ndarray:
    """Windows of the backgrounds that pass the cascade, (at most count, h, w)."""
    h, w = cascade.shape
    usable = [p for p in planes if p.shape[0] >= h and p.shape[1] >= w]
    found = [np.empty((0, h, w))]
    for _ in range(MAX_MINING_ROUNDS if usable else 0):
        if sum(map(len, found)) >= count:
            break
        drawn = []
        for number in rng.integers(len(usable), size=MINED_AT_ONCE):
            plane = usable[number]
            y = rng.integers(plane.shape[0] - h + 1)
            x = rng.integers(plane.shape[1] - w + 1)
            drawn.append(plane[y : y + h, x : x + w])
        some = np.stack(drawn)
        found.append(some[cascade.predict(some)])
    return np.concatenate(found)[:count]


def _with_more(rows: _Rows, mined: np.ndarray, share: float) -> _Rows:
    """The rows and mined windows that are no objects, each of which counts once."""
    n = len(mined)
    codes = np.zeros(n, np.int64)
    more = _Rows(mined, codes, np.ones(n), held_out(codes, share))
    return _Rows(*(np.concatenate(pair) for pair in zip(rows, more, strict=True)))


def _stage(
    rows: _Rows, features: HaarFeatures, rounds: int, recall: float
) -> tuple[Stumps, float]:
    """Stumps that tell objects from what is left of the rest, and their cut."""
    X, train = features.values(rows.W), ~rows.held
    w = np.where(rows.y == 1, rows.w, rows.w * _balance(rows.y[train], rows.w[train]))
    fitted = boosted_stumps(
        X[train], rows.y[train].astype(float), w[train], rounds, RATE
    )
    mine = rows.held & (rows.y == 1)
    eta, weight = fitted.eta(X[mine]), rows.w[mine]
    order = np.argsort(eta)
    lost = np.cumsum(weight[order])  # with a cut above eta[order[i]], lost[i] is lost
    first = int(np.searchsorted(lost, (1 - recall) * weight.sum(), side="right"))
    at = eta[order]
    cut = at[first] if first == 0 else (at[first - 1] + at[first]) / 2
    return fitted, float(cut)


def _balance(y: np.ndarray, w: np.ndarray) -> float:
    """The factor that gives windows without objects the weight of those with."""
    false, true = np.bincount(y, w, minlength=2)
    return true / false


def _empty(shape: tuple[int, int]) -> HaarCascade:
    return HaarCascade(
        shape=shape,
        rectangles=np.empty((0, 3, 4), np.int64),
        weights=np.empty((0, 3)),
        thresholds=np.empty(0),
        values=np.empty((0, 2)),
        starts=np.zeros(1, np.int64),
        stages=np.empty((0, 2)),
        recalls=np.empty(0),
        false_positive_rates=np.empty(0),
    )


def _extended(
    cascade: HaarCascade, features: HaarFeatures, stage: Stumps, cut: float
) -> HaarCascade:
    """The cascade with one stage more."""
    own = features.some(stage.features)
    join = np.concatenate
    return replace(
        cascade,
        rectangles=join([cascade.rectangles, own.rectangles]),
        weights=join([cascade.weights, own.weights]),
        thresholds=join([cascade.thresholds, stage.thresholds]),
        values=join([cascade.values, stage.values]),
        starts=np.append(cascade.starts, cascade.starts[-1] + len(stage.features)),
        stages=join([cascade.stages, [[stage.bias, cut]]]),
    )
