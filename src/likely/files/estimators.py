"""The kind of estimators and transformers: parameters, and what `fit` found."""

import re
from typing import Any

from likely.files import table
from likely.files.declared import check
from likely.files.objects import class_in, is_estimator, refuse_unknown, values_in
from likely.files.walk import Kind, Loading, Node, Saving

FITTED = re.compile(r"[a-zA-Z]\w*_|_sklearn_output_config")
"""Names that `fit` (or `set_output`) may give to attributes."""


def _take_estimator(value: Any, walk: Saving) -> dict[str, Node]:
    if hasattr(value, "_settle"):
        value._settle()  # what is computed when first asked for
    params = value.get_params(deep=False)
    fitted = {k: v for k, v in vars(value).items() if k not in params}
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


def _make_estimator(node: Node, walk: Loading) -> Any:
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
    """Whether a name is one that `fit` gives, and hides nothing that the class has."""
    return bool(FITTED.fullmatch(name)) and not hasattr(cls, name)


KINDS = {
    "estimator": Kind(
        lambda v: table.is_class(v) and is_estimator(type(v)),
        _take_estimator,
        _make_estimator,
    ),
}
