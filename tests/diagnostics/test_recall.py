"""Facts in a language model: against greedy generation, and networks with zeros in them."""

import equinox as eqx
import numpy as np
import pytest
from registries.text_models import counting

import likely as lk
from likely import data, diagnostics
from likely.core.checks import InputError
from likely.text.models.prompting import answer_log_probs

PROMPTS, ANSWERS = ["a", "aa", ""], ["aa", "aaaa", "a"]
PLAIN = {"separator": ""}


@pytest.fixture(scope="module")
def model():
    return counting()


def test_a_fact_is_recalled_where_generation_writes_it(model):
    found = diagnostics.factual_recall(model, PROMPTS, ANSWERS, **PLAIN)
    for i, (prompt, answer) in enumerate(zip(PROMPTS, ANSWERS, strict=True)):
        written = model.generate(prompt, len(answer), method="greedy")
        assert found.correct[i] == (written == answer)
        expected = answer_log_probs(model, prompt, [answer], **PLAIN)
        assert found.log_prob[i] == pytest.approx(expected[0, 0], abs=1e-5)
    assert found.accuracy == found.correct.mean()
    assert str(found).startswith(f"{found.correct.sum()} of 3 facts recalled")


def without(model, change):
    """The model with another first layer."""
    changed = eqx.tree_at(
        lambda m: m.decoder.layers[0].mlp.layers[-1],
        model.phi_.solution.model,
        replace_fn=change,
    )
    other = _copy(model)
    other.phi_ = eqx.tree_at(lambda phi: phi.solution.model, model.phi_, changed)
    return other


def _copy(model):
    other = object.__new__(type(model))
    vars(other).update(vars(model))
    return other


def test_ablations_are_those_of_networks_with_zeros(model):
    found = diagnostics.recall_ablation(model, PROMPTS, ANSWERS, mean=False, **PLAIN)
    assert [row.name for row in found.nats.rows] == ["layer 0 attention", "layer 0 mlp"]
    zero = without(
        model,
        lambda out: eqx.tree_at(
            lambda d: (d.weight, d.bias), out, (0 * out.weight, 0 * out.bias)
        ),
    )
    expected = diagnostics.factual_recall(zero, PROMPTS, ANSWERS, **PLAIN)
    assert found.nats.rows[1].value == pytest.approx(expected.nats, abs=1e-5)
    assert found.accuracy.rows[1].value == pytest.approx(expected.accuracy, abs=1e-6)
    assert "nats per answer  recalled" in str(found)
    rise = diagnostics.neuron_ablation(model, PROMPTS, ANSWERS, **PLAIN)
    assert rise.shape == (1, 64)
    j = int(np.argmax(np.abs(rise)))
    weight = np.array(model.phi_.solution.model.decoder.layers[0].mlp.layers[-1].weight)
    weight[j] = 0
    dead = without(model, lambda out: eqx.tree_at(lambda d: d.weight, out, weight))
    expected = diagnostics.factual_recall(dead, PROMPTS, ANSWERS, **PLAIN).nats
    whole = diagnostics.factual_recall(model, PROMPTS, ANSWERS, **PLAIN).nats
    assert rise[0, j] == pytest.approx(expected - whole, abs=1e-5)


def test_what_is_no_fact_is_refused(model):
    for prompts, answers, sentence in (
        (["a"], ["a", "aa"], "1 prompts and 2 answers"),
        ("a", ["b"], "has 'b' at character 1"),
        ("a", [""], "the answer '' has no token"),
        ("a" * 6, ["a"], "prompt 0 with its answer has 7 tokens, the context"),
        ([[1]], ["a"], "give texts as prompts"),
    ):
        with pytest.raises(InputError, match=sentence):
            diagnostics.factual_recall(model, prompts, answers, **PLAIN)


@pytest.mark.slow
def test_names_are_kept_in_the_mlp():
    """The last name follows the first: attention has nothing to fetch for it."""
    corpus = data.templates(2000, n_people=40, random_state=0)
    model = lk.LanguageModel(
        1, 2, 32, tokenizer="words", max_iter=1500, learning_rate_init=5e-3
    ).fit(corpus.texts)
    names = [fact for fact in corpus.facts if fact.relation == "surname"]
    asked = [f.prompt for f in names], [f.answer for f in names]
    assert diagnostics.factual_recall(model, *asked).accuracy > 0.95
    found = diagnostics.recall_ablation(model, *asked)
    attention, mlp = found.nats.rows
    print(found)
    assert mlp.rise > attention.rise
    assert diagnostics.neuron_ablation(model, *asked).max() < mlp.rise
