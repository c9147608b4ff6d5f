"""Print the ten largest files and functions of `src`, to see what wants splitting.

A function is measured without its docstring; aims and limits are in CONTRIBUTING.md.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
SHOWN = 10


def functions(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """(lines of the body without docstring, name) of each function."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            lines = body[-1].end_lineno - body[0].lineno + 1 if body else 0
            yield lines, f"{node.name} (line {node.lineno})"


def report(title: str, sizes: list[tuple[int, str]]) -> None:
    print(f"{title}: {len(sizes)}, {sum(lines for lines, _ in sizes)} lines")
    for lines, name in sorted(sizes, reverse=True)[:SHOWN]:
        print(f"{lines:6}  {name}")


def main() -> None:
    files, bodies = [], []
    for path in sorted((ROOT / "src").rglob("*.py")):
        text, name = path.read_text("utf-8"), path.relative_to(ROOT).as_posix()
        files.append((len(text.splitlines()), name))
        bodies += [(n, f"{name}: {what}") for n, what in functions(ast.parse(text))]
    report("files", files)
    report("functions", bodies)


if __name__ == "__main__":
    main()
