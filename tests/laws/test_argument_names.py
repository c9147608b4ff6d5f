"""Arguments of estimators are called what scikit-learn calls them."""

import inspect

import pytest
from sklearn.base import BaseEstimator

import likely

SCIKIT_LEARN = {
    "sample_weight": ("w", "weight", "weights", "row_weights"),
    "tol": ("tolerance", "eps", "atol", "rtol"),
    "max_iter": (
        "iterations", "n_iter", "n_iterations", "epochs", "n_epochs", "max_epochs",
        "steps", "n_steps", "max_steps", "sweeps", "n_sweeps", "max_sweeps",
    ),
    "learning_rate_init": ("rate", "lr", "step_size"),
    "cv": ("folds", "n_folds", "n_splits"),
    "random_state": ("seed", "key", "rng"),
    "n_jobs": ("threads", "n_threads", "workers"),
    "n_estimators": ("n_trees", "trees", "rounds", "n_rounds"),
    "alpha": ("lam", "l2", "reg", "regularization", "weight_decay"),
}  # fmt: skip
"""scikit-learn's name of an argument, and names that others have for it."""
REASONS = {
    ("Diffusion", "n_steps"): "the number of levels of noise, a part of the model",
    ("DirichletProcessMixture", "n_sweeps"): "sweeps of a sampler, all of them made",
    (
        "Ensemble",
        "weights",
    ): "of the members, as scikit-learn's VotingRegressor has them",
    ("HopfieldNetwork", "max_sweeps"): "of a recall: the fit does not iterate",
    ("IndianBuffetModel", "n_sweeps"): "sweeps of a sampler, all of them made",
    ("KNeighborsClassifier", "weights"): "of neighbours, as scikit-learn has them",
    ("KNeighborsRegressor", "weights"): "of neighbours, as scikit-learn has them",
    ("LanguageModel", "weight_decay"): "AdamW's, which is no penalty of the likelihood",
    ("LocallyLinearEmbedding", "reg"): "scikit-learn's own name",
    ("MaskedLanguageModel", "weight_decay"): "AdamW's, as of LanguageModel",
    (
        "OptunaSearch",
        "n_iter",
    ): "scikit-learn's RandomizedSearchCV has it: the settings",
    (
        "RandomSearch",
        "n_iter",
    ): "scikit-learn's RandomizedSearchCV has it: the settings",
    ("RestrictedBoltzmannMachine", "n_steps"): "Gibbs steps of one gradient",
    ("Seq2Seq", "weight_decay"): "AdamW's, as of LanguageModel",
    ("UMAP", "n_epochs"): "umap-learn's name",
    ("WordVectors", "epochs"): "gensim's name",
}
"""Arguments that keep another name, and why."""
METHODS = ("fit", "partial_fit", "score", "nll")
OTHER_NAMES = {other: ours for ours, others in SCIKIT_LEARN.items() for other in others}
ROOMS = (
    "estimators", "generative", "latent", "preprocess", "selection", "text", "vision",
)  # fmt: skip


def public_estimators() -> dict[str, type]:
    rooms = [getattr(likely, room) for room in ROOMS]
    found = {name: getattr(room, name) for room in rooms for name in room.__all__}
    return {
        name: cls
        for name, cls in found.items()
        if inspect.isclass(cls) and issubclass(cls, BaseEstimator)
    }


def arguments(cls: type) -> set[str]:
    """The arguments of the constructor and of what takes rows with weights."""
    found = set(inspect.signature(cls).parameters)
    for name in METHODS:
        if (method := getattr(cls, name, None)) is not None:
            found |= set(inspect.signature(method).parameters)
    return found


@pytest.mark.parametrize("name", public_estimators())
def test_arguments_have_the_names_of_scikit_learn(name):
    odd = {
        f"{argument}: call it {OTHER_NAMES[argument]}"
        for argument in arguments(public_estimators()[name]) & OTHER_NAMES.keys()
        if (name, argument) not in REASONS
    }
    assert not odd, name


def test_every_reason_is_needed():
    classes = public_estimators()
    assert {(n, a) for n, a in REASONS if a not in arguments(classes[n])} == set()
