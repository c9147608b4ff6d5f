"""Models of tokens that begin from others, in every regime of fine-tuning."""

import jax
import numpy as np
import pytest
from registries.text_models import TINY, counting
from sklearn.base import clone

import likely as lk
from likely.core.checks import InputError

NEW = ["aaa", "a" * 6] * 30
"""Texts of another kind than `counting` has read: three letters, or six."""


@pytest.fixture(scope="module")
def first():
    return counting()


@pytest.fixture(scope="module")
def reverse():
    return lk.Seq2Seq(1, 2, 8, max_iter=5).fit(["ab", "ba", "aab"], ["ab", "ba", "baa"])


def tuned(source, X=NEW, **settings):
    usual = {"max_iter": 40, "learning_rate_init": 0.02, "early_stopping": False}
    return type(source).from_pretrained(source, **usual | settings).fit(X)


def named(model):
    """The parameters of a network by their place."""
    (network,) = model._networks
    leaves = jax.tree_util.tree_leaves_with_path(network)
    return {jax.tree_util.keystr(path): np.asarray(a) for path, a in leaves}


def test_a_language_model_is_changed_by_low_rank(first, tmp_path):
    """Few numbers are trained, the body stays but for changes of rank 2, and it is one model."""
    before = first.nll(NEW)
    model = tuned(first, trainable=("low_rank", 2))
    assert model.nll(NEW) < 0.7 * before
    assert first.nll(NEW) == before
    old, new = named(first), named(model)
    assert old.keys() == new.keys()  # merged: a plain network
    layers, count = [k for k in old if ".layers[" in k and k.endswith(".weight")], 0
    for place, a in old.items():
        if place in layers:
            assert np.linalg.matrix_rank(new[place] - a, tol=1e-5) == 2
            count += 2 * sum(a.shape)
        elif place.startswith(".decoder.norm"):
            assert not np.array_equal(a, new[place])
            count += a.size
        else:
            np.testing.assert_array_equal(a, new[place])
    assert len(layers) == 5 * first.n_layers  # three of attention, two of the MLP
    assert model.n_trainable_ == count
    assert model.n_parameters_ == first.n_parameters_ == first.n_trainable_
    model.save(tmp_path / "model.likely")
    other = lk.load(tmp_path / "model.likely")
    np.testing.assert_array_equal(other.log_prob(NEW[:2]), model.log_prob(NEW[:2]))
    assert clone(model).pretrained is first
    assert (model.end_, model.context_) == (first.end_, first.context_)


@pytest.mark.slow
def test_a_model_begins_where_the_other_ended(first):
    """Before the first step it says what the other says."""
    model = tuned(first, max_iter=1, learning_rate_init=1e-12, weight_decay=0.0)
    np.testing.assert_allclose(
        model.log_prob(NEW[:2]), first.log_prob(NEW[:2]), rtol=1e-5
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "trainable",
    ["head", 1, "bias", "adapters", pytest.param(("low_rank", 1), id="low_rank")],
)
@pytest.mark.parametrize("kind", ["language model", "text to text"])
def test_what_is_not_trained_keeps_its_bits(kind, trainable, first, reverse, tmp_path):
    source = first if kind == "language model" else reverse
    if kind == "language model":
        model, X = tuned(source, trainable=trainable, max_iter=3), [NEW[:3]]
        words = model.generate("a", 3, method="greedy"), model.sample(2, random_state=0)
    else:
        X = ["ab", "ba"], ["ba", "ab"]
        model = lk.Seq2Seq.from_pretrained(source, trainable=trainable, max_iter=3)
        model.fit(*X)
        words = model.predict(["ab"]), model.set_params(method="beam").predict(["ab"])
    assert all(words)
    old, new = named(source), named(model)
    new = {k.replace(".layer.", ".", 1): a for k, a in new.items()}  # in an adapter
    moved = {k for k, a in old.items() if not np.array_equal(a, new[k])}
    last = {k for k in old if k.split(".norm")[0] in (".decoder", ".network.decoder")}
    inside = {k for k in old if ".decoder.layers[" in k}
    assert last & moved
    if trainable == "head":
        assert moved <= last
    elif trainable == 1:
        assert moved <= last | inside
        assert moved & inside
    elif trainable == "bias":
        assert all(k.endswith(("bias", "shift")) for k in moved - last)
    elif trainable == "adapters":
        assert moved <= last
        assert model.n_parameters_ > source.n_parameters_
    else:
        assert all(k.endswith("weight") and ".layers[" in k for k in moved - last)
    assert model.n_trainable_ < source.n_parameters_
    model.save(tmp_path / "model.likely")
    again = lk.load(tmp_path / "model.likely")
    np.testing.assert_array_equal(again.log_prob(*X), model.log_prob(*X))


@pytest.mark.slow
def test_several_members_begin_from_one(first):
    model = tuned(first, n_members=2, trainable="bias", max_iter=3)
    assert len(model._networks) == 2
    assert model.history_["loss"].shape[0] == 2


def test_what_does_not_fit_is_refused(first):
    tokens = lk.LanguageModel(**TINY)
    begun = lk.LanguageModel.from_pretrained
    for call, sentence in (
        (lambda: lk.LanguageModel(pretrained=first).fit(NEW), "n_layers is 4"),
        (lambda: begun(lk.Seq2Seq()), "pretrained is a Seq2Seq; give a fitted Lang"),
        (lambda: begun(tokens), "that is not fitted"),
        (lambda: begun(first, tokenizer="bpe").fit(NEW), "tokenizer is 'bpe'"),
        (lambda: begun(first, trainable="some").fit(NEW), "trainable is 'some'"),
        (lambda: begun(first).fit([[9, 9]] * 4), "has the token 9"),
        (lambda: lk.Seq2Seq.from_pretrained(first), "give a fitted Seq2Seq"),
        (
            lambda: lk.MLPClassifier(pretrained=first).fit([[1.0], [2.0]], [0, 1]),
            "fitted network",
        ),
    ):
        with pytest.raises(InputError, match=sentence):
            call()


@pytest.mark.slow
def test_pairs_that_do_not_fit_are_refused(reverse):
    model = lk.Seq2Seq.from_pretrained(reverse)
    with pytest.raises(InputError, match="sources are lists of tokens; this model was"):
        model.fit([["a"]] * 4, [["a"]] * 4)
    with pytest.raises(InputError, match="row 0 of sources has 9 tokens"):
        model.fit(["a" * 9] * 4, ["a"] * 4)
