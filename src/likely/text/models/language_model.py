r"""The language model: $p(x) = \prod_t p(x_t \mid x_{<t})$ with a transformer for each factor."""

from collections.abc import Sequence
from os import PathLike
from typing import Any, no_type_check

import equinox as eqx
import jax
import numpy as np
from jax.sharding import Mesh
from sklearn.utils.validation import check_is_fitted

from likely.base.density import Density
from likely.base.labels import class_distribution
from likely.base.settings import at_least, one_of, store
from likely.base.training.members import Network
from likely.base.training.trainer import Observers, Trainer, publish, stacked
from likely.core.checks import InputError
from likely.core.random import key_of
from likely.layers import pad_sequences
from likely.models.sequence.beam_search import beam_search
from likely.models.sequence.generation import stream as stream_tokens
from likely.solvers.training import Callback, Checkpoints
from likely.text.models.judging import log_probs, next_token
from likely.text.models.next_token import Ensemble, NextToken
from likely.text.models.sequences import Sequences
from likely.text.models.settings import (
    hold_out,
    learner_of,
    looks_at,
    options_of,
    vocabulary_of,
    windows_of,
)
from likely.text.models.windows import Windows, default_stride


class LanguageModel(Density):
    r"""$p(x) = \prod_t p(x_t \mid x_{<t})$ of sequences of tokens, by a transformer (GPT).

    Tokens are whole numbers from 0 on. `fit` takes one long stream of them, an array (n, t),
    a list of sequences of different lengths, or `layers.Padded`. A token is predicted from up
    to `context` symbols before it; in front of the first token of a sequence stands a symbol
    for its beginning, so that the first token has a probability too. Longer sequences are
    judged, and written, in windows: a full one is followed by one that begins with its newer
    half.

    By default a tenth of the data (whole sequences, or the end of a stream) is held out; the
    training stops when its loss has not fallen for 500 steps, of small data for fewer, and the
    best weights are kept.

    Args:
        n_layers: the number of layers.
        n_heads: the number of heads of attention.
        size: the numbers in the state of a position, a multiple of the heads.
        context: the most symbols that a token is predicted from; shorter if no sequence is
            that long.
        vocabulary: the number of tokens; None for one more than the largest.
        positions: "learned", "sinusoidal", "rotary" or "relative", as in
            `models.Transformer`.
        dropout: the probability to drop a value of the embedding and of what layers add.
        precision: what the network computes in while it is trained: "float32", or "bfloat16"
            with parameters in float32, which is faster on GPUs.
        max_iter: the number of steps, at most.
        batch_size: windows in a step; "auto" is 16, or fewer where the data have fewer.
        learning_rate_init: the largest learning rate of AdamW.
        learning_rate: "cosine" (down to a tenth of the largest at the last step), "constant",
            or a schedule of `likely.solvers`.
        warm_up: steps in which the rate rises to the largest; "auto" is a twentieth of all.
        weight_decay: of AdamW, on matrices only: not on biases and norms.
        clip_norm: the longest gradient, or None.
        accumulate: parts in which the gradient of a step is computed, to save memory.
        early_stopping: whether to hold out a part of the data where no `X_val` is given.
        validation_fraction: the part that is held out.
        n_iter_no_change: looks at the held-out loss without a lower one after which the
            training stops. There is a look each 50 steps, or 5 to 50 where the data have as
            few windows.
        n_members: networks, of which the mean of the probabilities counts.
        random_state: the seed of the initial weights, the windows and the dropout.
        verbose: whether to show a progress bar, with tokens per second and the time left.

    Attributes:
        vocabulary_: the number of tokens.
        context_: the most symbols that a token is predicted from.
        n_parameters_: the number of parameters of a network.
        history_: loss, rate and validation loss (nats per token) along the training.
        loss_: the last loss in training.
        n_iter_: the number of steps.
        status_: why the training ended.
        phi_: the trained networks.
    """

    n_layers: Any
    n_heads: Any
    size: Any
    context: Any
    vocabulary: Any
    positions: Any
    dropout: Any
    precision: Any
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
    random_state: Any
    verbose: Any
    phi_: Network
    history_: dict[str, np.ndarray]
    status_: str

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        n_layers=4,
        n_heads=4,
        size=128,
        *,
        context=64,
        vocabulary: Any = None,
        positions="learned",
        dropout: Any = 0.0,
        precision="float32",
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
        random_state: Any = 0,
        verbose: Any = False,
    ):
        store(self, locals())

    # Fitting ---------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        callbacks: Callback | Sequence[Callback] = (),
        checkpoints: Checkpoints | str | PathLike | None = None,
        resume: bool = False,
        mesh: Mesh | None = None,
    ) -> "LanguageModel":
        """Fit by maximum likelihood of the next token.

        Args:
            X: a stream of tokens, an array (n, t), a list of sequences, or `Padded`.
            y: not used.
            sample_weight: how often each of several sequences counts.
            X_val: other sequences, to stop by.
            callbacks: functions of an `Event`; one that returns True ends the fit.
            checkpoints: a folder to save the run in, or `Checkpoints`.
            resume: whether to go on from there.
            mesh: devices that share each step; several members share them anyway.
        """
        sequences = Sequences.of(X, sample_weight)
        other = None if X_val is None else Sequences.of(X_val, name="X_val")
        vocabulary = vocabulary_of(self, sequences)
        most = at_least("context", self.context, 1, whole=True)
        if other is not None:
            other.check(vocabulary, "X_val")
        self.vocabulary_ = vocabulary
        if other is None and self.early_stopping:
            sequences, other = hold_out(self, sequences)
        self.context_ = min(int(sequences.lengths.max()), most)
        windows = windows_of(self, sequences)
        trainer = Trainer(options_of(self, windows), learner_of(self, windows))
        phi = trainer.fit(
            windows.round,
            validation=None if other is None else looks_at(self, other),
            observers=Observers(callbacks, checkpoints, resume, mesh),
        )
        publish(self, phi, int(np.max(phi.solution.status.steps)), warn=False)
        return self

    # Judging ---------------------------------------------------------------------------

    def log_prob(self, X: Any, *, stride: int | None = None) -> np.ndarray:
        """(n,) log p of each sequence: the sum over its tokens, in nats.

        Args:
            X: as in `fit`; a stream is one sequence.
            stride: how far the windows of sequences longer than the context are apart. With
                `stride=context_` they do not overlap, which is quick, and the first tokens of
                each are predicted from little.
        """
        sequences = self._sequences(X)
        found = np.zeros(len(sequences.rows))
        windows = self._judged(sequences, stride)
        nats = log_probs(self._network, windows.symbols)
        np.add.at(found, windows.sequence, np.where(windows.judged, nats, 0.0).sum(1))
        return found

    def perplexity(self, X: Any, *, stride: int | None = None) -> float:
        """exp(mean nats per token): among how many tokens the next one is as if drawn.

        Args:
            X: as in `fit`.
            stride: as in `log_prob`.
        """
        return float(np.exp(self._nats_per_token(X, stride)))

    def bits_per_token(self, X: Any, *, stride: int | None = None) -> float:
        """The mean −log₂ p of a token: what it takes to write one down.

        Args:
            X: as in `fit`.
            stride: as in `log_prob`.
        """
        return self._nats_per_token(X, stride) / float(np.log(2))

    def predict_dist(self, X: Any) -> Any:
        """p(next token | sequence) after each sequence, over the classes 0, 1, ...

        Args:
            X: as in `fit`.
        """
        rows = [self._tail(row) for row in self._sequences(X).rows]
        log_p = next_token(self._network, rows)
        return class_distribution(log_p, np.arange(self.vocabulary_))

    def _sequences(self, X: Any) -> Sequences:
        check_is_fitted(self)
        return Sequences.of(X).check(self.vocabulary_)

    def _judged(self, sequences: Sequences, stride: int | None) -> Windows:
        """Windows that judge each token once."""
        T = self.context_
        stride = default_stride(T) if stride is None else stride
        if not 1 <= at_least("stride", stride, 1, whole=True) <= T:
            raise InputError(f"stride is {stride}; the context has {T} symbols.")
        return Windows.of(sequences, T, self.vocabulary_, int(stride))

    def _nats_per_token(self, X: Any, stride: int | None) -> float:
        sequences = self._sequences(X)
        windows = self._judged(sequences, stride)
        nats = log_probs(self._network, windows.symbols)
        return float(-nats[windows.judged].sum() / sequences.lengths.sum())

    @property
    def _network(self) -> Ensemble:
        """The networks as one, ready to use."""
        model = stacked(self.phi_).solution.model.decoder
        arrays, static = eqx.partition(model, eqx.is_array)
        count = len(stacked(self.phi_).solution.loss)
        members = (jax.tree.map(lambda a, i=i: a[i], arrays) for i in range(count))
        return Ensemble(tuple(eqx.combine(each, static) for each in members))

    # Writing ---------------------------------------------------------------------------

    def generate(
        self,
        prompt: Any = None,
        n: int = 100,
        *,
        temperature: Any = 1.0,
        top_k: Any = None,
        top_p: Any = None,
        random_state: Any = None,
        method: str = "sample",
        n_beams: int = 4,
        stream: bool = False,
    ) -> Any:
        """The n tokens that come next: (n,) after one prompt, (k, n) after k prompts.

        Args:
            prompt: a sequence of tokens, an array (k, t) or a list of k sequences; None for
                the beginning of a new sequence. Of a prompt that is longer than the context
                the newer part counts.
            n: how many tokens.
            temperature: what the logits are divided by; below 1 what is probable gets more so.
            top_k: only the k most probable tokens.
            top_p: only the most probable tokens that together have this probability.
            random_state: the seed of the draws.
            method: "sample", "greedy" (always the most probable token) or "beam" (a search
                for the most probable sequence; the context has to hold all n).
            n_beams: how many sequences the search keeps.
            stream: whether to return an iterator that gives each token when it is known.
        """
        one_of("method", method, ("sample", "greedy", "beam"))
        n, rows, alone = at_least("n", n, 1, whole=True), *self._prompts(prompt)
        network = self._network
        if method == "beam":
            rows = [row[-max(1, self.context_ + 1 - n) :] for row in rows]
            found = beam_search(network, rows, n, n_beams=n_beams).tokens[:, 0]
            parts = iter([found])
        else:
            key = None if method == "greedy" else key_of(random_state)
            options: dict[str, Any] = {"chunk": 1} if stream else {}
            if key is not None:
                options |= {"top_k": top_k, "top_p": top_p}
            heat = 0.0 if key is None else at_least("temperature", temperature)
            parts = stream_tokens(
                network, rows, n, temperature=heat, key=key, **options
            )
        if stream:
            columns = (column for part in parts for column in part.T)
            return (c[0] if alone else c for c in columns)
        tokens = np.concatenate(list(parts), 1)
        return tokens[0] if alone else tokens

    def sample(
        self, n: int = 1, *, length: int | None = None, random_state: Any = None
    ) -> np.ndarray:
        """(n, length) independent draws of the first tokens of a sequence.

        Args:
            n: how many.
            length: how many tokens of each; as many as the context where None.
            random_state: the seed.
        """
        check_is_fitted(self)
        count = at_least("n", n, 1, whole=True)
        length = self.context_ if length is None else length
        prompts = [[]] * count
        return self.generate(prompts, length, random_state=random_state)

    def _prompts(self, prompt: Any) -> tuple[list[np.ndarray], bool]:
        """What the network reads of each prompt, and whether there is one only."""
        check_is_fitted(self)
        prompt = [] if prompt is None else prompt
        found = Sequences.of(prompt, name="prompt", empty=True)
        found.check(self.vocabulary_, "prompt")
        return [self._tail(row) for row in found.rows], found.stream

    def _tail(self, row: np.ndarray) -> np.ndarray:
        """The symbols of a sequence that its next token is predicted from."""
        symbols = np.append(self.vocabulary_, row).astype(np.int32)
        T, step = self.context_, default_stride(self.context_)
        return symbols[step * max(0, -(-(len(symbols) - T) // step)) :]

    # Seeing ----------------------------------------------------------------------------

    def unpack(self, X: Any, member: int = 0) -> tuple[NextToken, None, Any]:
        """A network, its (absent) running statistics, and the symbols as it reads them.

        That is what `diagnostics.attention_maps` and the like take.

        Args:
            X: as in `fit`, at most as long as the context.
            member: which of the networks, where there are several.
        """
        rows = [
            np.append(self.vocabulary_, row).astype(np.int32)
            for row in self._sequences(X).rows
        ]
        found = pad_sequences(rows)
        network = NextToken(self._network.members[member])
        return network, None, found.values if found.present.all() else found

    @property
    def n_parameters_(self) -> int:
        """The number of parameters of a network."""
        leaves = jax.tree.leaves(eqx.filter(self._network.members[0], eqx.is_array))
        return sum(int(leaf.size) for leaf in leaves if leaf.dtype.kind == "f")

    def summary(self) -> str:
        """The network and its training in a few lines."""
        check_is_fitted(self)
        losses = {k: np.ravel(v) for k, v in self.history_.items() if k != "rate"}
        parts = [f"{k} {v[0]:.4f} to {v[-1]:.4f}" for k, v in losses.items() if len(v)]
        if "validation" in losses:
            parts.append(f"lowest validation {np.nanmin(losses['validation']):.4f}")
        count = len(stacked(self.phi_).solution.loss)
        return "\n".join([
            f"{count} x transformer of {self.n_layers} layers, {self.n_heads} heads, "
            f"size {self.size}: {self.n_parameters_:,} parameters",
            f"{self.vocabulary_} tokens, context {self.context_}",
            f"nats per token: {', '.join(parts)}",
            self.status_,
        ])  # fmt: skip
