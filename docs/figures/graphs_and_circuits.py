"""Draw the pictures of energy models, Bayesian networks and circuits.

docs/images/energy-*.svg and .png, bayesian-network-*.svg, circuit.svg. An argument is a
folder with the files of MNIST, which are downloaded otherwise.
"""

import sys
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

import likely as lk
from likely import data, plots
from likely.generative import equivalence_class
from likely.probability import Table

FOLDER = Path(__file__).parents[1] / "images"
YES = ["no", "yes"]


def save(figure: Figure, name: str, kind: str = "svg") -> None:
    matplotlib.rcParams["svg.hashsalt"] = "likely"
    where = FOLDER / f"{name}.{kind}"
    if kind == "png":
        figure.savefig(where, dpi=110)
    else:
        figure.savefig(where, metadata={"Date": None})


def digits() -> np.ndarray:
    """(1797, 64) digits of black and white pixels."""
    return (data.digits().X > 7.5).astype(float)


def asia() -> lk.BayesianNetwork:
    def table(values, *names):
        return Table(values, names, dict.fromkeys(names, YES), given=names[:-1])

    return lk.BayesianNetwork.from_conditionals(
        table([0.99, 0.01], "asia"),
        table([0.5, 0.5], "smoke"),
        table([[0.99, 0.01], [0.95, 0.05]], "asia", "tub"),
        table([[0.99, 0.01], [0.9, 0.1]], "smoke", "lung"),
        table([[0.7, 0.3], [0.4, 0.6]], "smoke", "bronc"),
        table([[[1, 0], [0, 1]], [[0, 1], [0, 1]]], "tub", "lung", "either"),
        table([[0.95, 0.05], [0.02, 0.98]], "either", "xray"),
        table(
            [[[0.9, 0.1], [0.2, 0.8]], [[0.3, 0.7], [0.1, 0.9]]],
            "either",
            "bronc",
            "dysp",
        ),
    )


def boltzmann() -> None:
    """What hidden units look at, and draws."""
    images = data.mnist("test", path=sys.argv[1] if sys.argv[1:] else None).X
    X = (images.reshape(len(images), -1)[:8000] > 127).astype(float)
    model = lk.RestrictedBoltzmannMachine(128).fit(X)
    filters = model.components_[:32]
    grid = plots.component_grid(
        filters, (28, 28), columns=16, title="32 of 128 hidden units"
    )
    save(grid, "energy-filters", "png")
    draws = 1 - model.sample(32, random_state=0, n_gibbs=2000).reshape(-1, 28, 28)
    save(plots.images(draws, columns=16, title="Draws"), "energy-draws", "png")


def hopfield() -> None:
    """Recall of digits from noise, and how much can be stored."""
    X = digits()
    stored = X[[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]]
    rng = np.random.default_rng(0)
    noisy = np.where(rng.random(stored.shape) < 0.15, 1 - stored, stored)
    network = lk.HopfieldNetwork("exponential").fit(stored)
    drawn = plots.hopfield_recall(
        stored,
        noisy,
        network.recall(noisy).states,
        (8, 8),
        title="15 % of the pixels turned",
    )
    save(drawn, "energy-recall", "png")
    loads = (0.04, 0.08, 0.11, 0.13, 0.15, 0.18, 0.22, 0.3)
    rules = ("hebbian", "storkey", "pseudo_inverse")
    studies = {
        rule: lk.hopfield_capacity(400, loads, rule=rule, n_networks=4)
        for rule in rules
    }
    save(
        plots.memory_capacity(studies, title="400 units, 10 % turned"),
        "energy-capacity",
    )


def networks() -> None:
    """A known network, and the class that is learned from its rows."""
    truth = asia()
    graph = truth.graph_
    save(plots.directed_graph(graph.names, graph.edges), "bayesian-network")
    rows = pd.DataFrame(truth.sample(100_000, random_state=0))
    found = lk.BayesianNetwork().fit(rows).graph_
    loose = equivalence_class(found).undirected
    drawn = plots.directed_graph(found.names, found.edges, undirected=loose)
    save(drawn, "bayesian-network-learned")


def circuits() -> None:
    """The circuit of iris flowers."""
    iris = data.iris()
    frame = pd.DataFrame(
        iris.X, columns=["sepal length", "sepal width", "petal length", "petal width"]
    )
    frame["species"] = np.array(["setosa", "versicolor", "virginica"])[iris.y]
    model = lk.SumProductNetwork(min_rows=25).fit(frame)
    save(plots.circuit(model), "circuit")


if __name__ == "__main__":
    boltzmann()
    hopfield()
    networks()
    circuits()
