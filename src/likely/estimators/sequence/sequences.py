r"""Networks of sequences as estimators: y | x ~ p(y | f(x; φ)) with x a list of positions."""

from typing import Any, no_type_check

from sklearn.base import ClassifierMixin, RegressorMixin

from likely.base.settings import store
from likely.base.training.options import ATTENTION, SEQUENCES, Limits
from likely.estimators.networks.predictor import NetworkPredictor
from likely.estimators.sequence.inputs import SequenceInputs
from likely.estimators.sequence.network import SequenceNetwork


def network_of(estimator: Any, *, each: bool = False) -> SequenceNetwork:
    """The architecture that the settings of an estimator describe."""
    known = estimator.vocabulary_
    return SequenceNetwork(
        estimator.architecture,
        estimator.size,
        estimator.n_layers,
        estimator.n_heads,
        bool(estimator.bidirectional),
        float(estimator.dropout),
        vocabulary=0 if known is None else len(known) + 1,
        each=each,
        dtype=estimator.dtype,
    )


def limits_of(estimator: Any) -> Limits:
    """How the network of an estimator is trained where its settings leave that open."""
    return ATTENTION if estimator.architecture == "transformer" else SEQUENCES


class SequenceClassifier(ClassifierMixin, NetworkPredictor):
    r"""y | x ~ Categorical(softmax f(x)), for two classes Bernoulli, with x a sequence.

    A sequence is a list of positions. Rows come as an array (n, t, d) of d numbers at each of t
    positions, as a table (n, t) of one number at each, as a list of arrays (t_i, d) or (t_i,) of
    different lengths, or as a list of lists of tokens: words, or whole numbers. Each channel of
    numbers is centred and scaled. Tokens of the fit have a learned vector each, all others
    share one.

    By default a tenth of the rows (a fifth of at most 500) is held out: the training stops when
    their loss no longer falls, with a warning where it still falls at the limit of 20 epochs or
    1500 steps, and their predictions calibrate the probabilities. Up to 500 rows of at most 256
    numbers train five members, each of which holds out other rows. A network that is told how
    long to train (`max_iter`, `early_stopping`), whose solver is "lbfgs" or a solver of one's
    own, or with `bootstrap`, `warm_start` or validation rows, is trained as told.

    Args:
        architecture: "lstm", "gru", "rnn" (recurrent layers, which read from the first position
            to the last) or "transformer" (attention: all positions see each other).
        size: of the state of a position; a multiple of 2·n_heads for a transformer.
        n_layers: the number of layers.
        n_heads: of the attention of a transformer.
        bidirectional: whether recurrent layers also read from the last position to the first.
        dropout: the probability to drop a value between layers and before η, in training.
        tokens: whether whole numbers are tokens (True) or quantities (False); "auto" takes
            those in lists of lists as tokens and those in arrays as quantities.
        min_count: how often a token occurs at least in the rows of the fit to have a vector of
            its own; rarer ones teach the vector of unknown tokens.
        dtype: what to compute in, such as "bfloat16".
        pretrained: a fitted network whose body (all but the last layer), with the units of its
            inputs and its tokens, is where the weights begin: an estimator of the same
            architecture, or `text.MaskedLanguageModel` for a transformer of tokens. The prior
            then is around these weights.
        trainable: what is trained: "all"; "head", the last layer, on frozen features; a number
            of blocks before it too; "bias"; "adapters" (bottlenecks after blocks) or "low_rank"
            (changes W + AB of the matrices, merged at the end), each with the head; with
            a size: ("adapters", 8), ("low_rank", 8) or `layers.LowRank`.
        alpha: strength of the Gaussian prior on the weights (not on the biases); "auto" is 1
            with held-out rows for each member, else 1e-4.
        solver: "adam" on minibatches, "lbfgs" on all rows in float64, or "auto" by the size; or
            a solver of `likely.solvers`, with steps and rate of its own.
        learning_rate_init: of Adam; "auto" is 0.005 (0.002 for a transformer) with held-out rows
            for each member, else 0.001.
        learning_rate: "constant", "cosine" (to zero at the end), "plateau" (halved where
            the loss stays), or a schedule of `likely.solvers`; "auto" is "cosine" with held-out
            rows for each member, else "constant".
        batch_size: rows in a minibatch; "auto" is 64 with held-out rows for each member,
            else 200.
        max_iter: epochs of Adam, steps of L-BFGS; "auto" is 20, or as many as make 1500
            steps (500 without held-out rows).
        tol: L-BFGS stops when no entry of the gradient is larger.
        clip_norm: the longest gradient, or None; "auto" is 1 with held-out rows for each member,
            else None.
        weight_average: what is kept: None the last weights, a decay between 0 and 1 their
            exponential average, "uniform" the mean over the second half of the steps.
        early_stopping: whether to hold out the same rows from all members and stop by them;
            "auto" as described above.
        validation_fraction: how many, with `early_stopping=True`.
        n_iter_no_change: epochs without a lower validation loss before stopping; where each
            member holds out rows of its own, short epochs count together, 20 steps as one.
        n_members: networks that are fitted as one program; the prediction is the mixture.
            "auto" as described above, and 1 where the training is told otherwise.
        bootstrap: whether each member sees its own draw of the rows.
        warm_start: whether `fit` goes on from the weights of the last one.
        random_state: seed of first weights, batches, draws and the split.
        verbose: whether to show a progress bar.

    Attributes:
        vocabulary_: the tokens with a vector of their own, sorted; None for numbers.
        form_: "table", "numbers" or "tokens": what the rows of the fit were.
        length_: the longest row of the fit, rounded up to one of a few lengths.
        history_: the loss of each step, and of each look at the validation rows.
        loss_: the last training loss.
        n_iter_: epochs of Adam, or steps of L-BFGS, that were made.
        status_: how it ended.
        n_parameters_: the parameters of a network.
        n_trainable_: how many of them were trained.

    Examples:
        >>> X = np.random.default_rng(0).normal(size=(60, 5, 1)).astype(np.float32)
        >>> y = (X.sum(axis=(1, 2)) > 0).astype(int)
        >>> model = lk.SequenceClassifier("rnn", 4, max_iter=5).fit(X, y)
        >>> model.predict_proba(X[:3]).shape
        (3, 2)
    """

    _kind = SequenceInputs(256)

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        architecture="lstm",
        size=64,
        *,
        n_layers=1,
        n_heads=4,
        bidirectional=False,
        dropout=0.0,
        tokens="auto",
        min_count=2,
        dtype=None,
        pretrained: Any = None,
        trainable: Any = "all",
        alpha: Any = "auto",
        solver="adam",
        learning_rate_init: Any = "auto",
        learning_rate: Any = "auto",
        batch_size: Any = "auto",
        max_iter: Any = "auto",
        tol=1e-5,
        clip_norm: Any = "auto",
        weight_average=None,
        early_stopping: Any = "auto",
        validation_fraction=0.1,
        n_iter_no_change=10,
        n_members: Any = "auto",
        bootstrap=False,
        warm_start=False,
        random_state=0,
        verbose=False,
    ):
        store(self, locals())

    @property
    def _limits(self) -> Limits:
        return limits_of(self)

    def _architecture(self) -> SequenceNetwork:
        return network_of(self)


