"""Streams: NIST's sets, weights, merging, removing, and both forms of the update."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from likely.core.checks import InputError
from likely.probability import Stream, welford


def numacc(base: str) -> np.ndarray:
    """NIST's definition of NumAcc2 to 4: base + 0.2, then 500 pairs of base + 0.1 and 0.3."""
    first, *pair = (float(f"{base}.{digit}") for digit in (2, 1, 3))
    return np.array([first, *pair * 500])


def read(path) -> tuple[np.ndarray, float, float]:
    """The numbers of a univariate set, its certified mean and standard deviation."""
    lines = path.read_text().splitlines()
    mean, std = (
        float(
            next(line for line in lines if line.startswith(start))
            .split(":")[1]
            .split()[0]
        )
        for start in ("Sample Mean", "Sample Standard")
    )
    start = max(i for i, line in enumerate(lines) if line.startswith("---"))
    return (
        np.array([float(line) for line in lines[start + 1 :] if line.strip()]),
        mean,
        std,
    )


def digits(found: float, sure: float) -> float:
    """The number of correct digits, at most 15."""
    return 15.0 if found == sure else min(15.0, -np.log10(abs(found / sure - 1)))


def exact_moments(x) -> tuple[float, float]:
    """The mean and standard deviation of the doubles themselves, in rational arithmetic."""
    numbers = [Fraction(float(v)) for v in x]
    mean = sum(numbers) / len(numbers)
    variance = sum((v - mean) ** 2 for v in numbers) / (len(numbers) - 1)
    return float(mean), float(variance) ** 0.5


def one_by_one(x, w=None) -> Stream:
    x = np.asarray(x, float)
    stream = Stream.empty(None if x.ndim == 1 else x.shape[1])
    for i, row in enumerate(x):
        stream = stream.push(row, 1.0 if w is None else float(w[i]))
    return stream


def check_nist(x, mean, std, at_least):
    exact = exact_moments(x)
    for stream in (
        Stream.of(x),
        one_by_one(x),
        Stream.empty().extend(x[:7]).extend(x[7:]),
    ):
        # as many digits as the doubles have
        assert digits(stream.mean, exact[0]) == 15
        assert digits(stream.std(1), exact[1]) > 13.5
        assert digits(stream.mean, mean) > 14.5
        assert digits(stream.std(1), std) > at_least


@pytest.mark.parametrize(
    ("name", "at_least"), [("NumAcc1", 14), ("NumAcc3", 9.4), ("Michelso", 13.5)]
)
def test_nist(shared_data, name, at_least):
    path = shared_data / "nist" / f"{name}.dat"
    if not path.exists():
        pytest.skip(f"shared data not found: {path.name}")
    check_nist(*read(path), at_least)


@pytest.mark.parametrize(
    ("base", "at_least"), [("1", 14), ("1000000", 9.4), ("10000000", 8.2)]
)
def test_nist_from_the_definition(base, at_least):
    check_nist(numacc(base), float(f"{base}.2"), 0.1, at_least)


def test_the_other_formula_loses_all_digits():
    x = numacc("10000000")
    squares = (x**2).sum() - len(x) * x.mean() ** 2
    assert abs(squares / 10 - 1) > 0.1  # Σx² − nμ² loses all of them


def test_both_forms_of_the_update(rng):
    x = rng.normal(size=200) + 30
    found = welford(x)
    variances = [x[: k + 1].var() for k in range(200)]
    np.testing.assert_allclose(found.variance, variances, rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(
        found.squares_by_steps, found.squares, rtol=1e-9, atol=1e-12
    )
    means = np.cumsum(x) / np.arange(1, 201)
    np.testing.assert_allclose(found.mean, means, rtol=1e-13)
    assert np.abs(found.gap_before).max() < 1e-11
    assert np.abs(found.gap_after).max() < 1e-11


def test_merging_is_the_stream_of_both(rng):
    X, w = rng.normal(size=(40, 3)) + 1e4, rng.uniform(0.1, 3, size=40)
    whole = Stream.of(X, w)
    for cut in (0, 1, 17, 39, 40):
        parts = Stream.empty(3).extend(X[:cut], w[:cut]) if cut else Stream.empty(3)
        merged = parts.merge(
            Stream.of(X[cut:], w[cut:]) if cut < 40 else Stream.empty(3)
        )
        np.testing.assert_allclose(merged.mean, whole.mean, rtol=1e-15)
        np.testing.assert_allclose(merged.squares, whole.squares, rtol=1e-10)
    np.testing.assert_allclose(one_by_one(X, w).squares, whole.squares, rtol=1e-10)
    known = np.cov(X.T, aweights=w, ddof=0)
    np.testing.assert_allclose(whole.covariance(), known, rtol=1e-9)


def test_weights_are_rows_repeated_and_zeros_are_absent(rng):
    x, w = rng.normal(size=30), rng.integers(0, 3, size=30).astype(float)
    rows = np.repeat(x, w.astype(int))
    dirty = np.where(w > 0, x, np.nan)
    for stream in (Stream.of(dirty, w), one_by_one(dirty, w)):
        assert stream.weight == len(rows)
        assert stream.mean == pytest.approx(rows.mean(), rel=1e-14)
        assert stream.variance(1) == pytest.approx(rows.var(ddof=1), rel=1e-12)


def test_a_window_moves(rng):
    """Numbers are added in front and removed behind."""
    x = rng.normal(size=300) + 100
    stream = Stream.of(x[:20])
    for old, new in zip(x[:-20], x[20:], strict=True):
        stream = stream.push(new).remove(old)
    assert stream.mean == pytest.approx(x[-20:].mean(), rel=1e-13)
    assert stream.variance() == pytest.approx(x[-20:].var(), rel=1e-9)
    for number in x[-20:]:
        stream = stream.remove(number)
    assert stream == Stream.empty()
    X = rng.normal(size=(5, 2))
    less = Stream.of(X).remove(X[0])
    np.testing.assert_allclose(less.covariance(1), np.cov(X[1:].T), rtol=1e-10)


def test_order_hardly_matters(rng):
    x = 1e6 + rng.normal(size=6)
    for order in itertools.islice(itertools.permutations(x), 0, 720, 100):
        assert one_by_one(order).variance() == pytest.approx(x.var(), rel=1e-8)


BAD = {
    "needs more": lambda: Stream.empty().variance(),
    "a variance with ddof=1": lambda: Stream.of([3.0]).variance(1),
    "remove what was added": lambda: Stream.of([3.0]).remove(3.0, 2.0),
    "begin with Stream.empty": lambda: Stream.empty().push([1.0, 2.0]),
    "same columns": lambda: Stream.empty().merge(Stream.empty(2)),
    "give finite numbers, or weight 0": lambda: Stream.empty().push(np.nan),
    "the weight is -1": lambda: Stream.empty().push(1.0, -1),
    "one or more numbers": lambda: welford([]),
}


@pytest.mark.parametrize("message", BAD)
def test_bad_input_gets_a_sentence(message):
    with pytest.raises(InputError, match=message):
        BAD[message]()
