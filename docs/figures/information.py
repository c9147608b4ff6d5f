"""Draw docs/images/kl-projections.svg, fitted-counts.svg and huffman-tree.svg."""

from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from likely import information, plots
from likely.families import Geometric, Mixture, Normal, Poisson, Predictive

LAST_COUNT = 7
LETTERS = {"e": 0.35, "t": 0.2, "a": 0.15, "o": 0.12, "n": 0.1, "q": 0.05, "z": 0.03}


def save(figure: Figure, name: str) -> None:
    folder = Path(__file__).parents[1] / "images"
    figure.savefig(folder / f"{name}.svg", metadata={"Date": None})


def projections() -> None:
    """A mixture of two normals and the Gaussians nearest to it in both directions."""
    eta = np.array([[0.2, -0.2, -2.0, np.log(0.6), 2.2, np.log(0.8)]])
    p = Predictive(Mixture(Normal(), 2), eta)
    save(plots.kl_projections(information.kl_projections(p)), "kl-projections")


def counts() -> None:
    """The geometric law of a fair coin and the Poisson law of lowest cross-entropy."""
    p = Predictive(Geometric(), np.zeros((1, 1)))
    found = information.cross_entropy_fit(p, Poisson())
    k = np.arange(LAST_COUNT + 1.0)
    rows = np.zeros(len(k), int)
    figure = plots.fitted_counts(
        np.exp(p[rows].log_prob(k)),
        np.exp(found.q[rows].log_prob(k)),
        names=("geometric, p = 1/2", f"Poisson, λ = {found.theta['rate']:.3g}"),
        title=f"KL(p, q) = {found.kl:.4f} nats",
    )
    save(figure, "fitted-counts")


def tree() -> None:
    """Huffman's code of seven letters."""
    code = information.huffman_code(LETTERS)
    bits = information.entropy(LETTERS, unit="bits")
    title = f"{code.expected_length(LETTERS):.3f} bits a letter, entropy {bits:.3f}"
    save(plots.huffman_tree(code, LETTERS, title=title), "huffman-tree")


def main() -> None:
    """Draw all three."""
    matplotlib.rcParams["svg.hashsalt"] = "likely"
    projections()
    counts()
    tree()


if __name__ == "__main__":
    main()