class SequenceRegressor(RegressorMixin, NetworkPredictor):
    r"""y | x ~ N(f(x), σ²), or another family, with x a sequence and one learned σ.

    Rows are those of `SequenceClassifier`, and so are the other arguments and the attributes.
    y may have several columns.

    Args:
        family: a name as in `MLPRegressor`, such as "heteroscedastic" or
            "poisson", or a family.

    Examples:
        >>> X = np.random.default_rng(0).normal(size=(60, 5, 1)).astype(np.float32)
        >>> model = lk.SequenceRegressor("rnn", 4, max_iter=5).fit(X, X.sum(axis=(1, 2)))
        >>> model.predict(X[:3]).shape
        (3,)
    """

    _kind = SequenceInputs(256)
    _allows_outputs = True
    family: Any

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        architecture="lstm",
        size=64,
        *,
        family="normal",
        n_layers=1,
        n_heads=4,
        bidirectional=False,
        dropout=0.0,
        tokens="auto",
        min_count=2,
        dtype=None,
        pretrained: Any = None,
        trainable: Any = "all",
        alpha: Any = "auto",
        solver="adam",
        learning_rate_init: Any = "auto",
        learning_rate: Any = "auto",
        batch_size: Any = "auto",
        max_iter: Any = "auto",
        tol=1e-5,
        clip_norm: Any = "auto",
        weight_average=None,
        early_stopping: Any = "auto",
        validation_fraction=0.1,
        n_iter_no_change=10,
        n_members: Any = "auto",
        bootstrap=False,
        warm_start=False,
        random_state=0,
        verbose=False,
    ):
        store(self, locals())

    @property
    def _limits(self) -> Limits:
        return limits_of(self)

    def _architecture(self) -> SequenceNetwork:
        return network_of(self)
