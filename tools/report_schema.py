"""Write the JSON Schema of `report.json`, and the tables of the docs page about it.

python tools/report_schema.py
"""

import json
from pathlib import Path

from likely.workbench.report.contents import Report
from likely.workbench.report.typed_json import described, records

DOCS = Path(__file__).parent.parent / "docs"
MARK = "<!-- entries: python tools/report_schema.py -->"


def tables() -> str:
    """A table of the entries of each record."""
    parts = []
    for record in records(Report):
        if record.__name__ == "Spec":
            continue
        rows = [f"| `{name}` | {text} |" for name, text in described(record).items()]
        what = (record.__doc__ or "").split("\n\n")[0]
        parts.append(
            "\n".join([f"### {record.__name__}", "", what, "", "| entry | what it is |",
                       "|---|---|", *rows])
        )  # fmt: skip
    return "\n\n".join(parts)


def main() -> None:
    """Write both files."""
    schema = json.dumps(Report.schema(), indent=1, ensure_ascii=False) + "\n"
    (DOCS / "report.schema.json").write_text(schema, encoding="utf-8")
    page = DOCS / "report.md"
    head = page.read_text("utf-8").partition(MARK)[0]
    page.write_text(f"{head}{MARK}\n\n{tables()}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
