"""The map of rows shows each row once, and each label."""

import numpy as np
import pytest

from likely import plots
from likely.core.checks import InputError


def test_every_label_is_drawn_and_named():
    Y = np.random.default_rng(0).normal(size=(60, 3))
    labels = np.arange(60) % 9
    figure = plots.embedding_map(Y, labels, title="Digits")
    ax = figure.axes[0]
    assert [text.get_text() for text in ax.texts] == [str(i) for i in range(9)]
    assert sum(len(c.get_offsets()) for c in ax.collections) == 60
    looks = {
        (tuple(c.get_facecolor()[0]), len(c.get_paths()[0].vertices))
        for c in ax.collections
    }
    assert len(looks) == 9


def test_numbers_get_a_colour_bar():
    Y = np.random.default_rng(0).normal(size=(20, 2))
    assert len(plots.embedding_map(Y, values=Y[:, 0]).axes) == 2
    assert len(plots.embedding_map(Y).axes) == 1


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(InputError, match="two or more columns"):
        plots.embedding_map(np.ones((4, 1)))
    with pytest.raises(InputError, match="3 labels and 4 places"):
        plots.embedding_map(np.ones((4, 2)), [1, 2, 3])
    with pytest.raises(InputError, match="more than can be told apart"):
        plots.embedding_map(np.ones((50, 2)), np.arange(50))
