r"""The shell of every network: y | x ~ p(y | f(x; φ)) with f any architecture.

Inputs are centred and scaled by their weighted mean and deviation, and so is a target
that has units; predictions are in the units of the data. Small problems are fitted by
L-BFGS on all rows in float64, so that row weights are exact; larger ones by Adam on
minibatches in float32 (`solvers.training`). Several members are one program.

Another network estimator needs three things:

    class ImageNet(eqx.Module):                    # the architecture, as plain data
        widths: tuple[int, ...] = eqx.field(static=True)
        def build(self, shape, n_out, *, key): ...  # rows of (h, w, c) -> a model

    class ImageClassifier(AbstractNetwork, AbstractClassifier):
        _inputs = "channels"                       # how inputs are scaled
        def __init__(self, widths=(16, 32), *, max_iter=20, random_state=0):
            keep(self, locals())                   # any of `OPTIONS`, the rest default
        def _network(self): return ImageNet(tuple(self.widths))
        def _target(self, y): return class_family(self.classes_), 0

A model that ends with a `Dense` layer (a `Chain`) starts at the null model and can have
`laplace`. Where rows are no table, `_batch`, `_rows` and `_shape` say what they are.
"""

import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from os import PathLike
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import PyTree
from sklearn.exceptions import ConvergenceWarning

from likely.core.checks import InputError, check_finite, check_weights
from likely.core.precision import float64, precision_of, to_numpy
from likely.core.random import key_of
from likely.core.rows import pad, pad_rows, size_class
from likely.estimators.networks.laplace import (
    eta_covariance,
    last_layer_posterior,
    spread_out,
)
from likely.estimators.networks.learner import Network, NetworkLearner
from likely.estimators.networks.members import (
    Member,
    Rows,
    learn_members,
    members_of,
    one_pass,
    single,
    train,
)
from likely.estimators.networks.predictive import mixed
from likely.estimators.networks.solver import Settings
from likely.estimators.shell import AbstractPredictor, nonnegative
from likely.families import (
    AbstractFamily,
    Bernoulli,
    Categorical,
    Predictive,
    StudentT,
)
from likely.solvers.first_order.rules import AbstractFirstOrder
from likely.solvers.training import Callback, Checkpoints
from likely.typing import Batch

OPTIONS: dict[str, Any] = {
    "alpha": 1e-4,
    "solver": "auto",
    "learning_rate_init": 1e-3,
    "learning_rate": "constant",
    "batch_size": "auto",
    "max_iter": 200,
    "tol": 1e-5,
    "clip_norm": None,
    "augment": None,
    "weight_average": None,
    "early_stopping": False,
    "validation_fraction": 0.1,
    "n_iter_no_change": 10,
    "n_members": 1,
    "bootstrap": False,
    "laplace": False,
    "warm_start": False,
    "random_state": 0,
    "verbose": False,
}
"""The settings of a fit, with what they are where an estimator does not have them."""
AT_ONCE = 16
"""The most members that predict side by side."""


def keep(estimator: Any, given: Mapping[str, Any]) -> None:
    """Store the arguments of `__init__` untouched, as scikit-learn wants it."""
    for name, value in given.items():
        if name not in ("self", "__class__"):
            setattr(estimator, name, value)


def class_family(classes: np.ndarray) -> AbstractFamily:
    """Bernoulli for two classes, else categorical."""
    c = len(classes)
    return Bernoulli() if c == 2 else Categorical(c)


