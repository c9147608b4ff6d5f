"""Every Python block of the README and the docs runs, and prints what the page says.

A page is one namespace, its blocks run in order. Output that the page shows stands
right below its block, in a block of its own:

    ```text title="output"
    0.5
    ```

A block that cannot run here has `<!-- no-run: the reason -->` on the line above it.

A block takes at most `MAX_SECONDS` of processor time once what it calls is compiled, on a
slow processor `TOLERANCE` times as much; what takes longer, such as a picture of many fits, is
made by a program in docs/figures.
"""

import contextlib
import io
import re
import textwrap
from typing import NamedTuple

import pytest
from budgets import TOLERANCE, processor_time
from ledger import ROOT

SLOW_PAGES = (
    "attention",
    "autodiff",
    "autoregressive",
    "batch-norm-study",
    "bayes",
    "convergence-rates",
    "detection",
    "curriculum",
    "flows",
    "image-networks",
    "implicit-regularization",
    "landscapes",
    "language-models",
    "networks",
    "prompting",
    "sequences",
    "solvers-exact",
    "training",
    "transfer-learning",
    "transformers",
    "variational",
)
"""Pages with many programs to compile: the slow tests run them."""
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(
    r"(?:<!-- no-run: (?P<reason>.+?) -->\s*?\n)?"
    r"(?P<indent>[ ]*)```python[^\n]*\n(?P<code>.*?)^(?P=indent)```[ ]*\n"
    r"(?:\s*?(?P=indent)```text title=\"output\"\n(?P<output>.*?)^(?P=indent)```)?",
    re.DOTALL | re.MULTILINE,
)
MAX_SECONDS = 3.0
OPTIMISED = ("linear-models", "solvers-exact", "training")
"""Pages that print what depends on the last bits, or compute for long."""


class Block(NamedTuple):
    """Code to run, the line it starts on, and what it prints if the page says so."""

    code: str
    line: int
    output: str | None


def blocks(text: str) -> list[Block]:
    return [
        Block(
            textwrap.dedent(found["code"]),
            text.count("\n", 0, found.start("code")),
            found["output"],
        )
        for found in FENCE.finditer(text)
        if not found["reason"]
    ]


def run(block: Block, page: str, namespace: dict) -> str:
    """Run a block as lines of its page, so that a traceback shows the right one."""
    code = compile("\n" * block.line + block.code, page, "exec")
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(code, namespace)
    return printed.getvalue()


def tidy(text: str) -> list[str]:
    """Lines without trailing space, and without the indentation of their page."""
    return [line.rstrip() for line in textwrap.dedent(text).rstrip().splitlines()]


def run_page(page: str) -> dict[int, float]:
    """Run the blocks of a page, compare what they print; the seconds each took, by line."""
    namespace, seconds = {"__name__": "__main__"}, {}
    for block in blocks((ROOT / page).read_text("utf-8")):
        start = processor_time()
        printed = run(block, page, namespace)
        seconds[block.line] = processor_time() - start
        if block.output is not None:
            place = f"{page}, block at line {block.line}"
            assert tidy(printed) == tidy(block.output), place
    return seconds


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(
            p.relative_to(ROOT).as_posix(),
            marks=[
                *[pytest.mark.optimised] * (p.stem in OPTIMISED),
                *[pytest.mark.slow] * (p.stem in SLOW_PAGES),
            ],
        )
        for p in PAGES
    ],
)
def test_blocks_run(page, tmp_path_factory, monkeypatch):
    for _ in range(2):  # a second time, compiled, if the first one took long
        monkeypatch.chdir(tmp_path_factory.mktemp("page"))
        seconds = run_page(page)
        most = TOLERANCE * MAX_SECONDS
        long = {line: s for line, s in seconds.items() if s > most}
        if not long:
            break
    assert not long, f"{page}: seconds of processor time of blocks at these lines"


LINK = re.compile(r"\]\(([^)#\s]+\.md)(?:#([\w-]+))?\)")
ANSWERS = {
    "an interval for a prediction": "intervals.md",
    "a model of counts with exposure": "linear-models.md#counts-and-exposure",
    "to resume a training": "training.md#checkpoints",
    "why a p-value is refused": "inference.md#why-a-p-value-is-refused",
    "to add a family": "families.md#a-family-of-your-own",
}
"""What strangers look for, and the section that answers in its first lines."""
MAX_LINES_BEFORE_CODE = 20


def section(page: str, anchor: str) -> str:
    """The text from a heading to the next one."""
    text = (ROOT / "docs" / page).read_text("utf-8")
    if not anchor:
        return text
    for part in re.split(r"^(?=#)", text, flags=re.MULTILINE):
        head = part.partition("\n")[0]
        slug = re.sub(r"[^\w]+", "-", head.lstrip("# ").lower()).strip("-")
        if slug == anchor or f"{{ #{anchor} }}" in head:
            return part
    raise AssertionError(f"{page} has no section {anchor}")


def test_every_page_is_linked_from_the_index():
    docs = ROOT / "docs"
    linked = {page for page, _ in LINK.findall((docs / "index.md").read_text("utf-8"))}
    pages = {p.relative_to(docs).as_posix() for p in docs.rglob("*.md")}
    assert pages - linked == {"index.md"}


def test_no_two_pages_have_the_same_title():
    pages = sorted((ROOT / "docs").glob("*.md"))
    titles = [page.read_text("utf-8").partition("\n")[0] for page in pages]
    assert len(titles) == len(set(titles))


@pytest.mark.parametrize("words", ANSWERS)
def test_the_index_leads_to_an_answer_with_an_example(words):
    index = (ROOT / "docs" / "index.md").read_text("utf-8").splitlines()
    (row,) = [line for line in index if words in line]
    assert f"({ANSWERS[words]})" in row
    text = section(*ANSWERS[words].partition("#")[::2])
    before, fence, _ = text.partition("```python")
    assert fence
    assert before.count("\n") <= MAX_LINES_BEFORE_CODE
    assert blocks(text)[0].code


def test_blocks_are_found():
    page = textwrap.dedent(
        """
        ```python
        print(1)
        ```

        ```text title="output"
        1
        ```

        <!-- no-run: takes a day -->
        ```python
        train()
        ```

        !!! note

            ```python
            x = 2
            ```
        """
    )
    assert blocks(page) == [Block("print(1)\n", 2, "1\n"), Block("x = 2\n", 17, None)]
