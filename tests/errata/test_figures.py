"""Figures of the lecture notes, drawn from what the library computes."""

import importlib.util

import numpy as np
from ledger import ROOT
from matplotlib.figure import Figure

from likely.layers import sinusoidal_positions


def program(name: str):
    """A program of docs/figures as a module."""
    path = ROOT / "docs" / "figures" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"figures_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_diagrams_of_attention(monkeypatch):
    """Three diagrams: attention, its heads, a layer; and the sinusoids of positions."""
    drawn: dict[str, Figure] = {}
    module = program("attention")
    monkeypatch.setattr(
        module, "save", lambda figure, name: drawn.update({name: figure})
    )
    module.diagrams()
    module.positions()
    routing, heads, layer = (
        [text.get_text() for text in ax.texts] for ax in drawn["diagrams"].axes
    )
    assert "softmax over keys" in routing
    assert sum("head" in text for text in heads) == 3
    steps = ["norm", "attention", "+", "norm", "MLP", "+"]
    assert [text for text in layer if text][1:] == steps
    shown = drawn["positions"].axes[0].images[0].get_array()
    np.testing.assert_allclose(shown, sinusoidal_positions(100, 48).T)
