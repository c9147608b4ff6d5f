"""Model cards: what the object knows, what was given, and what is not known."""

import numpy as np
import pytest
from files.examples import EXAMPLES, fitted

from likely import files


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.likely"


def test_card_is_beside_and_inside(path):
    estimator = fitted("ridge, of a frame")
    given = {"data": "houses | 20 rows", "scores": {"nll": 1.25}, "limits": ["a", "b"]}
    files.save(estimator, path, card=given)
    card = files.read_card(path)
    assert card["model"] == "Ridge"
    assert card["family"] == "Normal"
    assert card["input names"] == ["size"]
    assert card["data"] == "houses | 20 rows"
    assert card["scores"] == {"nll": "1.25"}
    assert card["limits"] == ["a", "b"]
    assert card["seed"] == card["schema"] == "not given"
    assert set(card["versions"]) == {"likely", "jax", "numpy", "scikit-learn", "Python"}
    text = (path.parent / "model.likely.md").read_text("utf-8")
    for part in (
        "# Ridge",
        "houses \\| 20 rows",
        "| nll | 1.25 |",
        "a, b",
        "not given",
    ):
        assert part in text


def test_card_names_the_bytes_it_describes(path):
    from likely.files import container

    files.save(1, path)
    digest = container.read(path).digest
    assert digest in (path.parent / "model.likely.md").read_text("utf-8")


def test_no_card(path):
    files.save(1, path, card=False)
    assert list(path.parent.iterdir()) == [path]
    assert set(files.read_card(path)) == {"versions"}


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_object_has_a_card(name, path):
    files.save(EXAMPLES[name](), path)
    assert files.read_card(path)["model"] == type(EXAMPLES[name]()).__name__


def test_classes_and_seed_are_known(path):
    files.save(fitted("logistic regression"), path)
    card = files.read_card(path)
    assert card["classes"] == ["no", "yes"]
    assert card["status"].startswith("converged")


def test_odd_text_stays_on_its_line(path):
    files.save(1, path, card={"data": "a\n# b\n| c |", "more": np.arange(2)})
    lines = (path.parent / "model.likely.md").read_text("utf-8").splitlines()
    assert "a # b \\| c \\|" in lines
    assert "0, 1" in lines
