r"""Expectation-maximisation, one step after the other, with the bound that each step raises.

For any distribution q over the hidden z of each row,

$$\operatorname{E}_q[\log p(x, z; θ)] + H(q)
  = \log p(x; θ) - \operatorname{KL}(q \,\|\, p(z \mid x, θ)),$$

a lower bound of the log-likelihood. The E-step sets $q = p(z \mid x, θ)$, which closes the gap; the
M-step maximises the bound over θ for this q, which raises the likelihood by at least as much.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp, xlogy

from likely.core.checks import InputError, check_weights

SLACK = 1e-9
"""By which share of itself rounding may lower the log-likelihood in a step."""


class EvidenceBound(NamedTuple):
    """The parts of the bound, summed over rows, in nats.

    Attributes:
        expected: E_q[log p(x, z)].
        entropy: H(q).
        log_prob: log p(x), which the bound is below.
        divergence: KL(q, p(z | x)), the gap between them.
    """

    expected: float
    entropy: float
    log_prob: float
    divergence: float

    @property
    def value(self) -> float:
        """E_q[log p(x, z)] + H(q)."""
        return self.expected + self.entropy


class EMStep(NamedTuple):
    """One step: θ before it, the responsibilities q, and the bound after either half."""

    theta: Any
    q: np.ndarray
    after_e: EvidenceBound
    after_m: EvidenceBound


class EMPath(NamedTuple):
    """All steps, and where they end.

    Attributes:
        theta: the parameters at the end.
        steps: of type `EMStep`.
        log_probs: (t + 1,) Σ w log p(x; θ) before each step and at the end.
        converged: whether the last step changed it by less than the tolerance.
    """

    theta: Any
    steps: list[EMStep]
    log_probs: np.ndarray
    converged: bool


def evidence_bound(log_joint: Any, q: Any, sample_weight: Any = None) -> EvidenceBound:
    """The parts of the lower bound of the log-likelihood.

    Args:
        log_joint: (n, k) log p(x, z) of each row and each value of z.
        q: (n, k) a distribution over z for each row.
        sample_weight: how often each row counts.
    """
    log_joint, q = np.asarray(log_joint, np.float64), np.asarray(q, np.float64)
    w = check_weights(sample_weight, len(q))
    here = w > 0
    log_joint, q, w = log_joint[here], q[here], w[here]
    expected = w @ (q * np.where(q > 0, log_joint, 0.0)).sum(1)
    entropy = -(w @ xlogy(q, q).sum(1))
    log_prob = w @ logsumexp(log_joint, axis=1)
    return EvidenceBound(
        float(expected),
        float(entropy),
        float(log_prob),
        max(0.0, float(log_prob - expected - entropy)),
    )


def em(
    log_joint: Callable[[Any], np.ndarray],
    maximize: Callable[[np.ndarray], Any],
    theta: Any,
    *,
    sample_weight: Any = None,
    tol: float = 1e-6,
    max_iter: int = 100,
) -> EMPath:
    """EM for any model with a hidden variable of k values.

    Args:
        log_joint: θ to (n, k), log p(x, z; θ) of each row and each value of z.
        maximize: (n, k) responsibilities q to the θ with the largest
            Σ w E_q[log p(x, z; θ)]; a θ that raises it is enough.
        theta: the parameters to start from.
        sample_weight: how often each row counts; `maximize` has to know it too.
        tol: it ends when the mean log-likelihood of a row rises by less, in nats.
        max_iter: the largest number of steps.
    """
    joint = np.asarray(log_joint(theta), np.float64)
    w = check_weights(sample_weight, len(joint))
    here = w > 0
    steps, converged = [], False
    values = [float(w[here] @ logsumexp(joint[here], axis=1))]
    while len(steps) < max_iter and not converged:
        q = np.exp(joint - np.asarray(logsumexp(joint, axis=1, keepdims=True)))
        new = maximize(q)
        moved = np.asarray(log_joint(new), np.float64)
        bounds = (evidence_bound(j, q, w) for j in (joint, moved))
        steps.append(EMStep(theta, q, *bounds))
        theta, joint = new, moved
        values.append(steps[-1].after_m.log_prob)
        if not values[-1] >= values[-2] - SLACK * (1 + abs(values[-2])):
            raise InputError(
                f"the log-likelihood fell from {values[-2]:.6g} to {values[-1]:.6g} in step "
                f"{len(steps)}, which EM cannot do; maximize(q) has to return the θ of "
                "largest Σ w E_q[log p(x, z; θ)]."
            )
        converged = values[-1] - values[-2] <= tol * w.sum()
    return EMPath(theta, steps, np.array(values), bool(converged))
