r"""The masked language model: $p(x_t \mid \text{all other tokens})$ by a transformer (BERT)."""

from collections.abc import Sequence
from os import PathLike
from typing import Any, no_type_check

import equinox as eqx
import jax
import numpy as np
from jax.sharding import Mesh
from sklearn.utils.validation import check_is_fitted

from likely.base.labels import class_distribution
from likely.base.settings import store
from likely.base.training.blocks import body_units, parameter_count
from likely.base.training.bodies import Body
from likely.base.training.members import Network
from likely.base.training.trainer import (
    Observers,
    Trainer,
    member_of,
    publish,
    stacked,
)
from likely.base.transformer import Transformer
from likely.core.checks import InputError
from likely.solvers.training import Callback, Checkpoints
from likely.text.models.hidden_tokens import (
    follow_probs,
    own_log_probs,
    row_vectors,
    token_log_probs,
)
from likely.text.models.masked_settings import (
    hidden_windows,
    masked_learner,
    masking_of,
)
from likely.text.models.masked_token import MaskedToken
from likely.text.models.masking import Symbols
from likely.text.models.sequences import Sequences
from likely.text.models.settings import hold_out, options_of, whole
from likely.text.models.windows import Windows, default_stride
from likely.text.tokenizers.settings import tokenizer_of
from likely.text.tokenizers.texts import check_texts, weighted_texts
from likely.text.tokenizers.words import WordTokenizer

MASK = "<mask>"
"""What stands for a hidden token in a text."""


