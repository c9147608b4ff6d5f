"""The examples in the docstrings of public names run, and print what they say.

`np` is NumPy and `lk` is likely in every example, as in the documentation of both. An example
is tiny: it takes well below a second once what it calls is compiled.
"""

import doctest
import importlib
import inspect

import numpy as np
import pytest
from ledger import ROOT

import likely as lk

SOURCE = ROOT / "src" / "likely"
SLOW = dict.fromkeys(
    (
        "estimators.CNNClassifier", "estimators.CNNRegressor", "estimators.Forecaster",
        "estimators.ResNetClassifier", "estimators.SequenceClassifier",
        "estimators.SequenceRegressor", "estimators.SequenceTagger",
        "estimators.UNetSegmenter",
    ),
    "a training program of its own",
) | {
    "estimators.CountTarget": "the quantiles of a negative binomial",
    "estimators.OrdinalRegression": "Newton steps of thresholds",
    "estimators.SurvivalRegression": "Newton steps of a censored family",
    "estimators.TweedieRegressor": "a density that is a sum of a hundred terms",
}  # fmt: skip
"""Names whose example compiles for long, and why: the slow tests run them."""
MAX_LACKING = 781
"""Public names without an example; a new name comes with one, so this only falls."""


def public_names() -> dict[str, object]:
    """The public classes and functions of all rooms, by the first name they have."""
    found, known = {}, set()
    for stub in sorted(SOURCE.rglob("__init__.pyi")):
        parts = stub.parent.relative_to(SOURCE).parts
        if not parts:
            continue
        room = importlib.import_module(".".join(("likely", *parts)))
        for name in room.__all__:
            value = getattr(room, name)
            ours = getattr(value, "__module__", "").startswith("likely")
            if ours and callable(value) and id(value) not in known:
                known.add(id(value))
                found[f"{'.'.join(parts)}.{name}"] = value
    return found


NAMES = public_names()
WITH_EXAMPLE = {n: v for n, v in NAMES.items() if ">>>" in (v.__doc__ or "")}
ROOMS = sorted({name.rpartition(".")[0] for name in WITH_EXAMPLE})


def complaint(name: str) -> str:
    """Run the example of a name: nothing, or what was printed instead."""
    value = WITH_EXAMPLE[name]
    text, names = inspect.getdoc(value) or "", {"np": np, "lk": lk}
    test = doctest.DocTestParser().get_doctest(text, names, name, None, 0)
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    runner, said = doctest.DocTestRunner(optionflags=flags, verbose=False), []
    runner.run(test, out=said.append)
    return "".join(said)


@pytest.mark.parametrize("room", ROOMS)
def test_examples_of_a_room(room, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = [n for n in WITH_EXAMPLE if n.rpartition(".")[0] == room and n not in SLOW]
    assert not "".join(map(complaint, names))


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_slow_example(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert not complaint(name)


def test_new_names_come_with_an_example():
    lacking = sorted(NAMES.keys() - WITH_EXAMPLE.keys())
    assert len(lacking) <= MAX_LACKING, lacking


def test_an_example_that_prints_something_else_fails(monkeypatch):
    def wrong():
        """Say two.

        Examples:
            >>> 1 + 1
            3
        """

    monkeypatch.setitem(WITH_EXAMPLE, "wrong", wrong)
    assert "Expected" in complaint("wrong")
