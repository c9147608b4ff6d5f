"""The progress bar: what it shows, and that a disabled one does nothing."""

import io
import sys

from rich.console import Console

from likely.core.progress import Bar


def drawn(use, **options) -> str:
    text = io.StringIO()
    console = Console(file=text, force_terminal=True, width=120)
    with Bar(console=console, **options) as bar:
        use(bar)
    return text.getvalue()


def test_a_bar_shows_compiling_and_then_its_updates():
    def use(bar):
        bar.update(3, "training", detail="loss 0.25 [val]")

    text = drawn(use, total=8)
    for word in ("compiling", "training", "3/8", "loss 0.25 [val]"):
        assert word in text


def test_the_total_may_come_later_and_steps_may_be_counted():
    def use(bar):
        bar.update(total=4)
        bar.update(advance=1)
        bar.update(advance=1)

    assert "2/4" in drawn(use, description="reading")


def test_a_disabled_bar_draws_nothing(monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.progress", None)
    assert drawn(lambda bar: bar.update(1, "training"), total=2, enabled=False) == ""


def test_stopping_twice_is_harmless():
    bar = Bar(2, console=Console(file=io.StringIO()))
    bar.start()
    bar.stop()
    bar.stop()
    bar.update(1)
