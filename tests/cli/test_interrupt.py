"""Ctrl-C ends a command at once, with a sentence, whatever it is doing."""

import signal
import subprocess
import sys
import time

import pytest

from likely.cli.fit import stopped

BUSY = {
    "compiled": (
        "jax.jit(lambda: jax.lax.fori_loop(0, 2**31 - 1, lambda i, x: "
        "jax.numpy.sin(x + i), 0.0))().block_until_ready()"
    ),
    "callback": (
        "jax.jit(lambda: jax.lax.fori_loop(0, 10**9, lambda i, x: x + "
        "jax.pure_callback(lambda: np.int32(1), "
        "jax.ShapeDtypeStruct((), np.int32)), 0))().block_until_ready()"
    ),
}
PROGRAM = """
import jax, numpy as np
from likely.cli.interrupt import prompt_interrupt

with prompt_interrupt(lambda: "stopped."):
    print("ready", flush=True)
    {busy}
    jax.effects_barrier()
"""


@pytest.mark.parametrize("busy", BUSY)
def test_a_program_that_runs_is_stopped(busy):
    code = PROGRAM.format(busy=BUSY[busy])
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", code], **pipes) as process:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert said == "likely: stopped.\n"


def test_it_says_how_to_continue(tmp_path):
    assert "start again" in stopped(tmp_path)
    (tmp_path / "work").mkdir()
    assert f"likely resume {tmp_path}" in stopped(tmp_path)