class MaskedLanguageModel(Transformer):
    r"""$p(x_t \mid \text{all other tokens})$ of texts, by a transformer that reads both ways.

    In training some tokens of each window are hidden, most of them by a mask, and the network
    says what they were (BERT). It learns from texts without labels; a network for texts with
    few labels can begin from it: `SequenceClassifier.from_pretrained(model)` on its tokens, or
    `TextClassifier(pretrained=model)`.

    By default a tenth of the texts is held out; the training stops when their loss has not
    fallen for ten looks, and the best weights are kept.

    Args:
        n_layers: the number of layers.
        n_heads: the number of heads of attention.
        size: the numbers in the state of a position, a multiple of twice the heads.
        tokenizer: "words", "characters", "bytes", "bpe", or a tokenizer of `likely.text`;
            None for words in lower case that occur twice at least.
        context: the most tokens that the network reads at once.
        fraction: the part of the tokens that is judged: of these 80 % are masked, 10 % replaced
            by a random token, and 10 % left as they are.
        next_sentence: whether it also learns to say if the second part of a window follows
            the first, or comes from elsewhere.
        dropout: the probability to drop a value of the embedding and of what layers add.
        max_iter: the number of steps, at most.
        batch_size: windows in a step; "auto" is 32, or fewer where the data have fewer.
        learning_rate_init: the largest learning rate of AdamW.
        learning_rate: "cosine" (down to a tenth of the largest at the last step), "constant",
            or a schedule of `likely.solvers`.
        warm_up: steps in which the rate rises to the largest; "auto" is a twentieth of all.
        weight_decay: of AdamW, on matrices only: not on biases and norms.
        clip_norm: the longest gradient, or None.
        accumulate: parts in which the gradient of a step is computed, to save memory.
        early_stopping: whether to hold out a part of the texts where no `X_val` is given.
        validation_fraction: the part that is held out.
        n_iter_no_change: looks at the held-out loss without a lower one after which the
            training stops.
        n_members: networks, of which the mean of the probabilities counts.
        random_state: the seed of the initial weights, windows, masks and dropout.
        verbose: whether to show a progress bar, with tokens per second and the time left.

    Attributes:
        tokenizer_: the fitted tokenizer.
        n_tokens_: the number of its tokens.
        context_: the most tokens that the network reads at once.
        n_parameters_: the number of parameters of a network.
        history_: loss, rate and validation loss along the training.
        loss_: the last loss in training.
        n_iter_: the number of steps.
        status_: why the training ended.
        phi_: the trained networks.
    """

    n_layers: Any
    n_heads: Any
    size: Any
    tokenizer: Any
    context: Any
    fraction: Any
    next_sentence: Any
    dropout: Any
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
        n_layers=2,
        n_heads=4,
        size=64,
        *,
        tokenizer: Any = None,
        context=64,
        fraction: Any = 0.15,
        next_sentence=False,
        dropout: Any = 0.0,
        max_iter=2000,
        batch_size: Any = "auto",
        learning_rate_init: Any = 2e-3,
        learning_rate: Any = "cosine",
        warm_up: Any = "auto",
        weight_decay: Any = 0.01,
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
    ) -> "MaskedLanguageModel":
        """Fit by maximum likelihood of the hidden tokens.

        Args:
            X: a list of texts.
            y: not used.
            sample_weight: how often each text counts.
            X_val: other texts, to stop by.
            callbacks: functions of an `Event`; one that returns True ends the fit.
            checkpoints: a folder to save the run in, or `Checkpoints`.
            resume: whether to go on from there.
            mesh: devices that share each step; several members share them anyway.
        """
        texts, w = weighted_texts(X, sample_weight)
        setting = self.tokenizer
        if setting is None:
            setting = WordTokenizer(lowercase=True, min_count=2)
        self.tokenizer_ = tokenizer_of(setting, texts, w)
        self.n_tokens_ = self.tokenizer_.n_tokens_
        learn = self._learned("X", texts, np.array(w))
        stop = None
        if X_val is not None:
            stop = self._learned("X_val", check_texts(X_val, "X_val"))
        elif self.early_stopping:
            learn, stop = hold_out(self, learn)
        longest, most = int(learn.lengths.max()), whole(self, "context", 4)
        self.context_ = max(4, min(longest + bool(self.next_sentence), most))
        masking = masking_of(self, learn)
        trainer = Trainer(options_of(self, masking), masked_learner(self, masking))
        phi = trainer.fit(
            masking.windows.round,
            validation=None if stop is None else hidden_windows(self, stop, masking),
            observers=Observers(callbacks, checkpoints, resume, mesh),
        )
        publish(self, phi, int(np.max(phi.solution.status.steps)), warn=False)
        return self

    def _learned(
        self, name: str, texts: list[str], w: np.ndarray | None = None
    ) -> Sequences:
        """The tokens of texts that have some."""
        rows = self.tokenizer_.encode_batch(texts)
        w = np.ones(len(rows)) if w is None else w
        kept = [i for i, row in enumerate(rows) if len(row) and w[i] > 0]
        if not kept:
            raise InputError(
                f"no text of {name} has a token; give texts that are not empty."
            )
        return Sequences([rows[i] for i in kept], w[kept], stream=False)

    # Judging ---------------------------------------------------------------------------

    def fill(self, X: Any) -> Any:
        """p(token | the rest of the text) for each `<mask>` of the texts, one after another.

        The classes of the distribution are the tokens as text; `.mode` are the most
        probable ones.

        Args:
            X: a text with at least one `<mask>`, or a list of such texts.
        """
        check_is_fitted(self)
        texts = check_texts([X] if isinstance(X, str | bytes) else X, "X")
        rows, at = [], []
        for i, text in enumerate(texts):
            symbols = self._masked_symbols(text)
            places = np.flatnonzero(symbols == self._symbols.mask)
            if not len(places):
                raise InputError(
                    f"text {i} has no {MASK}; put it in the place of the token to fill in."
                )
            for place in places.tolist():
                first = min(place - self.context_ // 2, len(symbols) - self.context_)
                first = max(0, first)
                rows.append(symbols[first : first + self.context_])
                at.append(place - first)
        logs = token_log_probs(self._networks, self._padded(rows), at)
        return class_distribution(logs, self._token_texts)

    def pseudo_log_prob(self, X: Any) -> np.ndarray:
        """(n,) Σ_t log p(x_t | all other tokens) of each text, in nats.

        Each token is masked alone. It is no log-probability of the text: the factors are not
        those of one distribution. Texts are comparable by it, models too.

        Args:
            X: a list of texts.
        """
        nats, sequence, count = self._own_nats(X)
        return np.bincount(sequence, nats, count)

    def pseudo_perplexity(self, X: Any) -> float:
        """exp(−mean of log p(x_t | all other tokens)) over the tokens of the texts.

        Args:
            X: a list of texts.
        """
        nats, _, _ = self._own_nats(X)
        if not len(nats):
            raise InputError("X has no token; give texts that are not empty.")
        return float(np.exp(-nats.mean()))

    def follow_proba(self, first: Any, second: Any) -> np.ndarray:
        """(n,) the probability that the second text follows the first, of each pair.

        Args:
            first: texts.
            second: as many texts.
        """
        check_is_fitted(self)
        if not self.next_sentence:
            raise InputError(
                "the model has not learned which texts follow each other; fit it with "
                "next_sentence=True."
            )
        pair = [check_texts(first, "first"), check_texts(second, "second")]
        if len(pair[0]) != len(pair[1]):
            raise InputError(
                f"first has {len(pair[0])} texts and second {len(pair[1])}; give pairs."
            )
        one, other = (self.tokenizer_.encode_batch(texts) for texts in pair)
        half, between = self.context_ // 2, [self._symbols.separator]
        rows = [
            np.concatenate([a[-half:], between, b[: self.context_ - half - 1]])
            for a, b in zip(one, other, strict=True)
        ]
        return follow_probs(self._networks, self._padded(rows))

    def _own_nats(self, X: Any) -> tuple[np.ndarray, np.ndarray, int]:
        """log p of each token where it alone is masked, whose it is, and how many texts."""
        windows, kept, count = self._windows(X)
        if windows is None:
            return np.zeros(0), np.zeros(0, int), count
        symbols = windows.symbols[:, 1:]
        row, at = np.nonzero(windows.judged)
        tokens, masked = symbols[row, at], symbols[row]
        masked[np.arange(len(row)), at] = self._symbols.mask
        nats = own_log_probs(self._networks, masked, at, tokens)
        return nats, kept[windows.sequence[row]], count

    def _windows(self, X: Any) -> tuple[Windows | None, np.ndarray, int]:
        """Windows that judge each token once, of the texts that have tokens."""
        check_is_fitted(self)
        rows = self.tokenizer_.encode_batch(check_texts(X, "X"))
        kept = np.flatnonzero([len(row) > 0 for row in rows])
        if not len(kept):
            return None, kept, len(rows)
        T = self.context_
        found = Sequences([rows[i] for i in kept], np.ones(len(kept)), stream=False)
        windows = Windows.of(found, T, self._symbols.absent, default_stride(T))
        return windows, kept, len(rows)

    # Features --------------------------------------------------------------------------

    def _inputs(self, X: Any) -> Any:
        return X

    def _columns(self, X: Any) -> np.ndarray:
        """(n, size) the mean state of each text's positions; zero for one without tokens."""
        windows, kept, count = self._windows(X)
        found = np.zeros((count, self._n_features_out))
        if windows is None:
            return found
        vectors = row_vectors(self._networks, windows.symbols[:, 1:])
        share = windows.judged.sum(1)
        owner = kept[windows.sequence]
        np.add.at(found, owner, share[:, None] * vectors)
        return found / np.maximum(np.bincount(owner, share, count), 1)[:, None]

    @property
    def _n_features_out(self) -> int:
        return int(self.size) * len(stacked(self.phi_).solution.loss)

    # Transfer --------------------------------------------------------------------------

    def architecture_settings(self) -> dict[str, Any]:
        """The settings of a `SequenceClassifier`, `SequenceRegressor` or `SequenceTagger`."""
        names = ("size", "n_layers", "n_heads", "dropout")
        own = {name: getattr(self, name) for name in names}
        return own | {"architecture": "transformer", "tokens": True}

    def sorted_tokens(self, *, words: bool) -> np.ndarray:
        """The tokens in the order in which a network of sequences numbers them.

        Args:
            words: whether tokens are given as text, or as the numbers of the tokenizer.
        """
        check_is_fitted(self)
        if not words:
            return np.arange(self.n_tokens_)
        tokens = self.tokenizer_.tokens_
        if not all(isinstance(token, str) for token in tokens):
            raise InputError(
                "the tokens of this tokenizer are bytes; give their numbers, as "
                "tokenizer_.encode_batch makes them."
            )
        return np.unique(np.array(tokens))

    def body(self, like: Any) -> tuple[Body, list[Any]]:
        """The layers for a network of sequences of the same tokens, unknown ones first.

        Args:
            like: an estimator with `vocabulary_`.
        """
        known = getattr(like, "vocabulary_", None)
        if known is None:
            raise InputError(
                "pretrained is a model of tokens, and X has none; give lists of tokens, "
                "as tokenizer_.encode_batch makes them."
            )
        order = np.asarray(known)
        if order.dtype.kind == "U":
            number = {token: i for i, token in enumerate(self.tokenizer_.tokens_)}
            order = np.array([number[token] for token in order.tolist()])
        rows = np.append(self._symbols.mask, order)
        members = [self._plain(network, rows) for network in self._networks]
        arrays = zip(*(_arrays(member) for member in members), strict=True)
        body = Body(tuple(np.stack(each) for each in arrays))
        return body, body_units(members[0], head=False)

    def _plain(self, network: MaskedToken, rows: np.ndarray) -> Any:
        """The encoder with the vectors of these tokens, types as part of them."""
        encoder = network.encoder
        vectors = np.asarray(encoder.embedding.weight)
        if encoder.types is not None:
            vectors = vectors + np.asarray(encoder.types.weight)[:1]
            encoder = eqx.tree_at(lambda e: e.types, encoder, None)
        return eqx.tree_at(lambda e: e.embedding.weight, encoder, vectors[rows])

    # Parts -----------------------------------------------------------------------------

    @property
    def n_parameters_(self) -> int:
        """The number of parameters of a network."""
        return parameter_count(self._networks[0])

    @property
    def _networks(self) -> list[MaskedToken]:
        """The members."""
        check_is_fitted(self)
        count = len(stacked(self.phi_).solution.loss)
        return [member_of(self.phi_, i).solution.model for i in range(count)]

    @property
    def _symbols(self) -> Symbols:
        return Symbols(self.n_tokens_)

    @property
    def _token_texts(self) -> np.ndarray:
        """Each token as text."""
        tokens = self.tokenizer_.tokens_
        return np.array([
            token if isinstance(token, str) else self.tokenizer_.decode([i])
            for i, token in enumerate(tokens)
        ])  # fmt: skip

    def _masked_symbols(self, text: str) -> np.ndarray:
        """The tokens of a text, the symbol of the mask for each `<mask>`."""
        first, *rest = (self.tokenizer_.encode(part) for part in text.split(MASK))
        parts = [first]
        for part in rest:
            parts += [np.array([self._symbols.mask], np.int32), part]
        return np.concatenate(parts)

    def _padded(self, rows: list[np.ndarray]) -> np.ndarray:
        """(n, context) symbols."""
        found = np.full((len(rows), self.context_), self._symbols.absent, np.int32)
        for i, row in enumerate(rows):
            found[i, : len(row)] = row
        return found

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        tags.input_tags.sparse = False
        return tags


def _arrays(model: Any) -> list[np.ndarray]:
    return [
        np.asarray(a) for a in jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array))
    ]
