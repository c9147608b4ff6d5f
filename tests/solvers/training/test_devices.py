"""Several devices and several processes: the loss curve of one device, to rounding."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest
from ledger import ROOT

from likely.core import InputError, tune_host

HERE = Path(__file__).parent


def start(*args) -> subprocess.Popen:
    paths = [ROOT / "src", ROOT / "tests", HERE]
    env = os.environ | {
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
        "JAX_PLATFORMS": "cpu",
        "JAX_DEBUG_KEY_REUSE": "0",
    }
    command = [sys.executable, str(HERE / "devices.py"), *map(str, args)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env
    )


def result(process: subprocess.Popen) -> dict:
    out, error = process.communicate(timeout=600)
    lines = [line for line in out.splitlines() if line.startswith("RESULT ")]
    assert lines, error[-3000:]
    return json.loads(lines[0].removeprefix("RESULT "))


def flat(curve) -> np.ndarray:
    return np.concatenate([np.ravel(part) for part in curve])


def test_devices_can_only_be_chosen_before_anything_is_computed():
    jax.devices()
    with pytest.raises(InputError, match=r"call tune_host\(devices=...\) first"):
        tune_host(devices=7)


@pytest.fixture(scope="module")
def alone() -> dict:
    return result(start("all", 1))


@pytest.mark.slow
def test_eight_devices_have_the_losses_of_one(alone):
    """Data parallel, sharded parameters, full batches, streams, members."""
    eight = result(start("all", 8))
    assert (alone["devices"], eight["devices"]) == (1, 8)
    for name in ("curve", "full", "streamed", "members"):
        np.testing.assert_allclose(
            flat(eight[name]), flat(alone[name]), rtol=1e-5, atol=1e-5, err_msg=name
        )
    np.testing.assert_allclose(
        flat(eight["cut"]), flat(alone["curve"]), rtol=1e-5, atol=1e-5
    )


@pytest.mark.slow
def test_two_processes_have_the_losses_of_one(alone, tmp_path):
    """Over the loopback address, two devices each; also from a checkpoint."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    both = [start("processes", 4, port, i, tmp_path / "run") for i in range(2)]
    results = [result(process) for process in both]
    for found in results:
        assert found["devices"] == 4
        for name in ("curve", "cut", "resumed"):
            np.testing.assert_allclose(
                flat(found[name]), flat(alone["curve"]), rtol=1e-5, atol=1e-5
            )
