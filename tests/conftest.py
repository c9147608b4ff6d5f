"""How the tests run: strict JAX, one compilation cache, fixed seeds, a kept ledger.

JAX reads its settings from the environment when it is first imported, so they are
set here, and the programs that tests start inherit them.
"""

import itertools
import os
import sys
from pathlib import Path

import hypothesis
import numpy as np
import pytest
from ledger import ROOT, named_tests
from slow import SLOW

os.environ.setdefault("LIKELY_CACHE_DIR", str(ROOT / ".cache"))
os.environ.setdefault("JAX_NUMPY_RANK_PROMOTION", "raise")
os.environ.setdefault("JAX_DEBUG_KEY_REUSE", "true")
os.environ.setdefault("MPLBACKEND", "Agg")
if "--slow" not in sys.argv:  # a third less to compile; the slow run is as users run it
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_use_fusion_emitters=false")

hypothesis.settings.register_profile("fixed", derandomize=True, deadline=None)
hypothesis.settings.load_profile("fixed")

NO_SHARED_DATA = "shared data not found"
TOO_SLOW = "slow: make test-slow runs it"


def pytest_addoption(parser: pytest.Parser) -> None:
    """One switch: whether what takes long runs too."""
    parser.addoption("--slow", action="store_true", help="run what takes long too")


def pytest_collection_modifyitems(config: pytest.Config, items: list) -> None:
    """Skip what takes long, unless asked for or named."""
    named = any("::" in arg for arg in config.args)
    if config.getoption("--slow") or named:
        return
    for item in items:
        if item.get_closest_marker("slow") or SLOW.search(item.nodeid):
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


# A process may map only so many pieces of memory, and every compiled program is some ----

MOST_MAPS, LOOK_EVERY = 30_000, 25
_seen = itertools.count()


@pytest.fixture(autouse=True)
def _few_programs():
    """Forget compiled programs when there are many; the cache on disk has them."""
    yield
    maps = Path("/proc/self/maps")
    if next(_seen) % LOOK_EVERY or not maps.exists():
        return
    if maps.read_bytes().count(b"\n") > MOST_MAPS:
        import jax

        jax.clear_caches()


# A test that the ledger names must have run ------------------------------------------

RAN: set[str] = set()
MISSING = pytest.StashKey[list[str]]()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note each test that ran, in any worker, or lacked the shared data to run."""
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
    """Fail a complete run that left out a test of the ledger."""
    complete = exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
    stopped = session.shouldstop or session.shouldfail
    if complete and not stopped and is_whole_suite(session.config):
        session.config.stash[MISSING] = sorted(named_tests() - RAN)
        if session.config.stash[MISSING]:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter, config: pytest.Config) -> None:
    missing = config.stash.get(MISSING, [])
    if missing:
        terminalreporter.section("docs/coverage.toml names tests that did not run")
        for test in missing:
            terminalreporter.line(f"FAILED {test} - did not run")
