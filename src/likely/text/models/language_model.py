r"""The language model: $p(x) = \prod_t p(x_t \mid x_{<t})$ with a transformer for each factor."""

from collections.abc import Sequence
from os import PathLike
from typing import Any, ClassVar, no_type_check

import numpy as np
from jax.sharding import Mesh
from sklearn.utils.validation import check_is_fitted

from likely.base.density import Density
from likely.base.labels import class_distribution
from likely.base.settings import at_least, store
from likely.base.training.members import Network
from likely.base.training.trainer import Observers, Trainer, publish
from likely.core.checks import InputError
from likely.layers import pad_sequences
from likely.solvers.training import Callback, Checkpoints
from likely.text.models.judging import log_probs, next_token
from likely.text.models.next_token import Ensemble, NextToken
from likely.text.models.prompting import classify
from likely.text.models.sequences import Sequences
from likely.text.models.settings import (
    context_of,
    hold_out,
    learner_of,
    looks_at,
    options_of,
    reader_of,
    vocabulary_of,
    windows_of,
)
from likely.text.models.text_tokens import TextTokens, is_text
from likely.text.models.transfer import TokenNetwork
from likely.text.models.windows import Windows, default_stride
from likely.text.models.writing import joined, tokens_after


class LanguageModel(TokenNetwork, Density):
    r"""$p(x) = \prod_t p(x_t \mid x_{<t})$ of texts or tokens, by a transformer (GPT).

    `fit` takes a list of texts or one long text, which a tokenizer turns into tokens. Each
    text of a list ends with a token of its own, so that `log_prob` is that of the whole text
    and samples end. Or it takes tokens, whole numbers from 0 on: one long stream, an array
    (n, t), a list of sequences of different lengths, or `layers.Padded`. What comes out is of
    the kind that goes in.

    A token is predicted from up to `context` symbols before it; in front of the first token
    of a sequence stands a symbol for its beginning, so that the first token has a probability
    too. Longer sequences are judged, and written, in windows: a full one is followed by one
    that begins with its newer half.

    By default a tenth of the data (whole sequences, or the end of a stream) is held out; the
    training stops when its loss has not fallen for 500 steps, of small data for fewer, and the
    best weights are kept.

    Args:
        n_layers: the number of layers.
        n_heads: the number of heads of attention.
        size: the numbers in the state of a position, a multiple of the heads.
        context: the most symbols that a token is predicted from; shorter if no sequence is
            that long.
        tokenizer: how texts become tokens: "characters", "words", "bytes", "bpe", or a
            tokenizer, which is fitted to the texts unless it is fitted already. None is
            "characters" for texts, and none for tokens.
        vocabulary: the number of tokens; None for one more than the largest, or for those of
            the tokenizer.
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
        pretrained: a fitted `LanguageModel` whose weights, tokens and context it begins from;
            `from_pretrained` copies its architecture.
        trainable: what is trained: "all"; "head", the last norm; a number of layers before it
            too; "bias"; "adapters" or "low_rank" (changes W + AB of the matrices of layers, merged
            at the end); ("adapters", 8), ("low_rank", 8) or `layers.LowRank`.
        random_state: the seed of the initial weights, the windows and the dropout.
        verbose: whether to show a progress bar, with tokens per second and the time left.

    Attributes:
        tokenizer_: the fitted tokenizer, or None for a model of tokens.
        end_: the token that ends a text; None where there is none.
        vocabulary_: the number of tokens, that one included.
        context_: the most symbols that a token is predicted from.
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
    context: Any
    tokenizer: Any
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
    pretrained: Any
    trainable: Any
    random_state: Any
    verbose: Any
    phi_: Network
    history_: dict[str, np.ndarray]
    status_: str
    tokenizer_: Any
    end_: int | None
    unknown_: bool
    """Whether the fit had texts with characters or words that the tokenizer does not know."""
    _architecture: ClassVar[tuple[str, ...]] = (
        "n_layers", "n_heads", "size", "context", "tokenizer", "vocabulary", "positions"
    )  # fmt: skip

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        n_layers=4,
        n_heads=4,
        size=128,
        *,
        context=64,
        tokenizer: Any = None,
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
        pretrained: Any = None,
        trainable: Any = "all",
        random_state: Any = 0,
        verbose: Any = False,
    ):
        store(self, locals())

    @staticmethod
    def __upgrade__(fields: dict) -> dict:
        """Models of files from before there were tokenizers are models of tokens."""
        older = {"tokenizer_": None, "end_": None, "unknown_": False}
        return older | fields if "phi_" in fields else fields

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
            X: a list of texts, one long text, or tokens: a stream of them, an array (n, t), a
                list of sequences, or `Padded`.
            y: not used.
            sample_weight: how often each of several texts or sequences counts.
            X_val: others, to stop by.
            callbacks: functions of an `Event`; one that returns True ends the fit.
            checkpoints: a folder to save the run in, or `Checkpoints`.
            resume: whether to go on from there.
            mesh: devices that share each step; several members share them anyway.
        """
        reader, source = reader_of(self, X, sample_weight), self._source
        sequences = reader.sequences(X, sample_weight, empty=False)
        other = None if X_val is None else reader.sequences(X_val, name="X_val")
        vocabulary = vocabulary_of(self, sequences, reader.n_tokens)
        if other is not None:
            other.check(vocabulary, "X_val")
        self.vocabulary_ = vocabulary
        self.tokenizer_, self.end_ = reader
        self.unknown_ = reader.unknown(sequences) or bool(source and source.unknown_)
        if other is None and self.early_stopping:
            sequences, other = hold_out(self, sequences)
        self.context_ = context_of(self, sequences)
        windows = windows_of(self, sequences)
        trainer = Trainer(options_of(self, windows), learner_of(self, windows))
        phi = trainer.fit(
            windows.round,
            validation=None if other is None else looks_at(self, other),
            begin=self._begin(trainer),
            observers=Observers(callbacks, checkpoints, resume, mesh),
        )
        publish(self, phi, int(np.max(phi.solution.status.steps)), warn=False)
        return self

    # Judging ---------------------------------------------------------------------------

    def log_prob(self, X: Any, *, stride: int | None = None) -> np.ndarray:
        """(n,) log p of each text or sequence: the sum over its tokens, in nats.

        The end of a text counts, if the model has learned from texts that end.

        Args:
            X: as in `fit`; one text, or a stream, is one sequence.
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

    def token_log_probs(self, X: Any, *, stride: int | None = None) -> list[np.ndarray]:
        """log p of each token after those before it, one array for each text or sequence.

        Args:
            X: as in `fit`.
            stride: as in `log_prob`.
        """
        sequences = self._sequences(X)
        windows = self._judged(sequences, stride)
        nats = log_probs(self._network, windows.symbols)[windows.judged]
        return np.split(nats, np.cumsum(sequences.lengths)[:-1])

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

    def bits_per_byte(self, X: Any, *, stride: int | None = None) -> float:
        """The mean −log₂ p for each byte of the texts in UTF-8, whatever the tokens are.

        Args:
            X: texts.
            stride: as in `log_prob`.
        """
        if not is_text(X):
            raise InputError("X holds tokens, whose bytes are not known; give texts.")
        nats, count = -self.log_prob(X, stride=stride).sum(), self._reader.n_bytes(X)
        if not count:
            raise InputError("X has only empty texts; give at least one byte.")
        return float(nats / np.log(2) / count)

    def predict_dist(self, X: Any) -> Any:
        """p(next token | text or sequence) after each, over the classes 0, 1, ...

        `tokenizer_.tokens_` says what they stand for; the last may be the end of the text.

        Args:
            X: as in `fit`.
        """
        rows = [self._tail(row) for row in self._sequences(X, ended=False).rows]
        log_p = next_token(self._network, rows)
        return class_distribution(log_p, np.arange(self.vocabulary_))

    def classify(
        self,
        prompts: Any,
        options: Any,
        *,
        separator: str = " ",
        normalize: bool = False,
        calibrate: Any = None,
        end: bool = False,
    ) -> Any:
        """The distribution over answers to each prompt, by their log-likelihood after it.

        Nothing is learned; `few_shot` makes prompts that show a few examples.

        Args:
            prompts: a text, or several.
            options: the answers to choose from.
            separator: what stands between prompt and answer, unless the prompt is empty or
                ends with a space.
            normalize: whether to judge an answer by the mean over its tokens, so that long
                ones do not suffer.
            calibrate: a prompt that says nothing, such as "N/A", or one for each prompt;
                answers that are probable after it count less.
            end: whether the text has to end after the answer.
        """
        settings = {"separator": separator, "normalize": normalize, "end": end}
        return classify(self, prompts, options, calibrate=calibrate, **settings)

    @property
    def _reader(self) -> TextTokens:
        check_is_fitted(self)
        return TextTokens(self.tokenizer_, self.end_)

    def _sequences(self, X: Any, *, ended: bool = True) -> Sequences:
        return self._reader.sequences(X, ended=ended).check(self.vocabulary_)

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
        return Ensemble(tuple(each.decoder for each in self._networks))

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
        """What comes next: a text of up to n tokens, or n tokens.

        After one prompt (n,) tokens, (k, n) after k prompts; of texts one or a list. A text
        ends before n tokens if the model says so.

        Args:
            prompt: a text or several; or a sequence of tokens, an array (k, t) or a list of k
                sequences; None for the beginning of a new one. Of a prompt that is longer
                than the context the newer part counts.
            n: how many tokens.
            temperature: what the logits are divided by; below 1 what is probable gets more so.
            top_k: only the k most probable tokens.
            top_p: only the most probable tokens that together have this probability.
            random_state: the seed of the draws.
            method: "sample", "greedy" (always the most probable token) or "beam" (a search
                for the most probable sequence; the context has to hold all n).
            n_beams: how many sequences the search keeps.
            stream: whether to return an iterator that gives each token, or what it adds to
                the text, when it is known.
        """
        n, reader = at_least("n", n, 1, whole=True), self._reader
        if prompt is None:
            prompt = [] if reader.tokenizer is None else ""
        prompts = self._prompts(prompt)
        parts = tokens_after(
            self._network,
            [self._tail(row) for row in prompts.rows],
            n,
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            random_state=random_state,
            method=method,
            n_beams=n_beams,
            end=self.end_,
            stream=stream,
        )
        known = reader if is_text(prompt) else None
        return joined(parts, prompts, known, stream=stream)

    def sample(
        self, n: int = 1, *, length: int | None = None, random_state: Any = None
    ) -> Any:
        """Independent draws: n texts, or (n, length) tokens.

        Args:
            n: how many.
            length: how many tokens of each, at most if texts have an end; as many as the
                context where None.
            random_state: the seed.
        """
        prompt = [] if self._reader.tokenizer is None else ""
        count = at_least("n", n, 1, whole=True)
        length = self.context_ if length is None else length
        return self.generate([prompt] * count, length, random_state=random_state)

    def _prompts(self, prompt: Any, name: str = "prompt") -> Sequences:
        """Checked prompts; `stream` says whether there is one only."""
        found = self._reader.prompts(prompt, name=name, unknown=self.unknown_)
        return found.check(self.vocabulary_, name)

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
            for row in self._sequences(X, ended=False).rows
        ]
        found = pad_sequences(rows)
        network = NextToken(self._network.members[member])
        return network, None, found.values if found.present.all() else found

    def summary(self) -> str:
        """The network and its training in a few lines."""
        check_is_fitted(self)
        losses = {k: np.ravel(v) for k, v in self.history_.items() if k != "rate"}
        parts = [f"{k} {v[0]:.4f} to {v[-1]:.4f}" for k, v in losses.items() if len(v)]
        if "validation" in losses:
            parts.append(f"lowest validation {np.nanmin(losses['validation']):.4f}")
        return "\n".join([
            f"{len(self._networks)} x transformer of {self.n_layers} layers, {self.n_heads} heads, "
            f"size {self.size}: {self.n_parameters_:,} parameters",
            f"{self.vocabulary_} tokens, context {self.context_}",
            f"nats per token: {', '.join(parts)}",
            self.status_,
        ])  # fmt: skip
