"""scikit-learn's conformance suite, on every estimator of the registry."""

import pytest
from registries.estimators import ESTIMATORS, FAILS
from sklearn.utils.estimator_checks import parametrize_with_checks


@pytest.mark.filterwarnings("ignore::UserWarning")
@parametrize_with_checks(
    list(ESTIMATORS.values()),
    expected_failed_checks=lambda estimator: FAILS.get(type(estimator).__name__, {}),
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)
