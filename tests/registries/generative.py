"""Every public model that makes new rows, at its cheapest honest settings: one entry each."""

from registries.entry import SPARSE_WEIGHTS, WEIGHTS, Entry

import likely as lk

AUTOENCODERS: dict[str, Entry] = {
    "autoencoder": Entry(
        lambda: lk.Autoencoder(2, (3,), max_iter=20),
        "columns",
        slow="autoencoder features are trained the same way",
        fails=dict.fromkeys(
            (WEIGHTS, SPARSE_WEIGHTS), "it is trained in float32: equal up to rounding"
        ),
    ),
    "variational autoencoder": Entry(
        lambda: lk.VAE(2, (3,), max_iter=20),
        "density",
        slow="every fit and every bound is a program of its own",
        fails=dict.fromkeys(
            (WEIGHTS, SPARSE_WEIGHTS), "repeated rows have noise of their own"
        ),
    ),
}
ENERGIES: dict[str, Entry] = {
    "Boltzmann machine": Entry(
        lambda: lk.RestrictedBoltzmannMachine(2, alpha=1.0, max_iter=50),
        "density",
        slow="its likelihood is compiled for each number of columns",
    ),
    "Hopfield network": Entry(lk.HopfieldNetwork, "columns"),
}
GRAPHS: dict[str, Entry] = {
    "Bayesian network": Entry(lambda: lk.BayesianNetwork(n_restarts=1), "density"),
    "sum-product network": Entry(lambda: lk.SumProductNetwork(max_iter=5), "density"),
}
STEPS = {"hidden": 8, "max_iter": 5, "early_stopping": False, "n_members": 1}
NOISE = dict.fromkeys(
    (WEIGHTS, SPARSE_WEIGHTS), "repeated rows have noise and orders of their own"
)
LIKELIHOODS: dict[str, Entry] = {
    "normalizing flow": Entry(
        lambda: lk.NormalizingFlow(n_layers=1, n_bins=4, **STEPS),
        "density",
        slow="its programs are compiled for each number of columns",
        fails=NOISE,
    ),
    "autoregressive density": Entry(
        lambda: lk.AutoregressiveDensity(**STEPS),
        "density",
        slow="its programs are compiled for each number of columns",
        fails=NOISE,
    ),
}
DRAWN: dict[str, Entry] = {
    "diffusion model": Entry(
        lambda: lk.Diffusion(
            n_steps=20, hidden=(8,), max_iter=5, early_stopping=False, n_members=1
        ),
        "density",
        slow="its programs are compiled for each number of columns",
    ),
    "adversarial network": Entry(
        lambda: lk.GAN(hidden_layer_sizes=(8,), max_iter=5, early_stopping=False),
        "density",
        slow="its programs are compiled for each number of columns",
    ),
}
GENERATIVE = LIKELIHOODS | AUTOENCODERS | ENERGIES | GRAPHS | DRAWN
