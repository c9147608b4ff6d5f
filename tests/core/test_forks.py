"""Processes that were forked after JAX had started say so, and do not hang."""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import multiprocessing, os, sys, warnings
import likely as lk

warnings.simplefilter("ignore")  # JAX warns of the fork itself
X, y = [[0.0], [1.0], [2.0]], [1.0, 2.0, 4.0]

def fit(_=None):
    try:
        return lk.NullRegressor().fit(X, y).eta_.tolist()
    except RuntimeError as error:
        return str(error)

if __name__ == "__main__":
    lk.NullRegressor, lk.core.float64  # JAX is imported, and has not started
    if not os.fork():
        os._exit(0 if isinstance(fit(), list) else 1)
    assert os.wait()[1] == 0, "a fork before the start of JAX has to work"
    here = fit()
    assert isinstance(here, list)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        print(pool.map(fit, [0])[0])
    begins = {
        "keys": lambda: lk.core.key_of(0),
        "scopes": lambda: lk.core.precision_of(0),
        "traces": lambda: lk.autodiff.trace(abs, 1.0),
        "recipe": lambda: lk.recipe.fit(None, None, None, solver=None, key=None),
    }
    for name, begin in begins.items():
        if not os.fork():
            try:
                begin()
            except lk.core.ForkError:
                os._exit(0)
            os._exit(1)
        assert os.wait()[1] == 0, name
    assert fit() == here  # the parent goes on
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_process_names_spawn_and_does_not_hang(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, path], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "forked after JAX had started" in done.stdout
    assert 'get_context("spawn")' in done.stdout
