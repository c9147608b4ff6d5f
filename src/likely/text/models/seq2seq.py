r"""Text to text: $p(y \mid x) = \prod_t p(y_t \mid y_{<t}, x)$, by an encoder and a decoder."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, ClassVar, no_type_check

import jax
import numpy as np
from jax.sharding import Mesh
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from likely.base.settings import at_least, one_of, store
from likely.base.training.members import Network
from likely.base.training.options import is_auto
from likely.base.training.regimes import Regime
from likely.base.training.trainer import Observers, Trainer, publish
from likely.core.checks import InputError
from likely.core.random import key_of
from likely.evaluate.assignment import early_stopping_split
from likely.files import save
from likely.objectives.next_token import NextTokenLikelihood
from likely.solvers.training import Callback, Checkpoints
from likely.text.models.decoding import Writer, log_probs
from likely.text.models.learner import TokenLearner
from likely.text.models.pairs import (
    ABSENT,
    GivenPairs,
    Pairs,
    check_kind,
    encoded,
    lexicon_of,
    rows_of,
)
from likely.text.models.random_pairs import RandomPairs
from likely.text.models.settings import (
    MAX_LOOK_STEPS,
    MAX_LOOK_TOKENS,
    MIN_LOOK_STEPS,
    options_of,
    solver_of,
    whole,
)
from likely.text.models.transfer import TokenNetwork
from likely.text.models.translation import TranslationArchitecture, Translators
from likely.typing import Batch

MAX_BATCH_PAIRS = 64
"""Pairs of a step where nothing is said."""


class Seq2Seq(TokenNetwork, BaseEstimator):
    r"""$p(y \mid x) = \prod_t p(y_t \mid y_{<t}, x)$ of a text y for a text x, by a transformer.

    An encoder reads the source; a decoder writes the target, token after token, and looks at
    the source and at what is written so far. In training it reads the tokens of the target
    itself (teacher forcing). Sources and targets are texts, or lists of tokens (text or whole
    numbers); predictions are what the targets are.

    By default a tenth of the pairs is held out; the training stops when their loss has not
    fallen for `n_iter_no_change` looks, and the best weights are kept.

    Args:
        n_layers: the number of layers of the encoder, and of the decoder.
        n_heads: the number of heads of attention.
        size: the numbers in the state of a position, a multiple of the heads.
        tokenizer: of the sources: "characters", "words", "bytes", "bpe", or a tokenizer of
            `likely.text`; not used for lists of tokens.
        target_tokenizer: of the targets; None for one of the same kind as `tokenizer`.
        context: the most tokens of a source or a target; None: the longest in training.
        positions: "learned", "sinusoidal", "rotary" or "relative", as in
            `models.Transformer`.
        dropout: the probability to drop a value of the embedding and of what layers add.
        precision: what the network computes in while it is trained: "float32", or "bfloat16"
            with parameters in float32, which is faster on GPUs.
        method: how targets are written: "greedy" (always the most probable token) or "beam"
            (a search for the best target).
        n_beams: how many targets the search keeps at each step.
        length_penalty: the best target has the largest log p / length^length_penalty; with 0
            the most probable one counts, which is often too short.
        max_length: the most tokens of a prediction; None: the longest target in training.
        max_iter: the number of steps, at most.
        batch_size: pairs in a step; "auto" is 64, or fewer where there are fewer.
        learning_rate_init: the largest learning rate of AdamW.
        learning_rate: "cosine" (down to a tenth of the largest at the last step), "constant",
            or a schedule of `likely.solvers`.
        warm_up: steps in which the rate rises to the largest; "auto" is a twentieth of all.
        weight_decay: of AdamW, on matrices only: not on biases and norms.
        clip_norm: the longest gradient, or None.
        accumulate: parts in which the gradient of a step is computed, to save memory.
        early_stopping: whether to hold out a part of the pairs where no `X_val` is given.
        validation_fraction: the part that is held out.
        n_iter_no_change: looks at the held-out loss without a lower one after which the
            training stops. There is a look each 50 steps, or 5 to 50 for as few pairs.
        n_members: networks, of which the mean of the probabilities counts.
        pretrained: a fitted `Seq2Seq` whose weights, tokens and context it begins from;
            `from_pretrained` copies its architecture.
        trainable: what is trained: "all"; "head", the last norm; a number of layers before it
            too; "bias"; "adapters" or "low_rank" (changes W + AB of the matrices of layers, merged
            at the end); ("adapters", 8), ("low_rank", 8) or `layers.LowRank`.
        random_state: the seed of the initial weights, the order of pairs and the dropout.
        verbose: whether to show a progress bar, with tokens per second and the time left.

    Attributes:
        tokenizer_, target_tokenizer_: the tokenizers.
        context_: the most symbols of a source or a target, its end included.
        max_length_: the most tokens of a prediction.
        n_parameters_: the number of parameters of a network.
        n_trainable_: the number of those that were trained.
        history_: loss, rate and validation loss (nats per token) along the training.
        loss_: the last loss in training.
        n_iter_: the number of steps.
        status_: why the training ended.
        phi_: the trained networks.
    """

    n_layers: Any
    n_heads: Any
    size: Any
    tokenizer: Any
    target_tokenizer: Any
    context: Any
    positions: Any
    dropout: Any
    precision: Any
    method: Any
    n_beams: Any
    length_penalty: Any
    max_length: Any
    max_iter: Any
    batch_size: Any
    learning_rate_init: Any
    learning_rate: Any
    warm_up: Any
    weight_decay: Any
    clip_norm: Any
    accumulate: Any
    early_stopping: Any
    validation_fraction: Any
    n_iter_no_change: Any
    n_members: Any
    pretrained: Any
    trainable: Any
    random_state: Any
    verbose: Any
    tokenizer_: Any
    target_tokenizer_: Any
    phi_: Network
    history_: dict[str, np.ndarray]
    status_: str
    _architecture: ClassVar[tuple[str, ...]] = (
        "n_layers", "n_heads", "size", "tokenizer", "target_tokenizer", "context", "positions"
    )  # fmt: skip

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        n_layers=2,
        n_heads=4,
        size=128,
        *,
        tokenizer: Any = "characters",
        target_tokenizer: Any = None,
        context: Any = None,
        positions="learned",
        dropout: Any = 0.0,
        precision="float32",
        method="greedy",
        n_beams=4,
        length_penalty: Any = 1.0,
        max_length: Any = None,
        max_iter=2000,
        batch_size: Any = "auto",
        learning_rate_init: Any = 1e-3,
        learning_rate: Any = "cosine",
        warm_up: Any = "auto",
        weight_decay: Any = 0.1,
        clip_norm: Any = 1.0,
        accumulate=1,
        early_stopping: Any = True,
        validation_fraction: Any = 0.1,
        n_iter_no_change=10,
        n_members: Any = 1,
        pretrained: Any = None,
        trainable: Any = "all",
        random_state: Any = 0,
        verbose: Any = False,
    ):
        store(self, locals())

    # Fitting ---------------------------------------------------------------------------

    def fit(
        self,
        sources: Any,
        targets: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        callbacks: Callback | Sequence[Callback] = (),
        checkpoints: Checkpoints | str | PathLike | None = None,
        resume: bool = False,
        mesh: Mesh | None = None,
    ) -> "Seq2Seq":
        """Fit by maximum likelihood of the targets, given the sources.

        Args:
            sources: n texts, or lists of tokens.
            targets: n texts, or lists of tokens.
            sample_weight: how often each pair counts.
            X_val: other sources, to stop by.
            y_val: their targets.
            callbacks: functions of an `Event`; one that returns True ends the fit.
            checkpoints: a folder to save the run in, or `Checkpoints`.
            resume: whether to go on from there.
            mesh: devices that share each step; several members share them anyway.
        """
        if (X_val is None) != (y_val is None):
            raise InputError("X_val and y_val belong together; give both, or none.")
        self._settle(given := GivenPairs.of(sources, targets, sample_weight))
        batch, other = self._pairs(given).batch(given.w), None
        if X_val is not None:
            held_out = GivenPairs.of(X_val, y_val, names=("X_val", "y_val"))
            other = self._pairs(held_out).batch(held_out.w)
        elif self.early_stopping:
            batch, other = self._held_out(batch)
        pairs = self._random(batch)
        trainer = Trainer(options_of(self, pairs), self._learner(pairs))
        phi = trainer.fit(
            pairs.round,
            validation=None if other is None else _looks_at(other),
            begin=self._begin(trainer),
            observers=Observers(callbacks, checkpoints, resume, mesh),
        )
        publish(self, phi, int(np.max(phi.solution.status.steps)), warn=False)
        return self

    def _settle(self, given: GivenPairs) -> None:
        """Tokenizers, the context and the limit of predictions."""
        self._writing()
        own = self.tokenizer if self.target_tokenizer is None else self.target_tokenizer
        w, (first, second) = given.w, given.names
        if (source := self._source) is None:
            self.tokenizer_ = lexicon_of(self.tokenizer, given.sources, w, first)
            self.target_tokenizer_ = lexicon_of(own, given.targets, w, second)
        else:
            self.tokenizer_ = source.tokenizer_
            self.target_tokenizer_ = source.target_tokenizer_
            check_kind(self.tokenizer_, given.sources, first)
            check_kind(self.target_tokenizer_, given.targets, second)
        written = self.target_tokenizer_.encode_batch(given.targets)
        longest = max(map(len, written))
        if source is not None:
            self.context_, longest = source.context_, max(longest, source.max_length_)
        elif self.context is None:
            read = self.tokenizer_.encode_batch(given.sources)
            self.context_ = 1 + max(longest, *map(len, read))
        else:
            self.context_ = 1 + whole(self, "context")
        most = longest if self.max_length is None else whole(self, "max_length")
        self.max_length_ = max(1, min(most, self.context_ - 1))

    def _writing(self) -> dict[str, Any]:
        """How targets are written, checked."""
        one_of("method", self.method, ("greedy", "beam"))
        penalty = at_least("length_penalty", self.length_penalty)
        return {"n_beams": whole(self, "n_beams"), "length_penalty": penalty}

    def _held_out(self, batch: Batch) -> tuple[Batch, Batch]:
        """Pairs to learn from, and others to stop by."""
        if len(batch.w) < 2:
            raise InputError(
                "there is 1 pair, and one is needed to learn from and another to stop by; give "
                "more pairs, X_val and y_val, or early_stopping=False."
            )
        seed = np.asarray(jax.random.key_data(key_of(self.random_state)))
        parts = early_stopping_split(len(batch.w), self.validation_fraction, seed)
        learn, stop = (_some(batch, part) for part in parts)
        return learn, stop

    def _random(self, batch: Batch) -> RandomPairs:
        """The pairs of the steps between two looks."""
        n = len(batch.w)
        auto = is_auto(self.batch_size)
        rows = min(MAX_BATCH_PAIRS, n) if auto else whole(self, "batch_size")
        steps = int(np.clip(n, MIN_LOOK_STEPS, MAX_LOOK_STEPS))
        return RandomPairs.of(batch, rows, steps)

    def _learner(self, pairs: RandomPairs) -> TokenLearner:
        """The pure core of the model."""
        settings = {
            "source": self._edges[0] + 1,
            "target": self._edges[1] + 1,
            "size": whole(self, "size"),
            "n_layers": whole(self, "n_layers"),
            "n_heads": whole(self, "n_heads"),
            "context": self.context_,
            "positions": self.positions,
            "dropout": float(at_least("dropout", self.dropout)),
        }
        dtype = one_of("precision", self.precision, ("float32", "bfloat16"))
        return TokenLearner(
            solver_of(self, pairs),
            NextTokenLikelihood(pairs.tokens_per_row, ABSENT),
            TranslationArchitecture(tuple(settings.items()), dtype),
            Regime.of(self.trainable),
        )

    # Judging ---------------------------------------------------------------------------

    def log_prob(self, sources: Any, targets: Any) -> np.ndarray:
        """(n,) log p(target | source) in nats: the sum over its tokens and its end.

        Args:
            sources: as in `fit`.
            targets: as many.
        """
        check_is_fitted(self)
        if not len(sources) and not len(targets):
            return np.zeros(0)
        return log_probs(self._network, self._pairs(GivenPairs.of(sources, targets)))

    def nll(self, sources: Any, targets: Any, sample_weight: Any = None) -> float:
        """The mean of −log p(target | source), in nats per unit of weight.

        Args:
            sources: as in `fit`.
            targets: as many.
            sample_weight: how often each pair counts.
        """
        check_is_fitted(self)
        given = GivenPairs.of(sources, targets, sample_weight)
        nats = -log_probs(self._network, self._pairs(given))
        return float(np.average(nats, weights=given.w))

    def score(self, sources: Any, targets: Any, sample_weight: Any = None) -> float:
        """The share of targets that are predicted exactly.

        Args:
            sources: as in `fit`.
            targets: as many.
            sample_weight: how often each pair counts.
        """
        given = GivenPairs.of(sources, targets, sample_weight)
        pairs = zip(self.predict(given.sources), given.targets, strict=True)
        return float(np.average([found == y for found, y in pairs], weights=given.w))

    def predict(self, sources: Any) -> list[Any]:
        """The target of each source: texts, or lists of tokens, as the fit had them.

        They are written as the settings `method`, `n_beams`, `length_penalty` and `max_length`
        say, all at once; `set_params` changes these after the fit.

        Args:
            sources: as in `fit`.
        """
        check_is_fitted(self)
        settings, rows = self._writing(), rows_of(sources, "sources")
        if not rows:
            return []
        most = (
            self.max_length_ if self.max_length is None else whole(self, "max_length")
        )
        if most > self.context_ - 1:
            raise InputError(
                f"max_length is {most}; the context of the model has room for "
                f"{self.context_ - 1} tokens: fit with a larger context."
            )
        writer = Writer(self._network, self._edges, most)
        read = encoded(self.tokenizer_, rows, "sources", self.context_ - 1)
        if self.method == "greedy" or settings["n_beams"] == 1:
            found = writer.greedy(read)
        else:
            found = writer.beam(read, **settings)
        return [self.target_tokenizer_.decode(tokens) for tokens in found]

    def _pairs(self, given: GivenPairs) -> Pairs:
        """Pairs as symbols."""
        most, (first, second) = self.context_ - 1, given.names
        read = encoded(self.tokenizer_, given.sources, first, most, given.rows)
        written = encoded(
            self.target_tokenizer_, given.targets, second, most, given.rows
        )
        return Pairs.of(read, written, self._edges)

    @property
    def _edges(self) -> tuple[int, int]:
        """The symbols for the edge of sources and of targets."""
        return self.tokenizer_.n_tokens_, self.target_tokenizer_.n_tokens_

    @property
    def _network(self) -> Translators:
        """The networks as one, ready to use."""
        return Translators(tuple(each.network for each in self._networks))

    # Seeing ----------------------------------------------------------------------------

    def summary(self) -> str:
        """The network and its training in a few lines."""
        check_is_fitted(self)
        losses = {k: np.ravel(v) for k, v in self.history_.items() if k != "rate"}
        parts = [f"{k} {v[0]:.4f} to {v[-1]:.4f}" for k, v in losses.items() if len(v)]
        return "\n".join([
            f"{len(self._networks)} x encoder and decoder of {self.n_layers} layers, "
            f"{self.n_heads} heads, size {self.size}: {self.n_parameters_:,} parameters",
            f"{self._edges[0]} tokens of sources, {self._edges[1]} of targets, "
            f"context {self.context_}, at most {self.max_length_} tokens written",
            f"nats per token: {', '.join(parts)}",
            self.status_,
        ])  # fmt: skip

    def save(
        self, path: str | PathLike, *, card: Mapping[str, Any] | None = None
    ) -> None:
        """Save to a file that holds no code; `likely.load` brings it back."""
        save(self, path, card=card)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        tags.target_tags.required = True
        return tags


def _looks_at(other: Batch) -> Batch:
    """Pairs to stop by, some of them if there are many."""
    symbols = sum(a.shape[1] for a in other.x)
    n, most = len(other.w), max(1, MAX_LOOK_TOKENS // symbols)
    return other if n <= most else _some(other, np.linspace(0, n - 1, most).astype(int))


def _some(batch: Batch, rows: np.ndarray) -> Batch:
    return jax.tree.map(lambda a: a[rows], batch)
