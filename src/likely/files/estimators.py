"""How estimators and transformers are saved: parameters and fitted attributes."""

import re
from typing import Any

from likely.files import table
from likely.files.declared import check
from likely.files.objects import class_in, is_estimator, refuse_unknown, values_in
from likely.files.walk import Kind, Loading, Node, Saving

FITTED = re.compile(r"[a-zA-Z]\w*_|_sklearn_output_config|_formula")
"""Names of attributes that `fit` (or `set_output`, or `from_formula`) may set."""


def _encode_estimator(value: Any, walk: Saving) -> dict[str, Node]:
    params = value.get_params(deep=False)
    left_out = {*params, "_sklearn_version", *getattr(type(value), "_unsaved", ())}
    state = value.__getstate__()  # what a pickle would hold
    fitted = {k: v for k, v in state.items() if k not in left_out}
    odd = [name for name in fitted if not _is_fitted(type(value), name)]
    if odd:
        raise walk.error(
            f"has an attribute {odd[0]!r}, which is neither a parameter nor one that "
            "`fit` gives (those end with an underscore); remove it first."
        )
    check(type(value), params | fitted, walk)
    return {
        "class": type(value).__name__,
        "params": {name: walk(v, name) for name, v in params.items()},
        "fitted": {name: walk(v, name) for name, v in fitted.items()},
    }


def _decode_estimator(node: Node, walk: Loading) -> Any:
    cls: Any = class_in(node, ("params", "fitted"), walk)
    if not is_estimator(cls):
        raise walk.error(f"is not how a {cls.__name__} is saved.")
    params, fitted = (values_in(node[part], cls, walk) for part in ("params", "fitted"))
    refuse_unknown(params, cls._get_param_names(), walk)
    if not all(_is_fitted(cls, name) for name in fitted):
        raise walk.error(f"has an attribute that `fit` of {cls.__name__} cannot give.")
    check(cls, params | fitted, walk)
    made = cls(**params)
    for name, value in fitted.items():
        setattr(made, name, value)
    return made


def _is_fitted(cls: type, name: str) -> bool:
    """Whether `fit` may set a name, and it hides no attribute of the class."""
    return bool(FITTED.fullmatch(name)) and not hasattr(cls, name)


KINDS = {
    "estimator": Kind(
        lambda v: table.is_class(v) and is_estimator(type(v)),
        _encode_estimator,
        _decode_estimator,
    ),
}
