"""EM and its bound, for any hidden variable of few values."""

import numpy as np
import pytest
from scipy import stats

import likely as lk
from likely.core import InputError

rng = np.random.default_rng(0)
Y = np.r_[rng.normal(0, 1, 80), rng.normal(5, 2, 60)]
START = np.array([0.5, 0.5]), np.array([1.0, 2.0]), np.array([1.0, 1.0])


def log_joint(theta):
    weights, means, scales = theta
    return np.log(weights) + stats.norm(means, scales).logpdf(Y[:, None])


def maximizer(w):
    def maximize(q):
        q = q * w[:, None]
        N = q.sum(0)
        means = q.T @ Y / N
        squares = (q * (Y[:, None] - means) ** 2).sum(0)
        return N / N.sum(), means, np.sqrt(squares / N)

    return maximize


def test_the_bound_is_the_log_likelihood_less_a_divergence():
    """E_q[log p(x, z)] + H(q) = log p(x) − KL(q, p(z | x)), for any q."""
    joint = log_joint(START)
    q = rng.dirichlet([1.0, 1.0], len(Y))
    w = rng.uniform(0, 2, len(Y))
    found = lk.evidence_bound(joint, q, w)
    log_prob = np.log(np.exp(joint).sum(1))
    posterior = np.exp(joint - log_prob[:, None])
    divergence = w @ stats.entropy(q, posterior, axis=1)
    assert found.divergence == pytest.approx(divergence)
    assert found.log_prob == pytest.approx(w @ log_prob)
    assert found.value == pytest.approx(w @ log_prob - divergence)
    assert found.entropy == pytest.approx(w @ stats.entropy(q, axis=1))
    tight = lk.evidence_bound(joint, posterior, w)
    assert tight.divergence == pytest.approx(0, abs=1e-9)
    certain = lk.evidence_bound(joint, np.eye(2)[np.zeros(len(Y), int)])
    assert certain.entropy == 0
    assert certain.expected == pytest.approx(joint[:, 0].sum())


def test_each_half_step_raises_the_bound():
    path = lk.em(log_joint, maximizer(np.ones(140)), START, tol=1e-10, max_iter=500)
    assert path.converged
    assert (np.diff(path.log_probs) >= -1e-9).all()
    for step, before, after in zip(
        path.steps, path.log_probs[:-1], path.log_probs[1:], strict=True
    ):
        assert step.after_e.value == pytest.approx(before)
        assert step.after_e.divergence == pytest.approx(0, abs=1e-8)
        assert step.after_m.value >= step.after_e.value - 1e-9
        assert step.after_m.value <= after + 1e-9
    model = lk.GaussianMixture(2, tol=1e-10, max_iter=1000).fit(Y[:, None])
    assert path.log_probs[-1] / 140 == pytest.approx(model.lower_bound_, rel=1e-7)


def test_weight_two_is_the_row_twice_and_absent_rows_do_not_count():
    w = np.arange(140) % 3.0

    def with_garbage(theta):
        return np.where(w[:, None] > 0, log_joint(theta), -np.inf)

    def safe(q):
        return maximizer(w)(np.nan_to_num(q))

    with np.errstate(invalid="ignore"):
        path = lk.em(with_garbage, safe, START, sample_weight=w, max_iter=5)
    rows = np.repeat(np.arange(140), w.astype(int))
    twice = np.ones(len(rows))

    def repeated(theta):
        return log_joint(theta)[rows]

    def maximize(q):
        total = np.zeros((140, 2))
        np.add.at(total, rows, q * twice[:, None])
        return maximizer(np.ones(140))(total)

    other = lk.em(repeated, maximize, START, max_iter=5)
    np.testing.assert_allclose(path.log_probs, other.log_probs)


def test_a_step_that_lowers_the_likelihood_is_refused():
    with pytest.raises(InputError, match="fell from"):
        lk.em(log_joint, lambda q: (START[0], START[1] - 5, START[2]), START)
