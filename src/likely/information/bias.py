r"""How far estimates from neighbours are off, measured where the truth is known."""

from typing import NamedTuple

import numpy as np

from likely.core.checks import InputError
from likely.information.gaussian import gaussian_entropy
from likely.information.nearest import sample_entropy, sample_mutual_information

KINDS = ("information", "entropy")


class BiasCheck(NamedTuple):
    """The result of `bias_check`, in nats.

    Attributes:
        truth: the known value.
        bias: the mean estimate less the truth.
        error: the standard error of the bias.
        spread: the standard deviation of single estimates.
    """

    truth: float
    bias: float
    error: float
    spread: float

    def __str__(self) -> str:
        return (
            f"truth {self.truth:.4f}, bias {self.bias:+.4f} ± {self.error:.4f}, spread "
            f"{self.spread:.4f} nats"
        )


def bias_check(
    n: int,
    truth: float = 0.0,
    *,
    kind: str = "information",
    d: int = 1,
    k: int = 3,
    repeats: int = 50,
    random_state: int = 0,
) -> BiasCheck:
    r"""The bias and the spread of a neighbour estimate on Gaussian samples of a known value.

    For "information", pairs of numbers have the correlation $ρ = \sqrt{1 - e^{-2I}}$, whose
    information is the truth I; give the estimate that was found, and the size of its sample. With
    d > 1 the other d − 1 columns of x are noise. For "entropy", rows are d standard normals.

    Args:
        n: the number of rows of each sample.
        truth: the information I, in nats; entropies have their own.
        kind: "information" or "entropy".
        d: the number of columns of x.
        k: the number of neighbours.
        repeats: how many samples are drawn.
        random_state: the seed.
    """
    if kind not in KINDS or truth < 0 or repeats < 2:
        raise InputError(
            f"kind is {kind!r}, truth {truth} and repeats {repeats}; kind is one of {KINDS}, "
            "truth at least 0 and repeats at least 2."
        )
    rng = np.random.default_rng(random_state)
    rho = float(np.sqrt(-np.expm1(-2 * truth)))
    found = np.empty(repeats)
    for i in range(repeats):
        X = rng.standard_normal((n, d))
        if kind == "entropy":
            found[i] = sample_entropy(X, k=k).value
        else:
            y = rho * X[:, 0] + np.sqrt(1 - rho**2) * rng.standard_normal(n)
            found[i] = sample_mutual_information(X, y, k=k).value
    known = gaussian_entropy(np.eye(d)) if kind == "entropy" else float(truth)
    spread = float(found.std(ddof=1))
    return BiasCheck(known, float(found.mean()) - known, spread / repeats**0.5, spread)
