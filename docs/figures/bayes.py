"""Draw the pictures of docs/bayes.md, docs/variational.md and docs/evidence.md."""

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from scipy.special import expit

import likely as lk
from likely import plots
from likely.inference import NormalLinearModel, mean_field_normal
from likely.plots.style import COLOURS, INK, figure, series
from likely.selection import sample_posterior

FOLDER = Path(__file__).parents[1] / "images"
SAMPLE = np.array([-0.6, -0.2, 0.1, 0.4, 2.2, 2.9, 3.1])
"""Observations of the mixture whose bounds are drawn."""


def save(drawn: Figure, name: str) -> None:
    """Write a picture."""
    drawn.savefig(FOLDER / f"{name}.svg", metadata={"Date": None}, dpi=72)


def posterior() -> None:
    """Traces and ranks of the chains of a logistic regression, one of them moved."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) * [1, 1000] + [0, 5000]
    y = rng.random(60) < expit(X[:, 0] + (X[:, 1] - 5000) / 1000)
    found = sample_posterior(lk.LogisticRegression(alpha=1.0), X, y, random_state=0)
    save(found.plot("trace", title="Draws of four chains"), "bayes_traces")
    save(found.plot("rank"), "bayes_ranks")


def normals() -> None:
    """A correlated normal, and the nearest one without correlation."""
    C = np.array([[1.0, 0.8], [0.8, 1.0]])
    found = mean_field_normal([0.0, 0.0], np.linalg.inv(C))
    drawn, (ax,) = figure(5.0, 4.6, "Mean field is too narrow")
    angle = np.linspace(0, 2 * np.pi, 200)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    shapes: dict[str, Any] = {
        "target, and full rank": np.linalg.cholesky(C),
        "mean field": np.diag(np.sqrt(found.variance)),
    }
    for j, (name, root) in enumerate(shapes.items()):
        for k in (1, 2):
            label = name if k == 1 else None
            ax.plot(*(k * root @ circle), color=COLOURS[j], lw=3 - k, label=label)
    ax.set(xlabel="$z_1$", ylabel="$z_2$", aspect="equal")
    ax.legend(frameon=False, fontsize="small", loc="upper left")
    save(drawn, "variational_normals")


def bounds() -> tuple[np.ndarray, np.ndarray, np.ndarray, list[float]]:
    """The log-likelihood of ½N(0, 1) + ½N(θ, 1) in θ, and ELBO(q, θ) of two E steps.

    Returns θ, the log-likelihood, the bounds, and where they touch.
    """
    theta = np.linspace(-0.5, 4.5, 201)
    x, touch, curves = SAMPLE[:, None], [0.8], []

    def joint(at: Any) -> tuple[np.ndarray, np.ndarray]:
        constant = 0.5 * np.log(2 * np.pi) + np.log(2)
        at = np.broadcast_to(at, np.shape(at))
        return -0.5 * x**2 - constant, -0.5 * (x - at) ** 2 - constant

    curve = np.logaddexp(*joint(theta)).sum(0)
    for _ in range(2):
        zero, one = joint(np.array([touch[-1]]))
        q = expit(one - zero)
        entropy = -(q * np.log(q) + (1 - q) * np.log1p(-q)).sum()
        zero, one = joint(theta)
        curves.append(((1 - q) * zero + q * one).sum(0) + entropy)
        touch.append(float((q * x).sum() / q.sum()))
    return theta, curve, np.array(curves), touch[:2]


def degrees() -> None:
    """The evidence and the highest likelihood of polynomials of rising degree."""
    rng = np.random.default_rng(1)
    x = np.linspace(-1, 1, 40)
    y = 1 - 2 * x + 3 * x**3 + 0.5 * rng.normal(size=40)
    evidence, fitted = [], []
    for degree in range(9):
        A = np.polynomial.legendre.legvander(x, degree)
        model = NormalLinearModel(
            np.zeros(degree + 1), 0.1 * np.eye(degree + 1), scale=0.5
        )
        evidence.append(model.log_evidence((A, y)))
        r = y - A @ np.linalg.lstsq(A, y, rcond=None)[0]
        fitted.append(-0.5 * r @ r / 0.25 - 20 * np.log(2 * np.pi * 0.25))
    drawn, (ax,) = figure(6.0, 3.6, "Evidence has a maximum, likelihood has not")
    for j, (name, values) in enumerate(
        {"highest log-likelihood": fitted, "log evidence": evidence}.items()
    ):
        ax.plot(values, label=name, lw=1.6, mec="white", **series(j))
    ax.axvline(int(np.argmax(evidence)), color=INK, lw=0.8, ls="dotted")
    ax.set(xlabel="degree of the polynomial (the data have 3)", ylabel="nats")
    ax.legend(frameon=False, fontsize="small", loc="lower right")
    save(drawn, "evidence_degrees")


def main() -> None:
    """Draw all pictures."""
    matplotlib.rcParams["svg.hashsalt"] = "likely"
    posterior()
    normals()
    save(plots.elbo_curves(*bounds()), "variational_elbo")
    degrees()


if __name__ == "__main__":
    main()
