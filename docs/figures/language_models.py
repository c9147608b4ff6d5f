"""Draw docs/images/language-models.svg: a language model learns a source of known entropy."""

from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np

import likely as lk

N_TOKENS, ORDER = 12, 2


def source(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Tokens that depend on the two before them, and the nats of each."""
    P = rng.dirichlet(np.full(N_TOKENS, 0.1), size=(N_TOKENS,) * ORDER)
    tokens = [0] * ORDER
    for _ in range(n):
        tokens.append(rng.choice(N_TOKENS, p=P[tokens[-2], tokens[-1]]))
    found = np.array(tokens)
    return found[ORDER:], -np.log(P[found[:-2], found[1:-1], found[2:]])


def main() -> None:
    """Train a small network on the source and draw its losses beside the entropy."""
    matplotlib.rcParams["svg.hashsalt"] = "likely"
    tokens, nats = source(40_000, np.random.default_rng(0))
    cut = 36_000
    model = lk.LanguageModel(2, 2, 32, context=16, learning_rate_init=3e-3)
    model.fit(tokens[:cut], X_val=tokens[cut:])
    figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
    loss, looks = model.history_["loss"], model.history_["validation"]
    steps = np.linspace(0, model.n_iter_, len(loss), endpoint=False)
    axes.plot(steps, loss, lw=0.6, color="tab:gray", label="batches")
    every = model.n_iter_ / len(looks)
    axes.plot(every * np.arange(1, len(looks) + 1), looks, "o-", ms=3, label="held out")
    uniform = np.log(N_TOKENS)
    axes.axhline(uniform, color="tab:gray", ls="--", lw=0.8, label="all tokens alike")
    axes.axhline(nats[cut:].mean(), color="tab:red", ls=":", label="the source itself")
    axes.set(xlabel="step", ylabel="nats per token", ylim=(0, 1.1 * uniform))
    axes.legend(frameon=False, ncols=2)
    folder = Path(__file__).parents[1] / "images"
    figure.savefig(folder / "language-models.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
