"""The choice between a network of texts and its linear baseline, by rows neither has seen."""

from typing import Any

from likely.text.models.supervised.comparison import keeps_network

AUTO, LINEAR, NETWORK = "auto", "linear", "lstm"
"""What chooses by held-out rows, the baseline, and the network that it is compared with."""
MAX_ROWS_REFITTED = 2000
"""Rows up to which a network that was better learns once more, from the held-out ones too."""


def fit_better(
    model: Any, rows: Any, learn: Any, judge: Any, callbacks: Any, *, refitted: bool
) -> None:
    """Fit the network and the baseline of an estimator, and keep what is asked for or better.

    It sets `architecture_`, `network_`, `comparison_` and `baseline_` by the estimator's own
    `_read`, `_compare` and `_baseline`.

    Args:
        model: the estimator.
        rows: all rows, from which the baseline learns in the end.
        learn: the rows that both learn from before they are compared.
        judge: the rows that they are compared by; None where there are too few.
        callbacks: of the training of the network.
        refitted: whether a network that is kept learns from all rows in the end.
    """
    chosen = LINEAR if judge is None else NETWORK
    model.architecture_ = chosen if model.architecture == AUTO else model.architecture
    model.network_, model.comparison_ = None, None
    if model.architecture_ != LINEAR:
        model.network_ = model._read(learn, callbacks)
    if judge is not None:
        model.comparison_ = model._compare(learn, judge)
    if model.comparison_ is not None and model.network_ is not None:
        automatic = model.architecture == AUTO
        if not keeps_network(model.comparison_, automatic=automatic):
            model.architecture_, model.network_ = LINEAR, None
    model.baseline_ = model._baseline(rows)
    if model.network_ is not None and judge is not None and refitted:
        model.network_ = model._read(rows, callbacks)
