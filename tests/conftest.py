"""How the tests run: strict JAX, one compilation cache, fixed seeds, kept budgets.

JAX reads its settings from the environment when it is first imported, so they are
set here, and the programs that tests start inherit them.
"""

import itertools
import os
import sys
from collections import defaultdict
from pathlib import Path

import hypothesis
import numpy as np
import platformdirs
import pytest
from budgets import TOLERANCE, exceeded, folder_of, processor_time, table
from ledger import ROOT, named_tests

os.environ.setdefault("LIKELY_CACHE_DIR", platformdirs.user_cache_dir("likely-tests"))
os.environ.setdefault("JAX_NUMPY_RANK_PROMOTION", "raise")
os.environ.setdefault("JAX_DEBUG_KEY_REUSE", "true")
os.environ.setdefault("MPLBACKEND", "Agg")
QUICK_TO_COMPILE = (
    "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
)
if "--slow" not in sys.argv:  # the slow run is as users run it
    os.environ.setdefault("XLA_FLAGS", QUICK_TO_COMPILE)

hypothesis.settings.register_profile("fixed", derandomize=True, deadline=None)
hypothesis.settings.load_profile("fixed")

NO_SHARED_DATA = "shared data not found"
TOO_SLOW = "slow: make test-slow runs it"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Two switches: whether what takes long runs too, and whether budgets are kept."""
    parser.addoption("--slow", action="store_true", help="run what takes long too")
    parser.addoption(
        "--budget",
        action="store_true",
        help="fail when a folder of tests takes too long",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list) -> None:
    """Skip what takes long, unless asked for or named."""
    named = any("::" in arg for arg in config.args)
    if config.getoption("--slow") or named:
        return
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.skip(reason=TOO_SLOW))


@pytest.fixture
def getkey():
    """A function that returns a new key at each call, the same ones in each run."""
    import jax

    seeds = itertools.count()
    return lambda: jax.random.key(next(seeds))


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of large data sets that are not part of the repository."""
    shared = Path(os.environ.get("LIKELY_SHARED", ROOT.parent / "shared"))
    if not (shared / "data").is_dir():
        pytest.skip(f"{NO_SHARED_DATA}: set LIKELY_SHARED to the folder above data/")
    return shared / "data"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(specs) -> None:
    """Give each worker its share of the cores; BLAS pools that fight are slow."""
    threads = str(max(1, (os.cpu_count() or 1) // len(specs)))
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ.setdefault(name, threads)


# Small programs, each used a few times, are hardly optimised: they compile in half the time.
# Programs of both kinds are kept apart, since the last bits of what they compute differ.


def optimise(wanted: bool) -> None:
    """Optimise the programs compiled from here on, or hardly."""
    import jax

    if jax.config.read("jax_disable_most_optimizations") is wanted:
        jax.clear_caches()
        jax.config.update("jax_disable_most_optimizations", not wanted)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item):
    """Optimise as for users in the slow run and in tests marked `optimised`."""
    slow = item.config.getoption("--slow")
    optimise(slow or item.get_closest_marker("optimised") is not None)
    return (yield)


@pytest.fixture(autouse=True)
def _few_programs():
    """Forget compiled programs when there are many; the cache on disk has them."""
    yield
    from likely.core.programs import forget_programs

    forget_programs()


# Each report says what its test took ----------------------------------------------------

PROCESSOR = "processor seconds"
SECONDS: dict[str, float] = defaultdict(float)
_clock = processor_time()


def pytest_collection_finish() -> None:
    global _clock
    _clock = processor_time()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    """Send with each report the processor time since the one before."""
    global _clock
    report, now = (yield), processor_time()
    report.user_properties.append((PROCESSOR, now - _clock))
    _clock = now
    return report


# What a complete run must have done -------------------------------------------------------

RAN: set[str] = set()
MISSING, EXCEEDED = pytest.StashKey[list[str]](), pytest.StashKey[list[str]]()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note each test that ran, in any worker, or lacked the shared data; and its seconds."""
    SECONDS[folder_of(report.nodeid)] += sum(
        value for name, value in report.user_properties if name == PROCESSOR
    )
    ran = report.when == "call" and not report.skipped
    if ran or NO_SHARED_DATA in str(report.longrepr):
        RAN.add(report.nodeid.partition("[")[0])


def is_whole_suite(config: pytest.Config) -> bool:
    """Whether nothing was left out: not by name, mark or place, nor as a worker."""
    options = ("keyword", "markexpr", "deselect", "ignore", "ignore_glob", "lf")
    chosen = any(config.getoption(name, None) for name in options)
    named = config.args_source is pytest.Config.ArgsSource.ARGS
    worker = "PYTEST_XDIST_WORKER" in os.environ
    return not (chosen or named or worker or config.getoption("collectonly"))


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Fail a complete run that left out a test of the ledger or exceeded a budget."""
    complete = exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
    stopped = session.shouldstop or session.shouldfail
    if not complete or stopped or not is_whole_suite(session.config):
        return
    stash = session.config.stash
    stash[MISSING] = sorted(named_tests() - RAN)
    stash[EXCEEDED] = exceeded(SECONDS) if session.config.getoption("--budget") else []
    if stash[MISSING] or stash[EXCEEDED]:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter, config: pytest.Config) -> None:
    if len(SECONDS) > 1:
        terminalreporter.section("processor seconds of each folder, and its budget")
        for line in table(SECONDS):
            terminalreporter.line(line)
    for folder in config.stash.get(EXCEEDED, []):
        terminalreporter.line(
            f"FAILED tests/{folder} - took over {TOLERANCE} times its budget, or has none "
            "(tests/budgets.py)"
        )
    missing = config.stash.get(MISSING, [])
    if missing:
        terminalreporter.section("docs/coverage.toml names tests that did not run")
        for test in missing:
            terminalreporter.line(f"FAILED {test} - did not run")
