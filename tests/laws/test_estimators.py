"""scikit-learn's conformance suite, on every public estimator."""

import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest
from registries.detectors import DETECTORS
from registries.estimators import (
    ESTIMATORS,
    MIN_CHECKS,
    MIN_CHECKS_WITHOUT_TARGETS,
    MIN_CHECKS_WITHOUT_TRANSFORM,
    NOT_TABLES,
    OF_IMAGES,
    OF_TRANSFORMERS,
    SPARSE_WEIGHTS,
    UNINSTALLED,
    WEIGHTS,
)
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import estimator_checks_generator
from sklearn.utils.validation import has_fit_parameter

import likely as lk
from likely.base.transformer import Transformer

TABLES = {name: e for name, e in ESTIMATORS.items() if e.kind not in NOT_TABLES}
IMAGES = {name: e for name, e in ESTIMATORS.items() if e.kind in NOT_TABLES}
TRANSFORMERS = {
    name: e for name, e in TABLES.items() if isinstance(e.make(), Transformer)
}


def test_every_public_estimator_has_an_entry():
    public = {name: getattr(lk, name) for name in lk.__all__}
    classes = {
        name
        for name, value in public.items()
        if inspect.isclass(value) and issubclass(value, BaseEstimator)
    }
    made = {type(entry.make()) for entry in ESTIMATORS.values()}
    made |= {type(make()) for make in DETECTORS.values()}  # laws: tests/vision
    assert classes == {cls.__name__ for cls in made | UNINSTALLED}


def marks(entry, check="") -> list[pytest.MarkDecorator]:
    found = [pytest.mark.slow] if entry.slow else []
    if check in entry.fails:
        found.append(pytest.mark.xfail(reason=entry.fails[check]))
    return found


def contract():
    """Each estimator with each check that scikit-learn has for it."""
    for name, entry in TABLES.items():
        for estimator, check in estimator_checks_generator(entry.make()):
            title = check.func.__name__
            if entry.brief and title not in (WEIGHTS, SPARSE_WEIGHTS):
                estimator = entry.make().set_params(**entry.brief)
            yield pytest.param(
                estimator, check, id=f"{name}-{title}", marks=marks(entry, title)
            )


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("estimator", "check"), list(contract()))
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def others():
    """The checks that scikit-learn has but does not ask of our estimators."""
    for entries, more in ((TRANSFORMERS, OF_TRANSFORMERS), (IMAGES, OF_IMAGES)):
        for name, entry in entries.items():
            for check in more:
                title = f"{name}-{check.__name__}"
                yield pytest.param(entry, check, id=title, marks=marks(entry))


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("entry", "check"), list(others()))
def test_contract_beside_tables(entry, check):
    estimator = entry.make()
    check(type(estimator).__name__, estimator)


@pytest.mark.parametrize("name", TABLES)
def test_there_are_many_checks(name):
    """Each tag that an estimator does not have takes some away; targets bring some."""
    entry = TABLES[name]
    more = len(OF_TRANSFORMERS) if name in TRANSFORMERS else 0
    found = sum(1 for _ in estimator_checks_generator(entry.make()))
    weighted = has_fit_parameter(entry.make(), "sample_weight")
    few = entry.kind in ("density", "clusters") or not weighted
    least = MIN_CHECKS_WITHOUT_TARGETS if few else MIN_CHECKS
    if not any(hasattr(entry.make(), m) for m in ("predict", "transform", "log_prob")):
        least = MIN_CHECKS_WITHOUT_TRANSFORM
    assert found + more >= least


@pytest.mark.slow
def test_the_check_that_needs_a_setting():
    """One check is skipped unless SciPy is first imported with this setting."""
    code = (
        "import warnings; warnings.simplefilter('ignore');"
        "from registries.estimators import ESTIMATORS, NOT_TABLES;"
        "from sklearn.utils.estimator_checks import check_array_api_input as check;"
        "[check(name, e.make(), 'numpy', expect_only_array_outputs=False)"
        " for name, e in ESTIMATORS.items() if e.kind not in NOT_TABLES]"
    )
    folder = Path(__file__).parents[1]
    settings = {**os.environ, "SCIPY_ARRAY_API": "1"}
    command = [sys.executable, "-c", code]
    subprocess.run(command, check=True, timeout=600, cwd=folder, env=settings)
