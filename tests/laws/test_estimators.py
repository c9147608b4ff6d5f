"""scikit-learn's conformance suite, on every estimator of the registry."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from registries.estimators import (
    CHECKS,
    ESTIMATORS,
    FAILS,
    OF_TRANSFORMERS,
    WRAPPERS,
)
from sklearn.base import clone
from sklearn.utils.estimator_checks import (
    estimator_checks_generator,
    parametrize_with_checks,
)

ALL = ESTIMATORS | WRAPPERS
TRANSFORMERS = {name: e for name, e in ALL.items() if hasattr(e, "transform")}


@pytest.mark.filterwarnings("ignore::UserWarning")
@parametrize_with_checks(
    list(ALL.values()),
    expected_failed_checks=lambda estimator: FAILS.get(type(estimator).__name__, {}),
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", ALL)
def test_there_are_at_least_sixty_checks(name):
    """Each tag that an estimator does not have takes some away."""
    more = len(OF_TRANSFORMERS) if name in TRANSFORMERS else 0
    assert sum(1 for _ in estimator_checks_generator(ALL[name])) + more >= CHECKS


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("check", OF_TRANSFORMERS)
@pytest.mark.parametrize("name", TRANSFORMERS)
def test_contract_of_transformers(name, check):
    check(name, clone(TRANSFORMERS[name]))


@pytest.mark.slow
def test_the_check_that_needs_a_setting():
    """One check is skipped unless SciPy is first imported with this setting."""
    code = (
        "import warnings; warnings.simplefilter('ignore');"
        "from registries.estimators import ESTIMATORS, WRAPPERS;"
        "from sklearn.utils.estimator_checks import check_array_api_input as check;"
        "[check(name, e, 'numpy', expect_only_array_outputs=False)"
        " for name, e in (ESTIMATORS | WRAPPERS).items()]"
    )
    folder = Path(__file__).parents[1]
    settings = {**os.environ, "SCIPY_ARRAY_API": "1"}
    command = [sys.executable, "-c", code]
    subprocess.run(command, check=True, timeout=600, cwd=folder, env=settings)
