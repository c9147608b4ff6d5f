"""The tree of a prefix-free code."""

from typing import Any

from matplotlib.figure import Figure

from likely.plots.style import COLOURS, INK, SOFT, figure


def huffman_tree(
    code: Any, p: Any = None, *, title: str = "A prefix-free code"
) -> Figure:
    """Draw the words of a code as a tree: left is 0, right is 1, symbols are the leaves.

    Args:
        code: from `information.huffman_code`, or anything with `words`: symbol -> "0110".
        p: the probability of each symbol, in the order of the words or by symbol, to be written
            below it.
        title: the title of the figure.
    """
    words = dict(code.words)
    if p is None:
        shares: dict[Any, Any] = {}
    else:
        shares = dict(p) if hasattr(p, "keys") else dict(zip(words, p, strict=True))
    leaves = sorted(words, key=lambda symbol: words[symbol])
    place = {words[symbol]: float(i) for i, symbol in enumerate(leaves)}
    inner = {word[:k] for word in words.values() for k in range(len(word))}
    for node in sorted(inner, key=len, reverse=True):
        below = [place[node + bit] for bit in "01" if node + bit in place]
        place[node] = sum(below) / len(below)
    deepest = max(map(len, place), default=0)
    size = max(4.0, 0.75 * len(leaves) + 1), 0.75 * (deepest + 1) + 0.9
    drawn, (ax,) = figure(*size, title)
    for node, x in place.items():
        if node:
            parent = node[:-1]
            ax.plot([place[parent], x], [1 - len(node), -len(node)], color=SOFT, lw=1)
            middle = 0.5 * (place[parent] + x), 0.5 - len(node)
            white = {"fc": "white", "ec": "none", "pad": 1}
            ax.text(*middle, node[-1], color=SOFT, fontsize=8, ha="center", bbox=white)
    for symbol, word in words.items():
        share = f"\n{shares[symbol]:.3g}" if symbol in shares else ""
        box = {"boxstyle": "round", "fc": "white", "ec": COLOURS[0]}
        where = {"ha": "center", "va": "center", "fontsize": 9, "color": INK}
        ax.text(
            place[word], -len(word), f"{symbol}{share}", bbox=box, zorder=2, **where
        )
    ax.set(xlim=(-0.6, len(leaves) - 0.4), ylim=(-deepest - 0.5, 0.3))
    ax.set_axis_off()
    return drawn
