"""Write what the examples print into the output blocks of the README and the docs.

Usage: python tools/docs_output.py [PAGE ...]     (default: every page)

`tests/test_docs.py` runs the same blocks and fails where a page says something else.
Look at the difference before you keep it.
"""

import os
import sys
import tempfile
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

import test_docs  # noqa: E402


def refreshed(page: str) -> str:
    """The text of a page with each shown output replaced by what is printed now."""
    text, namespace, done, end = (ROOT / page).read_text("utf-8"), {}, [], 0
    namespace["__name__"] = "__main__"
    for found in test_docs.FENCE.finditer(text):
        if found["reason"]:
            continue
        line = text.count("\n", 0, found.start("code"))
        block = test_docs.Block(textwrap.dedent(found["code"]), line, found["output"])
        printed = test_docs.run(block, page, namespace)
        if found["output"] is not None:
            lines = [f"{found['indent']}{row}" for row in test_docs.tidy(printed)]
            shown = "".join(f"{row.rstrip()}\n" for row in lines)
            done += [text[end : found.start("output")], shown]
            end = found.end("output")
    return "".join([*done, text[end:]])


def main() -> None:
    pages = sys.argv[1:] or [p.relative_to(ROOT).as_posix() for p in test_docs.PAGES]
    for page in pages:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            text = refreshed(page)
            os.chdir(ROOT)
        (ROOT / page).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