class AbstractNetwork(AbstractPredictor):
    """What all networks share. You write `_network`, `_target` and `_encode_other`."""

    _inputs: ClassVar[str] = "columns"
    _positions: ClassVar[bool] = False
    """Whether each position of a row has an η of its own."""
    _at_once: ClassVar[int | None] = None
    """Rows that are predicted together, where all of them would need much memory."""
    n_features_in_: int
    phi_: Network
    learner_: NetworkLearner

    @abstractmethod
    def _network(self) -> Any:
        """The `Architecture`."""

    @abstractmethod
    def _target(self, y: np.ndarray) -> tuple[AbstractFamily, int]:
        """The family, and how many entries of each output's η all rows share."""

    @abstractmethod
    def _encode_other(self, y: np.ndarray, name: str = "y_val") -> np.ndarray:
        """The targets of other rows, encoded as those of the fit."""

    # Fitting --------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        callbacks: Callback | Sequence[Callback] = (),
        checkpoints: Checkpoints | str | PathLike | None = None,
        resume: bool = False,
        mesh: Mesh | None = None,
    ) -> "AbstractNetwork":
        """Fit by maximum a posteriori.

        Args:
            X: (n, d) inputs.
            y: (n,) targets.
            sample_weight: how often each row counts.
            X_val: inputs of other rows, to stop early by.
            y_val: their targets.
            sample_weight_val: how often each of these counts.
            callbacks: functions of an `Event`; one that returns "stop" ends the fit.
            checkpoints: a folder to save the run in, or `Checkpoints`.
            resume: whether to go on from there.
            mesh: devices that share each batch; several members share them anyway.
        """
        before = self._before()
        hyper, batch = self._hyper(), self._batch(X, y, sample_weight)
        other = self._other(X_val, y_val, sample_weight_val)
        if other is None and self._option("early_stopping"):
            batch, other = self._split(batch)
        watched = other is not None or bool(callbacks) or checkpoints is not None
        watched = watched or mesh is not None
        self.learner_ = self._learner(batch.y, watched=watched)
        self._check(batch)
        begin = self._begin(before)
        options = {"callbacks": callbacks, "checkpoints": _places(checkpoints)}
        if isinstance(self.learner_.solver, AbstractFirstOrder):
            options |= {"resume": resume, "verbose": bool(self._option("verbose"))}
            options |= {"mesh": mesh}
            phi = train(*self._crowd(hyper, batch, other, begin), **options)
        else:
            with float64():
                phi = learn_members(*self._crowd(hyper, batch, None, begin))
        self._keep(phi)
        self.weight_seen_, self.passes_ = float(batch.w.sum()), 0
        vars(self).pop("memory_", None)
        self._approximate(batch)
        return self

    def _learner(self, y: np.ndarray, *, watched: bool = False) -> NetworkLearner:
        """The pure core, for these targets.

        Args:
            y: encoded targets.
            watched: whether there are validation rows, callbacks or checkpoints.
        """
        network, settings = self._network(), self._settings()
        family, shared = self._target(y)
        noisy = self._noisy() or watched or bool(self._option("early_stopping"))
        size = len(y) * _size(network, self._shape(), family.n_eta)
        full = settings.full(size, noisy)
        return NetworkLearner(
            family,
            network,
            settings.lbfgs() if full else settings.first_order(size_class(len(y))),
            shared=shared,
            inputs=self._inputs,
            plain=self._plain(),
            positions=self._positions,
            rated=settings.rated,
        )

    def _hyper(self) -> dict[str, np.ndarray]:
        names = ("alpha", "learning_rate_init")
        return {n: np.asarray(nonnegative(n, self._option(n))) for n in names}

    def _settings(self) -> Settings:
        return Settings(*(self._option(name) for name in Settings._fields))

    def _option(self, name: str) -> Any:
        """A setting, or what it is where the estimator has none of this name."""
        return getattr(self, name, OPTIONS.get(name))

    def _noisy(self) -> bool:
        """A hook: whether one loss of all rows is not what is minimised."""
        dropped = bool(getattr(self, "dropout", 0.0))
        return dropped or getattr(self, "norm", None) == "batch"

    def _shape(self) -> tuple[int, ...]:
        """A hook: the shape of a row."""
        return (self.n_features_in_,)

    def _plain(self) -> tuple[int, ...]:
        """A hook: columns that are not scaled."""
        return ()

    def _crowd(
        self, hyper: dict, batch: Batch, other: Batch | None, begin: Network | None
    ) -> tuple[Member, Rows]:
        """What is each member's own, and what all share."""
        settings, learner = self._settings(), self.learner_
        by_steps = isinstance(learner.solver, AbstractFirstOrder)
        size = settings.padded_rows(len(batch.w)) if by_steps else None
        batch = pad(batch, size)
        members = members_of(
            key_of(self._option("random_state")),
            self._members(),
            batch.w,
            bootstrap=bool(self._option("bootstrap")),
            begin=begin,
        )
        if by_steps:  # an epoch of its own rows
            solver = settings.first_order(members.w.shape[1])
            learner = eqx.tree_at(lambda each: each.solver, learner, solver)
        patience = np.asarray(self._option("n_iter_no_change"), np.int32)
        if other is None:
            return members, Rows(learner, hyper, batch)
        return members, Rows(learner, hyper, batch, pad(other), patience)

    def _members(self) -> int:
        m = self._option("n_members")
        if m != int(m) or m < 1:
            raise InputError(f"n_members is {m}; give a whole number of at least 1.")
        return int(m)

    def _before(self) -> dict[str, Any] | None:
        """What a warm start begins from: fitted before, with the same members."""
        if not self._option("warm_start") or not hasattr(self, "phi_"):
            return None
        names = ("phi_", "learner_", "classes_")
        kept = {name: getattr(self, name) for name in names if hasattr(self, name)}
        return kept | {"shape": self._shape()}

    def _begin(self, before: dict[str, Any] | None) -> Network | None:
        """The weights to begin with, leading axis m; they have to fit this problem."""
        if before is None:
            return None
        old: NetworkLearner = before["learner_"]
        same = (
            old.network == self.learner_.network
            and type(old.family) is type(self.family_)
            and old.family.n_eta == self.family_.n_eta
            and before["shape"] == self._shape()
            and np.array_equal(
                before.get("classes_", ()), getattr(self, "classes_", ())
            )
            and _count(before["phi_"]) == self._members()
        )
        if not same:
            raise InputError(
                "warm_start goes on with the same network, columns, classes and "
                "members as before; give warm_start=False to begin anew."
            )
        kind = np.float64
        if isinstance(self.learner_.solver, AbstractFirstOrder):
            kind = np.float32
        return _cast(_bare(before["phi_"]), kind)

    def _keep(self, phi: Network) -> None:
        """φ as NumPy arrays, and how it went; one member has no axis of members."""
        phi = to_numpy(phi)
        if self._members() == 1:
            phi = jax.tree.map(lambda a: a[0] if eqx.is_array(a) else a, phi)
        self.phi_ = phi
        status = phi.solution.status
        self.n_iter_, self.status_ = int(np.max(status.steps)), str(status)
        if not isinstance(self.learner_.solver, AbstractFirstOrder):
            self._warn(phi.solution.status)
        self._publish(phi)

    def _warn(self, status: Any) -> None:
        done = np.mean(np.atleast_1d(status.converged))
        if done < 1:
            bad = np.flatnonzero(~np.atleast_1d(status.converged))[0]
            warnings.warn(
                f"{type(self).__name__} {status.sentences[bad]}.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _publish(self, phi: Network) -> None:
        """`history_`: what there was at each step, and at each look."""
        trace = phi.solution.trace
        known = ~np.isnan(np.atleast_2d(trace.loss)).all(0)
        self.history_ = {"loss": trace.loss[..., known], "rate": trace.step[..., known]}
        if trace.validation is not None:
            looked = ~np.isnan(np.atleast_2d(trace.validation)).all(0)
            self.history_["validation"] = trace.validation[..., looked]
        self.loss_ = float(np.mean(phi.solution.loss))

    def _approximate(self, batch: Batch) -> None:
        """`last_layer_`: the posterior of the last weights, if asked for."""
        vars(self).pop("last_layer_", None)
        given = self._option("laplace")
        if given is False or given is None:
            return
        with float64():
            phi = _cast(_stacked(self.phi_), np.float64)
            self.last_layer_ = last_layer_posterior(
                self.learner_, phi, pad(batch), given
            )

    # A pass at a time -----------------------------------------------------------------

    def _partial(
        self, X: Any, y: Any, sample_weight: Any, encode: Callable | None
    ) -> "AbstractNetwork":
        """One pass over these rows, from where the weights are.

        Args:
            X: inputs.
            y: targets.
            sample_weight: how often each row counts.
            encode: what turns the first targets into numbers.
        """
        first = not hasattr(self, "phi_")
        encode = encode if first else partial(self._encode_other, name="y")
        batch = self._batch(X, y, sample_weight, encode=encode, reset=first)
        learner = self._learner(batch.y, watched=True)
        if first or not isinstance(self.learner_.solver, AbstractFirstOrder):
            self.learner_ = learner
        self.family_.check(batch.y, batch.w)
        self._pass(batch)
        self._approximate(batch)
        return self

    def _pass(self, batch: Batch) -> None:
        """One epoch on these rows."""
        steps, passes = getattr(self, "n_iter_", 0), getattr(self, "passes_", 0)
        seen = float(batch.w.sum()) + getattr(self, "weight_seen_", 0.0)
        memory = getattr(self, "memory_", None)
        phi = getattr(self, "phi_", None)
        with jax.enable_x64(False):
            begin = None if phi is None else _cast(_bare(phi), np.float32)
            members, shared = self._crowd(self._hyper(), batch, None, begin)
            turn = jnp.asarray(passes, jnp.uint32)
            keys = jax.vmap(jax.random.fold_in, (0, None))(members.key, turn)
            members = members._replace(key=keys)
            members, shared, memory = single((members, shared, memory))
            phi, memory = one_pass(
                members, shared, memory, jnp.asarray(seen, jnp.float32)
            )
        self._keep(phi)
        self.n_iter_, self.passes_, self.weight_seen_ = (
            self.n_iter_ + steps,
            passes + 1,
            seen,
        )
        self.memory_ = [np.asarray(a) for a in memory]

    # Other rows -----------------------------------------------------------------------

    def _other(self, X: Any, y: Any, w: Any) -> Batch | None:
        """The validation rows that were given."""
        if X is None:
            return None
        if y is None:
            raise InputError("X_val is given without y_val; give both.")
        X = np.asarray(self._prepared(X), np.float64)
        w = check_weights(np.ones(len(X)) if w is None else w, len(X))
        check_finite("X_val", X, w)
        return Batch(self._expand(X), self._encode_other(np.asarray(y)), w)

    def _split(self, batch: Batch) -> tuple[Batch, Batch]:
        """Some rows to learn from and the others to stop by; a function of the seed."""
        share = float(self._option("validation_fraction"))
        if not 0 < share < 1:
            raise InputError(
                f"validation_fraction is {share}; give a number between 0 and 1."
            )
        numbers = np.asarray(jax.random.key_data(key_of(self._option("random_state"))))
        present = np.flatnonzero(batch.w > 0)
        order = np.random.default_rng(numbers).permutation(present)
        held = max(1, round(share * len(order)))
        if held >= len(order):
            raise InputError(
                "there is no row left to learn from; give more rows, or X_val and y_val."
            )
        learn, judge = np.sort(order[held:]), np.sort(order[:held])
        return Batch(*(a[learn] for a in batch)), Batch(*(a[judge] for a in batch))

    # Predicting -----------------------------------------------------------------------

    def members(self, X: Any) -> list[Predictive]:
        """p(y | x) of each member."""
        classes = getattr(self, "classes_", None)
        etas = self._etas(self._rows(X))
        return [Predictive(self.family_, eta, classes) for eta in etas]

    def _plugged(self, X: Any) -> Any:
        """The mixture of the members, and of what their last weights may be."""
        return mixed(self.family_, self._parts(X), getattr(self, "classes_", None))

    def _parts(self, X: np.ndarray) -> np.ndarray:
        """(parts, n, k): η of the equal parts of the mixture."""
        etas, last = self._etas(X), getattr(self, "last_layer_", None)
        if last is None:
            return etas
        with float64():
            phi = _cast(_stacked(self.phi_), np.float64)
            covariance = eta_covariance(self.learner_, phi, last, pad_rows(X))
        return spread_out(self.learner_, etas, np.asarray(covariance)[:, : len(X)])

    def _mean(self, X: np.ndarray) -> np.ndarray:
        """E[y | x]; where a t has no mean (ν ≤ 1) its middle."""
        parts, family = self._parts(X), self.family_
        if isinstance(family, StudentT):
            return parts[..., 0].mean(0)
        m, n, k = parts.shape
        means = Predictive(family, parts.reshape(m * n, k)).mean
        return means.reshape(m, n, *means.shape[1:]).mean(0)

    def _etas(self, X: np.ndarray) -> np.ndarray:
        """(m, n, k) of the members."""
        learner, phi, size = self.learner_, _stacked(self.phi_), self._at_once
        if size is None:
            with float64():
                etas = _eta_of(learner, phi, pad_rows(X))
                return np.asarray(etas, np.float64)[:, : len(X)]
        with precision_of(phi.solution.model):
            parts = [pad_rows(X[i : i + size]) for i in range(0, len(X), size)]
            etas = [np.asarray(_eta_of(learner, phi, part)) for part in parts]
        return np.concatenate(etas, 1).astype(np.float64)[:, : len(X)]


@eqx.filter_jit
def _eta_of(learner: NetworkLearner, phi: Network, X: Any):
    """η of every member, some members at a time: what they make stays in the cache."""
    m = len(phi.solution.loss)
    some = max(k for k in range(1, AT_ONCE + 1) if m % k == 0)
    if some == m:
        return jax.vmap(learner.eta, in_axes=(0, None))(phi, X)
    arrays, static = eqx.partition(phi, eqx.is_array)

    def one(arrays: Any) -> Any:
        return learner.eta(eqx.combine(arrays, static), X)

    return jax.lax.map(one, arrays, batch_size=some)


def _size(network: Any, shape: tuple[int, ...], n_eta: int) -> int:
    """How many parameters there are."""
    try:
        return _counted(network, shape, n_eta)
    except TypeError:  # cannot be looked up
        return _counted.__wrapped__(network, shape, n_eta)


@lru_cache(maxsize=64)
def _counted(network: Any, shape: tuple[int, ...], n_eta: int) -> int:
    model = eqx.filter_eval_shape(
        lambda key: network.build(shape, n_eta, key=key), jax.random.key(0)
    )
    arrays = eqx.filter(model, lambda a: hasattr(a, "shape"))
    return sum(int(np.prod(a.shape)) for a in jax.tree.leaves(arrays))


def _count(phi: Network) -> int:
    loss = phi.solution.loss
    return 1 if np.ndim(loss) == 0 else len(loss)


def _stacked(phi: Network) -> Network:
    """φ with an axis of members in front, one long if there is one."""
    if np.ndim(phi.solution.loss):
        return phi
    return jax.tree.map(lambda a: a[None] if eqx.is_array(a) else a, phi)


def _bare(phi: Network) -> Network:
    """φ as something to begin with: of the trace only the first entries."""
    phi = _stacked(phi)
    trace = jax.tree.map(lambda a: a[:, :1], phi.solution.trace)
    parts = (trace.model, trace.validation)
    if any(part is not None for part in parts):
        trace = eqx.tree_at(
            lambda t: (t.model, t.validation), trace, (None, None),
            is_leaf=lambda v: v is None,
        )  # fmt: skip
    return eqx.tree_at(lambda p: p.solution.trace, phi, trace)


def _cast(tree: PyTree, kind: type) -> PyTree:
    return jax.tree.map(
        lambda a: np.asarray(a, kind) if eqx.is_inexact_array(a) else a, tree
    )


def _places(given: Checkpoints | str | PathLike | None) -> Checkpoints | None:
    """A folder as `Checkpoints`."""
    if given is None or isinstance(given, Checkpoints):
        return given
    return Checkpoints(given)
