"""An HTML file that works offline and runs no script."""

from likely.workbench.report.markup import escape
from likely.workbench.report.style import CSS

POLICY = "default-src 'none'; style-src 'unsafe-inline'; {}base-uri 'none'; form-action 'none'"


def document(title: str, facts: str, inside: str, *, images: bool = False) -> str:
    """A page with its title, a line of facts, and what is inside.

    Args:
        title: plain text.
        facts: plain text below the title.
        inside: HTML.
        images: whether images that are part of the page may be shown.
    """
    policy = POLICY.format("img-src data:; " if images else "")
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{CSS}</style></head><body><main>"
        f'<h1>{escape(title)}</h1><p class="soft">{escape(facts)}</p>'
        f"{inside}</main></body></html>\n"
    )
