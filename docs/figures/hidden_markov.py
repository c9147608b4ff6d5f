"""Draw docs/images/hidden_markov.svg: a sequence, and the probability of its hidden state."""

from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np

import likely as lk

STAY = np.array([[0.95, 0.05], [0.10, 0.90]])


def main() -> None:
    """Learn two states of a temperature, and show one sequence."""
    matplotlib.rcParams["svg.hashsalt"] = "likely"
    rng = np.random.default_rng(0)
    states = np.zeros((30, 120), int)
    for t in range(1, 120):
        states[:, t] = [rng.choice(2, p=STAY[z]) for z in states[:, t - 1]]
    X = rng.normal(np.array([20.0, 25.0])[states], 2.0)
    model = lk.HiddenMarkovModel(2).fit(X)
    warm = int(model.means_[:, 0].argmax())
    figure, (top, below) = plt.subplots(2, 1, figsize=(7, 4), sharex=True)
    top.plot(X[0], ".", color="0.4", markersize=4)
    top.plot(
        model.means_[model.predict(X[:1])[0], 0], color="C1", label="likeliest path"
    )
    top.set_ylabel("observed")
    top.legend(loc="upper right", frameon=False)
    below.fill_between(
        np.arange(120), states[0], step="mid", color="0.85", label="true"
    )
    below.plot(model.predict_proba(X[:1])[0, :, warm], color="C0", label="p(warm)")
    below.set(xlabel="position", ylabel="state", ylim=(0, 1.25), yticks=[0, 1])
    below.legend(loc="upper right", ncols=2, frameon=False)
    figure.tight_layout()
    folder = Path(__file__).parents[1] / "images"
    figure.savefig(folder / "hidden_markov.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
