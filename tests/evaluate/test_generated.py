"""Scores of generated rows, each beside a slow and plain way to the same number."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import linalg, stats
from scipy.spatial.distance import cdist

from likely import evaluate
from likely.core.checks import InputError


def normal_rows(n: int, d: int = 3, seed: int = 0, shift: float = 0.0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d)) + shift


# Fréchet distance -----------------------------------------------------------------------


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 6), st.integers(0, 10_000))
def test_frechet_distance_is_that_of_the_matrix_root(d, seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(40, d)) @ rng.normal(size=(d, d))
    B = rng.normal(size=(30, d)) @ rng.normal(size=(d, d)) + rng.normal(size=d)
    S, Q = (np.atleast_2d(np.cov(X.T)) for X in (A, B))
    root = linalg.sqrtm(S @ Q)
    gap = ((A.mean(0) - B.mean(0)) ** 2).sum()
    expected = gap + np.trace(S + Q - 2 * np.real(root))
    found = evaluate.frechet_distance(A, B)
    scale = np.trace(S + Q)
    assert found.value == pytest.approx(expected, abs=1e-6 * scale)
    closed = evaluate.frechet_of_normals(A.mean(0), S, B.mean(0), Q)
    assert closed == pytest.approx(expected, abs=1e-6 * scale)


def test_frechet_distance_takes_fewer_rows_than_columns():
    A, B = normal_rows(5, 8), normal_rows(6, 8, 1)
    S, Q = np.cov(A.T), np.cov(B.T)
    by_closed_form = evaluate.frechet_of_normals(A.mean(0), S, B.mean(0), Q)
    assert evaluate.frechet_distance(A, B).value == pytest.approx(by_closed_form)
    assert evaluate.frechet_distance(A, A).value == pytest.approx(0, abs=1e-9)


def test_the_bias_of_frechet_distances_is_removed_and_their_error_is_right():
    found = [
        evaluate.frechet_distance(normal_rows(60, 4, s), normal_rows(60, 4, 1000 + s))
        for s in range(60)
    ]
    values, errors, corrected = np.array(found).T
    assert values.mean() > 5 * abs(corrected.mean())  # 0 is the truth
    assert abs(corrected.mean()) < 4 * corrected.std() / np.sqrt(60)
    shifted = [
        evaluate.frechet_distance(normal_rows(60, 2, s), normal_rows(60, 2, 99 + s, 2))
        for s in range(60)
    ]
    spread = np.std([f.value for f in shifted])
    assert np.mean([f.error for f in shifted]) == pytest.approx(spread, rel=0.3)


def test_frechet_refuses_impossible_covariances():
    with pytest.raises(InputError, match="eigenvalue"):
        evaluate.frechet_of_normals([0, 0], [[1, 2], [2, 1]], [0, 0], np.eye(2))
    with pytest.raises(InputError, match="number of columns"):
        evaluate.frechet_distance(normal_rows(5, 2), normal_rows(5, 3))
    bad = normal_rows(5, 2)
    bad[3, 1] = np.nan
    with pytest.raises(InputError, match="row 3"):
        evaluate.frechet_distance(bad, normal_rows(5, 2))


# Inception score ------------------------------------------------------------------------


def test_inception_score_is_the_exponential_of_mutual_information():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(4), 50)
    mean = p.mean(0)
    kl = np.mean([stats.entropy(row, mean) for row in p])
    assert evaluate.inception_score(p).value == pytest.approx(np.exp(kl))
    assert evaluate.inception_score(np.eye(5)[np.arange(20) % 5]).value == (
        pytest.approx(5)
    )
    assert evaluate.inception_score(np.full((9, 3), 1 / 3)).value == pytest.approx(1)
    twice = evaluate.inception_score(np.repeat(p, 2, 0))
    assert evaluate.inception_score(p, np.full(50, 2.0)) == pytest.approx(twice)
    left_out = [evaluate.inception_score(np.delete(p, i, 0)).value for i in range(50)]
    jackknife = np.sqrt(49 * np.var(left_out))
    assert evaluate.inception_score(p).error == pytest.approx(jackknife)
    with pytest.raises(InputError, match="sum to 1"):
        evaluate.inception_score([[0.5, 0.6]])


# Held-out likelihood --------------------------------------------------------------------


def test_nats_and_bits_of_a_uniform_byte():
    log_p = np.full(10, 3 * -np.log(256))
    found = evaluate.held_out_likelihood(log_p, 3)
    assert found.bits.value == pytest.approx(8)
    assert found.nats.value == pytest.approx(3 * np.log(256))
    assert "at most" not in str(found)
    bound = evaluate.held_out_likelihood(log_p, 3, errors=np.full(10, 0.5), bound=True)
    assert str(bound).startswith("at most")
    assert bound.nats.error == pytest.approx(0.5 / np.sqrt(10))


# Maximum mean discrepancy ---------------------------------------------------------------


def plain_mmd(A, B, widths) -> float:
    def k(X, Y):
        return np.mean(
            [np.exp(-cdist(X, Y, "sqeuclidean") / (2 * s**2)) for s in widths], axis=0
        )

    n, m = len(A), len(B)
    within_a = (k(A, A).sum() - n) / (n * (n - 1))
    within_b = (k(B, B).sum() - m) / (m * (m - 1))
    return within_a + within_b - 2 * k(A, B).mean()


def test_mmd_is_that_of_all_pairs():
    A, B = normal_rows(17, 3), normal_rows(12, 3, 1, 0.5)
    found = evaluate.mmd_test(A, B, widths=[0.7, 2.0])
    assert found.value == pytest.approx(plain_mmd(A, B, (0.7, 2.0)))
    usual = evaluate.mmd_test(A, B)
    both = np.r_[A, B]
    middle = np.median(cdist(both, both)[np.triu_indices(29, 1)])
    assert usual.widths == pytest.approx((middle / 2, middle, 2 * middle))
    assert usual.value == pytest.approx(plain_mmd(A, B, usual.widths))


def test_p_values_of_mmd_are_uniform_where_nothing_differs():
    p = [
        evaluate.mmd_test(
            normal_rows(15, 2, s), normal_rows(12, 2, 500 + s), n_permutations=99
        ).p_value
        for s in range(150)
    ]
    assert stats.kstest(p, "uniform").pvalue > 0.01
    far = evaluate.mmd_test(normal_rows(60, 2), normal_rows(60, 2, 1, 1.0))
    assert far.p_value < 0.01


def test_equal_rows_have_no_discrepancy():
    same = np.ones((6, 2))
    found = evaluate.mmd_test(same, same)
    assert found.value == pytest.approx(0, abs=1e-12)
    assert found.p_value == 1


# Precision, recall, density, coverage ----------------------------------------------------


def plain_support(R, G, k):
    """By the definitions, with every distance."""
    RR, GG, RG = cdist(R, R), cdist(G, G), cdist(R, G)
    reach_r, reach_g = np.sort(RR, 1)[:, k], np.sort(GG, 1)[:, k]
    inside = reach_r[:, None] >= RG
    return (
        inside.any(0).mean(),
        (reach_g >= RG).any(1).mean(),
        inside.sum() / (k * len(G)),
        inside.any(1).mean(),
    )


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 4), st.integers(0, 10_000), st.floats(0, 3))
def test_support_scores_are_those_of_all_distances(k, seed, shift):
    R, G = normal_rows(30, 2, seed), normal_rows(25, 2, seed + 1, shift)
    found = evaluate.support_scores(R, G, n_neighbors=k)
    assert [s.value for s in found] == pytest.approx(plain_support(R, G, k))


def test_support_scores_see_a_dropped_mode_and_made_up_rows():
    rng = np.random.default_rng(0)
    modes = np.array([[0.0, 0.0], [20.0, 0.0]])
    real = modes[rng.integers(2, size=300)] + rng.normal(size=(300, 2))
    one_mode = modes[0] + rng.normal(size=(300, 2))
    found = evaluate.support_scores(real, one_mode)
    assert found.precision.value > 0.95
    assert found.recall.value < 0.6
    assert found.coverage.value < 0.6
    wild = real + 40 * (rng.random((300, 1)) < 0.5)
    assert evaluate.support_scores(real, wild).precision.value < 0.7
    same = modes[rng.integers(2, size=300)] + rng.normal(size=(300, 2))
    good = evaluate.support_scores(real, same)
    assert good.density.value == pytest.approx(1, abs=0.15)
    with pytest.raises(InputError, match="n_neighbors"):
        evaluate.support_scores(real[:4], same, n_neighbors=4)


# Memorisation and closest records --------------------------------------------------------


def test_a_copier_is_detected_and_an_honest_sampler_is_not():
    rng = np.random.default_rng(0)
    train, held = normal_rows(200, 4, 1), normal_rows(100, 4, 2)
    copier = train[rng.integers(200, size=150)] + 1e-3 * rng.normal(size=(150, 4))
    found = evaluate.memorization_test(copier, train, held)
    assert found.share == 1
    assert found.expected == pytest.approx(2 / 3)
    assert found.p_value < 0.01
    assert found.excess == pytest.approx(1)
    assert "repeat training rows" in found.verdict
    close = evaluate.closest_records(copier, train, held)
    assert close.close.value == 1
    assert close.p_value < 1e-6
    exact = evaluate.memorization_test(train[:50], train, held)
    assert exact.copies == 1
    assert exact.held_out_copies == 0


def test_memorisation_is_not_seen_where_there_is_none():
    p, close = [], []
    for s in range(100):
        train, held, honest = (normal_rows(60, 2, 3 * s + i) for i in range(3))
        held = held[:40]
        options = {"n_permutations": 200, "random_state": s}
        p.append(evaluate.memorization_test(honest, train, held, **options).p_value)
        close.append(evaluate.closest_records(honest, train, held).close.value)
    assert stats.kstest(p, "uniform").pvalue > 0.01
    assert np.mean(close) == pytest.approx(0.05, abs=0.02)


def test_nearest_rows_share_their_votes():
    train, held = np.array([[0.0], [0.0], [5.0]]), np.array([[0.0], [9.0]])
    found = evaluate.memorization_test([[0.1], [8.0]], train, held)
    assert found.share == pytest.approx((2 / 3 + 0) / 2)
    assert found.expected == pytest.approx(3 / 5)


def test_closest_records_with_ties_are_neutral():
    levels = np.array([[0.0], [1.0]])
    rng = np.random.default_rng(0)
    rows = [levels[rng.integers(2, size=n)] for n in (200, 100, 80)]
    found = evaluate.closest_records(rows[2], rows[0], rows[1])
    assert found.close.value == pytest.approx(0.05)
    assert found.p_value == 1


# Distances of tables ---------------------------------------------------------------------


def test_distances_of_columns_and_pairs_by_hand():
    A = np.array([[0, 0], [0, 1], [1, 0], [1, 1.0]])
    B = np.array([[0, 0], [0, 0], [1, 1], [1, 1.0]])
    found = evaluate.table_distances(A, B, [True, True])
    assert found.columns == pytest.approx([0, 0])
    assert found.pairs[0, 1] == pytest.approx(0.5)
    assert found.mean_pair == pytest.approx(0.5)
    missing = np.where(B == 1, np.nan, B)
    assert evaluate.table_distances(A, missing).columns == pytest.approx([0.5, 0.5])
    nothing = np.full((3, 1), np.nan)
    found = evaluate.table_distances(nothing, normal_rows(50, 1))
    assert found.columns == pytest.approx([1])


def test_distances_of_numbers_use_quantiles_and_know_chance():
    found = [
        evaluate.table_distances(normal_rows(400, 2, s), normal_rows(300, 2, 900 + s))
        for s in range(40)
    ]
    mean = np.mean([f.columns for f in found])
    assert np.mean([f.by_chance for f in found]) == pytest.approx(mean, rel=0.1)
    far = evaluate.table_distances(normal_rows(400, 2), normal_rows(400, 2, 1, 9.0))
    assert far.columns == pytest.approx([0.95, 0.95], abs=0.06)
    with pytest.raises(InputError, match="same columns"):
        evaluate.table_distances(normal_rows(4, 2), normal_rows(4, 3))
