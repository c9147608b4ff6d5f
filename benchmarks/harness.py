"""Two processes, ours and the peer's, take turns; the best of several counts.

`likely bench` measures in the same way, so the harness is part of the package.
"""

from likely.workbench.bench.turns import Answer, Case, Side, close, measure

__all__ = ["Answer", "Case", "Side", "close", "measure"]
