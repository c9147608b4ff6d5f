"""The styles of the report: light and dark, for phones, for print, for notebooks."""

LIGHT = """color-scheme: light dark; --ink: #1b1f24; --soft: #5a6572; --paper: #ffffff;
  --card: #f5f7f9; --line: #d8dee4; --blue: #1f6feb; --red: #b42318; --band: #1f6feb33;"""
DARK = """--ink: #e6edf3; --soft: #9aa6b2;
  --paper: #0f1419; --card: #182028; --line: #303b46; --blue: #6cb0ff; --red: #ff8a7a;
  --band: #6cb0ff33;"""
PAGE = """
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, sans-serif; }
main { max-width: 64rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
@media print { nav { display: none; } main { max-width: none; }
  h2 { break-after: avoid; } figure, tr, .finding { break-inside: avoid; } }
"""
PARTS = """
* { box-sizing: border-box; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .3rem; }
h2 { font-size: 1.25rem; margin: 2.4rem 0 .6rem; }
h3 { font-size: 1rem; margin: 1.2rem 0 .3rem; }
p { margin: .4rem 0; max-width: 46rem; }
.soft { color: var(--soft); font-size: .9rem; }
.verdict { background: var(--card); border-left: 4px solid var(--blue);
  padding: .7rem 1rem; margin: 1rem 0; font-size: 1.08rem; }
.alarm { color: var(--red); font-weight: 600; }
.caption { color: var(--soft); font-size: .9rem; margin: 1rem 0 .2rem; }
.scroll { overflow-x: auto; max-width: 100%; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid var(--line); text-align: right;
  white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
th.text, td.text { text-align: left; }
td.text { white-space: normal; min-width: 9rem; }
tr.best td { font-weight: 600; }
.grid2 { display: grid; gap: 1rem;
  grid-template-columns: repeat(auto-fill, minmax(min(22rem, 100%), 1fr));
  align-items: start; }
figure { margin: 0 0 .4rem; background: var(--card); padding: .6rem;
  border-radius: 6px; max-width: 30rem; }
figure.wide { max-width: 36rem; margin: .6rem 0; }
figcaption { font-size: .85rem; color: var(--soft); }
svg { width: 100%; height: auto; display: block; }
svg .grid { stroke: var(--line); stroke-width: 1; }
svg .label { fill: var(--soft); font: 11px system-ui, sans-serif; }
svg .line { fill: none; stroke: var(--blue); stroke-width: 2; }
svg .ideal, svg .zero { fill: none; stroke: var(--soft); stroke-dasharray: 4 3; }
svg .whisker { fill: none; stroke: var(--ink); stroke-width: 1.5; }
svg .dot { fill: var(--blue); }
svg .best { fill: var(--red); }
svg .faint { fill: var(--blue); fill-opacity: .35; }
svg .bar { fill: var(--blue); fill-opacity: .75; }
svg .band { fill: var(--band); stroke: none; }
.finding { border-left: 4px solid var(--line); padding: .3rem .9rem; margin: .6rem 0; }
.finding.warning { border-color: var(--red); }
code, pre { font: .88rem ui-monospace, monospace; background: var(--card); }
pre { padding: .7rem; overflow-x: auto; }
code { padding: .1rem .3rem; }
a { color: var(--blue); }
nav { font-size: .9rem; margin: .6rem 0 0; display: flex; flex-wrap: wrap;
  gap: .2rem .9rem; }
nav a { white-space: nowrap; }
@media (max-width: 40rem) { th, td { padding: .25rem .45rem; }
  td:first-child { white-space: normal; min-width: 6.5rem; } }
"""
CSS = (
    f":root {{ {LIGHT} }}\n@media (prefers-color-scheme: dark) {{ :root {{ {DARK} }} }}"
    f"{PAGE}{PARTS}"
)
FRAGMENT = (
    f".likely {{ {LIGHT} {PARTS} }}"
    f"@media (prefers-color-scheme: dark) {{ .likely {{ {DARK} }} }}"
)
"""Styles of the report inside of another page, which is not changed."""
