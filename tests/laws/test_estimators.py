"""scikit-learn's conformance suite, on every estimator of the registry."""

import pytest
from registries.estimators import CHECKS, ESTIMATORS, FAILS, FEWER
from sklearn.utils.estimator_checks import (
    estimator_checks_generator,
    parametrize_with_checks,
)


@pytest.mark.filterwarnings("ignore::UserWarning")
@parametrize_with_checks(
    list(ESTIMATORS.values()),
    expected_failed_checks=lambda estimator: FAILS.get(type(estimator).__name__, {}),
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_there_are_at_least_sixty_checks(name):
    """Each tag that an estimator does not have takes some away."""
    estimator = ESTIMATORS[name]
    least, _ = FEWER.get(type(estimator).__name__, (CHECKS, ""))
    assert sum(1 for _ in estimator_checks_generator(estimator)) >= least
