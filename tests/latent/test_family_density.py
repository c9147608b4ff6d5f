"""Any family as a density, against SciPy and against its own definition."""

import numpy as np
import pytest
from registries.families import FAMILIES
from scipy import stats

import likely as lk
from likely import families
from likely.core import InputError

rng = np.random.default_rng(0)
X = rng.normal(size=(150, 3)) @ [[1.0, 0.0, 0.0], [0.5, 1.0, 0.0], [0.0, 0.3, 2.0]] + 1


def test_the_joint_normal_is_scipys():
    model = lk.FamilyDensity().fit(X)
    peer = stats.multivariate_normal(X.mean(0), np.cov(X.T, bias=True))
    np.testing.assert_allclose(model.log_prob(X), peer.logpdf(X), rtol=1e-9)
    draws = model.sample(20_000, random_state=0)
    np.testing.assert_allclose(np.cov(draws.T), np.cov(X.T), atol=0.15)


@pytest.mark.parametrize("name", ["Gamma", "Weibull", "Poisson", "StudentT", "Laplace"])
def test_any_family_is_a_density(name):
    """The fitted density has a higher likelihood than the one that made the rows."""
    example = FAMILIES[name]
    rows = example.draw(200, seed=3)[:, None]
    model = lk.FamilyDensity(example.make()).fit(rows)
    true = families.Predictive(example.make(), np.array([example.eta]))
    truth = np.array([true.log_prob(y)[0] for y in rows[:, 0]])
    assert model.score(rows) >= truth.mean() - 1e-9
    for name_, value in model.theta_.items():
        np.testing.assert_allclose(value, true.theta[name_][0], rtol=0.6)


def test_columns_of_other_families_are_independent():
    model = lk.FamilyDensity("laplace").fit(X)
    columns = [lk.FamilyDensity("laplace").fit(X[:, [j]]) for j in range(3)]
    alone = sum(c.log_prob(X[:, [j]]) for j, c in enumerate(columns))
    np.testing.assert_allclose(model.log_prob(X), alone, rtol=1e-9)


def test_what_is_no_family_gets_a_sentence():
    with pytest.raises(InputError, match="give one of"):
        lk.FamilyDensity("gauss").fit(X)
    with pytest.raises(InputError, match="2 outputs, but X has 3"):
        lk.FamilyDensity(families.MultivariateNormal(2)).fit(X)
    with pytest.raises(InputError, match="^X has .* finite numbers above 0"):
        lk.FamilyDensity("gamma").fit(X)
