"""Ctrl-C ends a command at once, with a sentence, whatever it is doing."""

import signal
import subprocess
import sys
import time

import numpy as np
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


IMPORTING = """
import gc, os, sys
from likely.cli import fit, main

def never(*_):
    gc.callbacks.append(lambda *_: [None for _ in range(1000)])
    print("ready", flush=True)
    while True:
        gc.collect()

fit.run_with_progress = never
main.app(["fit", "iris", "--out", sys.argv[1]])
"""


def test_a_command_is_stopped_before_its_run_begins(tmp_path):
    command = [sys.executable, "-c", IMPORTING, str(tmp_path / "run")]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert said == "likely: stopped.\n"


@pytest.mark.slow
def test_a_run_is_stopped_at_any_moment_and_continued(tmp_path):
    command = [sys.executable, "-m", "likely"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    waits = np.random.default_rng(0).uniform(1.0, 20.0, 50)
    for number, wait in enumerate(waits):
        out = tmp_path / str(number)
        fit = [*command, "fit", "diabetes", "--effort", "quick", "--out", str(out)]
        with subprocess.Popen(fit, **pipes) as process:
            time.sleep(wait)
            ended = process.poll() is not None
            start = time.monotonic()
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=30)
        if ended:
            continue
        assert process.returncode == 130, said
        assert time.monotonic() - start < 2, said
        if "resume" in said and number % 10 == 0:
            subprocess.run([*command, "resume", str(out)], check=True, **pipes)
            assert (out / "report.html").exists()
