r"""The families a network of numbers can have, by name.

| name | p(y given x) | by the network | shared by all rows |
|---|---|---|---|
| normal | N(μ, σ²) | μ | σ |
| heteroscedastic | N(μ, σ²) | μ, σ | |
| student_t | t(ν, μ, s) | μ | s, ν |
| poisson | Poisson(μ) | μ | |
| negative_binomial | counts, variance μ + μ²/r | μ | r |
| gamma | above zero, variance μ²/a | μ | a |
| mixture | Σ π N(μ, σ²), three parts | all π, μ, σ | |
"""

from collections.abc import Callable
from typing import Any

from likely.core.checks import InputError
from likely.families import (
    AbstractFamily,
    Gamma,
    Mixture,
    NegativeBinomial,
    Normal,
    Poisson,
    Product,
    StudentT,
)

FAMILIES: dict[str, tuple[Callable[[], AbstractFamily], int]] = {
    "normal": (Normal, 1),
    "heteroscedastic": (Normal, 0),
    "student_t": (StudentT, 2),
    "poisson": (Poisson, 0),
    "negative_binomial": (NegativeBinomial, 1),
    "gamma": (Gamma, 1),
    "mixture": (lambda: Mixture(Normal(), 3), 0),
}
"""How each is made, and how many entries of η all rows share."""


def family_of(given: Any, outputs: int | None = None) -> tuple[AbstractFamily, int]:
    """A family and how many entries of each output's η all rows share.

    Args:
        given: a name, or a family, of which the network computes every entry of η.
        outputs: the number of columns of y, None where it has no columns.
    """
    if isinstance(given, AbstractFamily):
        family, shared = given, 0
    elif isinstance(given, str) and given in FAMILIES:
        make, shared = FAMILIES[given]
        family = make()
    else:
        raise InputError(
            f"family is {given!r}; give one of {', '.join(FAMILIES)}, or a family of "
            "`likely.families`."
        )
    if outputs is None or family.multivariate:
        return family, shared
    return Product(*[family] * outputs), shared
