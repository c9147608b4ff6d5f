"""What a loss surface can be made of: estimators, fits of the recipe, plain models."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from sklearn.utils.validation import check_is_fitted

from likely import recipe
from likely.base.labels import codes_of
from likely.base.rows import check_numbers, fill_absent_targets, weights_of
from likely.base.training.trainer import member_of
from likely.core.checks import InputError, check_batch, check_choice
from likely.core.precision import float64
from likely.core.random import key_of
from likely.core.rows import pad, size_class
from likely.diagnostics.landscape.surface import (
    LearnerLosses,
    LossSurface,
    NetworkLosses,
    in_precision,
)
from likely.estimators.linear.coefficients import coefficients_of, linear_of
from likely.layers import initial_state
from likely.models import Linear
from likely.objectives import NegativeLogLikelihood, PositionLikelihood
from likely.typing import Batch

MAX_ENTRIES = 2**18
"""Numbers in the inputs of the rows that are computed together."""
PRECISIONS = {"double": np.float64, "single": np.float32}


def loss_surface(
    model: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    family: Any = None,
    state: Any = None,
    member: int = 0,
    training: bool = False,
    precision: str = "double",
    random_state: Any = 0,
) -> LossSurface:
    """The loss of rows as a function of the weights of a model.

    Args:
        model: a fitted network or linear model, a scikit-learn pipeline that ends with one, what
            `recipe.fit` returns, or any model (`models.MLP(...).build(...)`).
        X: inputs, as the model takes them.
        y: targets.
        sample_weight: how often each row counts.
        family: of a plain model: p(y | θ), one of `likely.families`.
        state: running statistics of a plain model.
        member: which network of an estimator with several.
        training: whether the network computes as in training, with the statistics of these rows
            in batch norms and with dropout (one mask for all weights); else as in use.
        precision: "double" or "single".
        random_state: of dropout, where there is some.
    """
    check_choice("precision", precision, PRECISIONS)
    while hasattr(model, "steps"):  # a pipeline
        X, model = model[:-1].transform(X), model[-1]
    key = key_of(random_state) if training else None
    with float64():
        if hasattr(model, "learner_") or hasattr(model, "get_params"):
            found = _estimator(model, X, y, sample_weight, (member, key))
        else:
            found = _plain(model, X, y, sample_weight, (family, state, key))
        found = in_precision(found, PRECISIONS[precision])
    data = in_parts(found.data, whole=training)
    return eqx.tree_at(lambda s: s.data, found, data)


def _plain(model: Any, X: Any, y: Any, w: Any, of: tuple) -> LossSurface:
    """Of a model, or of what `recipe.fit` returns."""
    family, state, key = of
    if isinstance(model, recipe.Fit):
        family, state, model = model.family, model.solution.state, model.model
    if not callable(model) or not jax.tree.leaves(
        eqx.filter(model, eqx.is_inexact_array)
    ):
        raise InputError(
            f"{type(model).__name__} has no weights that a loss could depend on; give a "
            "fitted network or linear model, or a model of `likely.models`."
        )
    if family is None:
        raise InputError(
            "a model says nothing about the distribution of y; give its family, such as "
            "family=families.Bernoulli()."
        )
    X, y = np.asarray(X, np.float64), np.asarray(y, np.float64)
    batch = check_batch(Batch(X, y, w))
    start: Any = initial_state
    state = start(model) if state is None else state
    NegativeLogLikelihood.check(family, batch)
    objective, batch = recipe.objective_of(family, pad(batch))
    return LossSurface(model, NetworkLosses(objective, state, key), batch)


def _estimator(model: Any, X: Any, y: Any, w: Any, of: tuple) -> LossSurface:
    """Of a fitted estimator of this library."""
    check_is_fitted(model)
    phi = getattr(model, "phi_", None)
    if hasattr(phi, "scaling") and hasattr(model, "_kind"):
        return _network(model, X, y, w, of)
    if hasattr(phi, "model") and hasattr(model, "_design"):
        return _linear(model, X, y, w)
    raise InputError(
        f"{type(model).__name__} has no weights that a loss could depend on smoothly; give a "
        "network or a linear model of `likely`."
    )


def _network(model: Any, X: Any, y: Any, w: Any, of: tuple) -> LossSurface:
    member, key = of
    count = np.size(model.phi_.solution.loss)
    if not 0 <= member < count:
        raise InputError(f"member is {member}; this estimator has {count} networks.")
    batch = pad(model._batch(X, y, w, first=False, known=True))
    phi, learner = member_of(model.phi_, member), model.learner_
    likelihood = PositionLikelihood if learner.positions else NegativeLogLikelihood
    phi = in_precision(phi, np.float64)
    scaled = phi.scaling(jax.tree.map(jnp.asarray, batch))
    objective, scaled = recipe.objective_of(learner.family, scaled, None, likelihood)
    found = phi.solution
    return LossSurface(found.model, NetworkLosses(objective, found.state, key), scaled)


def _linear(model: Any, X: Any, y: Any, w: Any) -> LossSurface:
    columns = model._design(X)
    w = weights_of(w, len(np.asarray(y)))
    y = np.asarray(fill_absent_targets(y, w))
    classes = getattr(model, "classes_", None)
    y = check_numbers(model, y) if classes is None else codes_of(y, classes, "y")
    phi = without_centre(model.phi_)
    losses = LearnerLosses(model.learner_, phi)
    return LossSurface(phi.model, losses, pad(Batch(columns, y, w)), _names(model))


def without_centre(phi: Any) -> Any:
    """φ of a linear model whose line is one of the columns as they are."""
    found = coefficients_of(phi)
    bias = None if found.bias is None else jnp.asarray(found.bias)
    line = Linear(jnp.asarray(found.weight), bias)
    return eqx.tree_at(lambda p: linear_of(p), phi, line)


def weights_of_model(model: Any) -> Any:
    """The tree of weights of an estimator, as of its loss surface; a model as it is."""
    phi = getattr(model, "phi_", None)
    if phi is None:
        return getattr(getattr(model, "solution", None), "model", model)
    if hasattr(phi, "scaling"):
        return phi.solution.model
    with float64():
        return in_precision(without_centre(phi).model, np.float64)


def _names(model: Any) -> tuple[str, ...]:
    """The names of the coefficients, in the order of the vector of weights."""
    found = coefficients_of(model.phi_)
    columns, k = model._column_names(), found.weight.shape[1]
    classes = getattr(model, "classes_", range(k))
    if k == 1:
        names, biases = list(columns), ["intercept"]
    else:
        names = [f"{column}[{c}]" for column in columns for c in classes]
        biases = [f"intercept[{c}]" for c in classes]
    names += [] if found.bias is None else biases
    shared = len(found.shared) if hasattr(model.phi_.model, "tail") else 0
    return (*names, *(f"shared[{j}]" for j in range(shared)))


def in_parts(data: Batch, *, whole: bool) -> Batch:
    """The rows in equal parts with a leading axis, one part if they have to be together."""
    n = len(data.w)
    entries = sum(np.size(a) // n for a in jax.tree.leaves(data.x))
    rows = max(16, MAX_ENTRIES // max(entries, 1))
    parts = 1 if whole or n <= rows else -(-n // rows)
    size = n if parts == 1 else size_class(-(-n // parts))
    padded = pad(data, parts * size)
    dtype = np.asarray(data.w).dtype
    padded = padded._replace(w=padded.w.astype(dtype))
    return jax.tree.map(lambda a: a.reshape(parts, size, *a.shape[1:]), padded)
