r"""Facts that a language model knows, and where in the network it keeps them.

A fact is a prompt and its answer, such as "Michael" and "Jordan". It is recalled where every
token of the answer is the most probable one after the prompt and the tokens before it, so that
greedy generation writes it. To see where facts are kept, blocks are taken out: without the
attention of a layer, its MLP, or a single neuron of the MLP, how much less probable are the
answers?

A neuron of an MLP adds its activation times a row of the output weights to a position (Geva et
al., 2021): a key that a fact is found by, and a value that names the answer.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from likely.core.checks import InputError
from likely.diagnostics.attention.ablation import (
    Ablation,
    ablation,
    block_kinds,
    output_maps,
)
from likely.layers.composition.padded import unpack
from likely.text.models.prompting import answered, texts_of_prompts


class Recall(NamedTuple):
    """What a language model knows of some facts."""

    correct: np.ndarray
    """(n,) whether greedy generation would write the answer."""
    log_prob: np.ndarray
    """(n,) log p of each answer after its prompt, in nats."""

    @property
    def accuracy(self) -> float:
        """The part of the answers that are recalled."""
        return float(self.correct.mean())

    @property
    def nats(self) -> float:
        """The mean −log p of an answer."""
        return float(-self.log_prob.mean())

    def __str__(self) -> str:
        count, n = int(self.correct.sum()), len(self.correct)
        return f"{count} of {n} facts recalled, {self.nats:.3f} nats per answer"


class RecallAblation(NamedTuple):
    """What a language model knows without each of its blocks."""

    nats: Ablation
    """The mean −log p of an answer; `plots.ablation` draws it."""
    accuracy: Ablation
    """The part of the answers that are recalled."""

    def __str__(self) -> str:
        pairs = list(zip(self.nats.rows, self.accuracy.rows, strict=True))
        lines = [("whole model", self.nats.whole, self.accuracy.whole)]
        lines += [(row.name, row.value, other.value) for row, other in pairs]
        wide = max(len(name) for name, _, _ in lines)
        head = f"{'':<{wide}}  nats per answer  recalled"
        return "\n".join(
            [
                head,
                *(f"{name:<{wide}}  {nats:15.3f}  {p:8.0%}" for name, nats, p in lines),
            ]
        )


def factual_recall(
    model: Any, prompts: Any, answers: Sequence[str], *, separator: str = " "
) -> Recall:
    """Whether a language model recalls facts, and how probable their answers are to it.

    Args:
        model: a fitted `LanguageModel` of texts; of several members the first one.
        prompts: texts, such as "Michael".
        answers: how each goes on, such as "Jordan".
        separator: what stands between prompt and answer.
    """
    network, facts = _facts(model, prompts, answers, separator)
    log_p, correct = _recalled(network, facts)
    return Recall(np.asarray(correct), np.asarray(log_p, np.float64))


def recall_ablation(
    model: Any,
    prompts: Any,
    answers: Sequence[str],
    *,
    blocks: Sequence[str] = ("attention", "mlp"),
    mean: bool = True,
    separator: str = " ",
) -> RecallAblation:
    """What is recalled without each block of the network.

    Args:
        model: as in `factual_recall`.
        prompts: as in `factual_recall`.
        answers: as in `factual_recall`.
        blocks: which kinds: "attention", "mlp", "head".
        mean: whether a block is replaced by its mean over the prompts and answers; otherwise
            by zero, which the next layer may never have seen.
        separator: what stands between prompt and answer.
    """
    network, facts = _facts(model, prompts, answers, separator)

    def nats(network: Any) -> Any:
        return -_recalled(network, facts)[0].mean()

    def accuracy(network: Any) -> Any:
        return _recalled(network, facts)[1].mean()

    options = {"blocks": blocks, "mean_over": facts.symbols if mean else None}
    found = (ablation(network, metric, **options) for metric in (nats, accuracy))
    return RecallAblation(*found)


def neuron_ablation(
    model: Any, prompts: Any, answers: Sequence[str], *, separator: str = " "
) -> Float[np.ndarray, "l m"]:
    """How many nats an answer costs more without each single neuron of each MLP.

    Args:
        model: as in `factual_recall`.
        prompts: as in `factual_recall`.
        answers: as in `factual_recall`.
        separator: what stands between prompt and answer.
    """
    network, facts = _facts(model, prompts, answers, separator)
    whole = -float(_recalled(network, facts)[0].mean())
    kinds = [kind for _, kind, _ in block_kinds(network)]
    numbers = [i for i, kind in enumerate(kinds) if kind == "mlp"]
    found = [np.asarray(_without_neurons(network, facts, i)) for i in numbers]
    return np.stack(found).astype(np.float64) - whole


class _Facts(NamedTuple):
    """Prompts with their answers as the network reads them."""

    symbols: Int[Array, "n t"]
    targets: Int[Array, "n t"]
    """The token after each position."""
    asked: Bool[Array, "n t"]
    """Whether it is one of the answer."""


def _facts(
    model: Any, prompts: Any, answers: Sequence[str], separator: str
) -> tuple[Any, _Facts]:
    """The network, and the facts that it is asked for."""
    texts = texts_of_prompts(model, prompts)
    answers = [answers] if isinstance(answers, str) else list(answers)
    if len(answers) != len(texts) or not texts:
        raise InputError(
            f"there are {len(texts)} prompts and {len(answers)} answers; give one answer "
            "for each of at least one prompt."
        )
    rows, firsts = [], []
    for i, pair in enumerate(zip(texts, answers, strict=True)):
        (row,), first = answered(model, pair[0], [pair[1]], separator, i)
        if len(row) > model.context_:
            raise InputError(
                f"prompt {i} with its answer has {len(row)} tokens, the context of the "
                f"model {model.context_}; give a shorter one."
            )
        rows.append(row)
        firsts.append(first)
    network, _, X = model.unpack(rows)
    symbols = np.asarray(unpack(X)[0])
    at = np.arange(symbols.shape[1] - 1)
    lengths = np.array([len(row) for row in rows])
    asked = (at >= np.array(firsts)[:, None]) & (at < lengths[:, None])
    # a decoder does not look at what stands behind a position
    facts = (symbols[:, :-1], symbols[:, 1:], asked)
    return network, _Facts(*map(jnp.asarray, facts))


@eqx.filter_jit
def _recalled(
    network: Any, facts: _Facts
) -> tuple[Float[Array, " n"], Bool[Array, " n"]]:
    """log p of each answer, and whether all its tokens are the most probable ones."""
    eta, _ = network(facts.symbols)
    targets = jnp.minimum(facts.targets, eta.shape[-1] - 1)
    log_p = jnp.take_along_axis(jax.nn.log_softmax(eta), targets[..., None], 2)[..., 0]
    best = (eta.argmax(-1) == targets) | ~facts.asked
    return jnp.where(facts.asked, log_p, 0.0).sum(1), best.all(1)


@eqx.filter_jit
def _without_neurons(network: Any, facts: _Facts, number: int) -> Float[Array, " m"]:
    """The nats of an answer without each neuron of the MLP that has this output map."""
    weight = output_maps(network)[number].weight

    def nats(neuron: Any) -> Any:
        changed = eqx.tree_at(
            lambda m: output_maps(m)[number].weight, network, weight.at[neuron].set(0.0)
        )
        return -_recalled(changed, facts)[0].mean()

    return jax.lax.map(nats, jnp.arange(len(weight)))
