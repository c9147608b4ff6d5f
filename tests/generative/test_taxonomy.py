"""What generative models know about log p(x): itself, a bound of it, or nothing."""

import numpy as np
import pytest
from registries.generative import GENERATIVE

import likely as lk
from likely.base.generator import TAXONOMY, Generator

KNOWN = {
    lk.AutoregressiveDensity: "explicit",
    lk.NormalizingFlow: "explicit",
    lk.BayesianNetwork: "explicit",
    lk.SumProductNetwork: "explicit",
    lk.RestrictedBoltzmannMachine: "explicit",
    lk.VAE: "bound",
    lk.Diffusion: "bound",
    lk.GAN: "implicit",
}
GENERATORS = [name for name, e in GENERATIVE.items() if isinstance(e.make(), Generator)]


def test_models_say_what_they_know():
    """Every generator is in the registry, and has the methods of its kind alone."""
    made = [GENERATIVE[name].make() for name in GENERATORS]
    assert {type(model) for model in made} == set(KNOWN)
    for model in made:
        kind = model.taxonomy
        assert kind in TAXONOMY
        assert kind == KNOWN[type(model)]
        assert hasattr(model, "log_prob") == (kind == "explicit")
        assert hasattr(model, "bound") == (kind == "bound")
        assert hasattr(model, "elbo") == (kind == "bound")
        assert hasattr(model, "score") == (kind != "implicit")


@pytest.mark.slow
@pytest.mark.parametrize("name", GENERATORS)
def test_every_generator_has_one_face(name):
    """New rows like those of the fit, the same for one seed; nats with their error."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    model = GENERATIVE[name].make().fit(X)
    drawn = model.sample(7, random_state=1)
    assert drawn.shape == (7, 3)
    assert np.isfinite(drawn).all()
    assert (drawn == model.sample(7, random_state=1)).all()
    assert (drawn != model.sample(7, random_state=2)).any()
    if model.taxonomy == "implicit":
        return
    values = model.score_samples(X)
    assert values.shape == (60,)
    assert model.score(X) == pytest.approx(values.mean())
    assert model.nll(X) == pytest.approx(-values.mean())
    if model.taxonomy == "bound":
        bound = model.bound(X)
        assert (bound.errors >= 0).all()
        assert bound.error < bound.errors.mean()
