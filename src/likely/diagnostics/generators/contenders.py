"""The generative models that are compared by default, by name.

Networks are trained alone here, not as an ensemble of several, and for a limited number of
steps: a comparison of all families takes minutes then, whatever the number of rows, and the
best is worth a fit of its own.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sklearn.base import clone

from likely import generative
from likely.core.checks import InputError, suggestion
from likely.diagnostics.generators.coded_density import CodedDensity
from likely.preprocess import TableCodec

BASELINE = "independent columns"
"""The name of the model in which no column says anything about another."""
MIXTURE = "mixture"
"""The name of normal components, as many as BIC says: for tables of numbers only."""
QUICK = (BASELINE, MIXTURE, "BayesianNetwork", "SumProductNetwork")
"""Models that are fitted in seconds."""
NETWORKS = ("AutoregressiveDensity", "NormalizingFlow", "VAE", "Diffusion", "GAN")
ENSEMBLES = ("AutoregressiveDensity", "NormalizingFlow")
"""Networks of which there are several by default."""
MAX_STEPS = {
    "AutoregressiveDensity": 600,
    "NormalizingFlow": 600,
    "VAE": 4000,
    "Diffusion": 3000,
    "GAN": 2000,
}
"""Steps of networks that held-out rows stop, which may be later than a comparison can wait."""


class Contender(NamedTuple):
    """An unfitted model."""

    model: Any
    max_steps: int | None = None
    """After how many steps its training ends; None for its own limit."""


def contenders(
    models: Any, seed: int, codec: TableCodec | None = None
) -> dict[str, Contender]:
    """Unfitted models by name.

    Args:
        models: None for all that suit a table, "quick" for those fitted in seconds, or a list
            of names and instances, or a mapping from names to instances.
        seed: of the models that are made here.
        codec: of the table, by which models that suit no such table are left out of None
            and "quick".
    """
    if models is None:
        models = _suiting((*QUICK, *NETWORKS), codec)
    if isinstance(models, str):
        models = _suiting(QUICK, codec) if models == "quick" else (models,)
    if isinstance(models, Mapping):
        return {str(name): _prepared(model) for name, model in models.items()}
    if not isinstance(models, Sequence):
        models = (models,)
    found: dict[str, Contender] = {}
    for model in models:
        if isinstance(model, str):
            found[model] = _made(model, seed)
            continue
        name = type(model).__name__
        same = sum(key == name or key.startswith(f"{name} ") for key in found)
        found[f"{name} {same + 1}" if same else name] = _prepared(model)
    if not found:
        raise InputError(
            "there is no model to compare; name one, or give None for all."
        )
    return found


def known_names() -> tuple[str, ...]:
    """The names of models that can be asked for."""
    return (*QUICK, *(name for name in NETWORKS if hasattr(generative, name)))


def _suiting(names: Sequence[str], codec: TableCodec | None) -> tuple[str, ...]:
    """The models that can describe a table."""
    unsuited = set(names) - set(known_names())
    if codec is not None and codec.discrete.any():
        unsuited.add(MIXTURE)
    if codec is not None and codec.incomplete.any():
        unsuited |= {MIXTURE, "NormalizingFlow"}
    if codec is not None and codec.discrete.all():
        unsuited.add("NormalizingFlow")
    return tuple(name for name in names if name not in unsuited)


def _made(name: str, seed: int) -> Contender:
    if name == BASELINE:
        return Contender(generative.BayesianNetwork("independent"))
    if name == MIXTURE:
        return Contender(CodedDensity(random_state=seed))
    if name not in known_names():
        said = suggestion(name, list(known_names()), "the models are")
        raise InputError(f"there is no model {name!r}; {said}")
    options: dict[str, Any] = {"n_members": 1} if name in ENSEMBLES else {}
    if name in NETWORKS:
        options["random_state"] = seed
    model = getattr(generative, name)(**options)
    return Contender(model, MAX_STEPS.get(name))


def _prepared(model: Any) -> Contender:
    """A model of tables, unfitted; densities of numbers take the codes of the table."""
    if hasattr(model, "taxonomy"):
        return Contender(clone(model))
    if hasattr(model, "score_samples") and hasattr(model, "fit"):
        return Contender(CodedDensity(model))
    raise InputError(
        f"{type(model).__name__} is no generative model: it needs fit, and log_prob, bound "
        "or sample."
    )
