"""Every public class predicts what it predicted when the golden files were made."""

import importlib
import sys

import numpy as np
import pytest
from ledger import ROOT

from likely import files

FOLDER = ROOT / "tests" / "golden"
sys.path.insert(0, str(FOLDER))
from examples import CASES, fitted, predictions  # noqa: E402

FLOAT32 = ("adam", "two", "CNN", "ResNet", "UNet", "Frozen")
UNCERTAIN = "nll is that of predict_dist, which includes the uncertainty of parameters"
CHANGED = {
    "LinearRegression/nll": UNCERTAIN,
    "LinearRegression spline/nll": UNCERTAIN,
    "HuberRegressor/nll": UNCERTAIN,
    "LADRegressor/nll": UNCERTAIN,
    "PoissonRegressor/nll": UNCERTAIN,
    "NegativeBinomialRegressor/nll": UNCERTAIN,
    "GammaRegressor/nll": UNCERTAIN,
    "SplineRegressor/nll": UNCERTAIN,
    "NegativeBinomialRegressor/predict_interval": "1/r has an error, not log r",
    "LogTarget/predict": "the mean at the fitted parameters, as of every model",
}
"""What files of the second version no longer predict as then, with the reason."""
LATEST = {
    "SplineRegressor": "its smoothing has a prior, so that it does not interpolate",
    "Ridge cv": "the folds that choose a penalty are shuffled, since tables are sorted",
}
"""What a fit no longer gives as in the third version, with the reason."""


def golden(version: str) -> dict[str, np.ndarray]:
    with np.load(FOLDER / version / "predictions.npz") as arrays:
        return dict(arrays)


def compare(now: dict, before: dict, name: str, tolerance: float) -> None:
    own = {k.split("/")[1]: v for k, v in before.items() if k.split("/")[0] == name}
    assert own
    assert own.keys() <= now.keys()
    for what, value in own.items():
        if value.dtype.kind == "f":
            size = np.abs(value[np.isfinite(value)]).max(initial=1e-300)
            np.testing.assert_allclose(
                now[what], value, rtol=tolerance, atol=tolerance * size, err_msg=what
            )
        else:
            np.testing.assert_array_equal(now[what], value, err_msg=what)


@pytest.mark.parametrize("name", CASES)
def test_a_fit_predicts_what_it_did(name):
    tolerance = 2e-3 if any(word in name for word in FLOAT32) else 1e-5
    now = predictions(fitted(name), CASES[name].kind)
    latest = golden("v4") if name in LATEST else golden("v3")
    compare(now, latest, name, tolerance)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("version", ["v2", "v3"])
def test_a_saved_model_predicts_what_it_did(version, name):
    model = files.load(FOLDER / version / f"{name.replace(' ', '-')}.likely")
    tolerance = 1e-5 if any(word in name for word in FLOAT32) else 1e-9
    before = golden(version)
    if version == "v2":
        before = {what: v for what, v in before.items() if what not in CHANGED}
    compare(predictions(model, CASES[name].kind), before, name, tolerance)


@pytest.mark.parametrize("name", LATEST)
def test_a_model_of_the_latest_version_predicts_what_it_did(name):
    model = files.load(FOLDER / "v4" / f"{name.replace(' ', '-')}.likely")
    compare(predictions(model, CASES[name].kind), golden("v4"), name, 1e-9)


MOVED = {"likely.models.output_shape": "likely.layers"}
"""A public name of then -> its room of now, where it is another one."""
RENAMED = {"likely.evaluate.heated": "temperature_scaled"}
DIAGNOSTICS = """
    Anatomy Pieces Region SignalProfile Survey anatomy class_activation dead_units
    equivariance_error feature_maps filters flops gradient_autocorrelation
    invariance_error linear_pieces linear_regions maximal_input parameter_count
    receptive_field saliency signal_profile stacked_field survey
"""
MOVED |= {f"likely.models.{name}": "likely.diagnostics" for name in DIAGNOSTICS.split()}


def test_public_names_are_still_there():
    for line in (FOLDER / "v2" / "public_names.txt").read_text().split():
        room, _, name = line.rpartition(".")
        room, name = MOVED.get(line, room), RENAMED.get(line, name)
        assert hasattr(importlib.import_module(room), name), line
