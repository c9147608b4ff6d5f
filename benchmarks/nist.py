r"""NIST's statistical reference data sets: correct digits, set by set.

`python -m benchmarks.nist [FOLDER]` reads every `.dat` file of a folder, solves it
from its own statement of the model, prints the digits and (with `--write`) renews the
table in `docs/solvers-exact.md`. Digits are log relative errors,
$-\log_{10}|b - b^*| / |b^*|$ (absolute where the certified value is 0), the worst
entry of a set. NIST certifies 15 digits of linear and 11 of nonlinear sets.
"""

import argparse
import ast
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from likely.core import float64
from likely.core.linalg import Regression, regression
from likely.core.moments import Moments, autocorrelation
from likely.core.precision import to_numpy
from likely.solvers import CurveFit, fit_curve

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "solvers-exact.md"
START, END = "<!-- nist: start -->", "<!-- nist: end -->"
NAMES = {
    "exp": jnp.exp,
    "log": jnp.log,
    "cos": jnp.cos,
    "sin": jnp.sin,
    "arctan": jnp.arctan,
    "pi": np.pi,
}
SAFE = (
    *(
        ast.Expression,
        ast.BinOp,
        ast.UnaryOp,
        ast.Call,
        ast.Name,
        ast.Load,
        ast.Constant,
    ),
    *(ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.USub),
)
NUMBER = r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)"


@dataclass(frozen=True)
class Problem:
    """A data set with what NIST certifies."""

    name: str
    kind: str
    """"linear", "nonlinear" or "univariate"."""
    level: str
    """"lower", "average" or "higher"."""
    columns: dict[str, np.ndarray]
    formula: tuple[str, str] | None
    """Both sides of the model."""
    starts: np.ndarray
    """(2, p) starting values of a nonlinear model."""
    certified: dict[str, np.ndarray]

    @property
    def y(self) -> np.ndarray:
        """The left side of the model."""
        assert self.formula is not None
        with float64():
            return np.asarray(evaluator(self.formula[0])((), self.columns))


def read(path: Path) -> Problem:
    """A `.dat` file of NIST's."""
    text = path.read_text("latin-1")
    head, data = re.split(r"^Data:(?=[^\n]*\n[-\s\d.+eE]*\Z)", text, flags=re.M)
    lines = data.splitlines()
    names = lines[0].lower().split()
    rows = [line.split() for line in lines[1:] if re.match(r"\s*[-+.\d]", line)]
    rows = [row for row in rows if not set(row[0]) <= {"-"}]
    table = np.array(rows, dtype=float).T
    columns = dict(zip(names, table, strict=True))
    level = re.search(r"(Lower|Average|Higher) Level", head)
    kind, certified, starts = _certified(head)
    formula = _formula(head) if kind != "univariate" else None
    title = re.search(r"Dataset Name:\s*(\w+)", head)
    return Problem(
        title[1] if title else path.stem,
        kind,
        level[1].lower() if level else "lower",
        columns,
        formula,
        starts,
        certified,
    )


def _certified(head: str):
    """What is certified, and the starting values."""
    labels = {
        "mean": "Sample Mean",
        "deviation": "Sample Standard Deviation",
        "autocorrelation": "Sample Autocorrelation",
    }
    table = head[head.rindex("Certified Values") :] if "Sample Mean" in head else ""
    found = {k: re.search(rf"{v}[^\n]*:\s*{NUMBER}", table) for k, v in labels.items()}
    if table:
        values = {name: np.array([float(m[1])]) for name, m in found.items() if m}
        return "univariate", values, np.zeros((2, 0))
    space = r"[ \t]+"
    four = space.join([NUMBER] * 4)
    rows = re.findall(rf"^\s*b\d+ =\s*{four}", head, flags=re.M)
    kind = "nonlinear" if rows else "linear"
    if not rows:
        rows = re.findall(rf"^\s*B\d+{space}{NUMBER}{space}{NUMBER}", head, flags=re.M)
    values = np.array(rows, dtype=float)
    starts = values[:, :2].T if kind == "nonlinear" else np.zeros((2, 0))
    certified = {"parameters": values[:, -2], "deviations": values[:, -1]}
    residual = re.search(rf"Residual\s+Standard Deviation:?\s*{NUMBER}", head)
    square = re.search(rf"R-Squared\s*{NUMBER}", head)
    for name, found in (("residual", residual), ("r_squared", square)):
        if found:
            certified[name] = np.array([float(found[1])])
    return kind, certified, starts


def _formula(head: str) -> tuple[str, str]:
    """Both sides of the model, in Python."""
    model = head[head.index("Model:") :]
    found = re.search(r"^\s*(\S*y\S*)\s*=\s*(.*?)\n\s*\n", model, flags=re.M | re.S)
    assert found is not None
    right = re.sub(r"\+\s*e\s*$", "", " ".join(found[2].split()))
    left, right = (
        side.replace("[", "(").replace("]", ")").lower() for side in (found[1], right)
    )
    return left, right


def evaluator(expression: str) -> Callable:
    """b, columns ↦ the value of an expression; only arithmetic and `NAMES` may occur."""
    tree = ast.parse(expression, mode="eval")
    for node in ast.walk(tree):
        if not isinstance(node, SAFE):
            raise ValueError(f"{expression} contains {type(node).__name__}")
    code = compile(tree, expression, "eval")
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    parameters = sorted(
        (n for n in used if re.fullmatch(r"b\d+", n)), key=lambda n: int(n[1:])
    )

    def value(b, columns):
        names = {name: b[i] for i, name in enumerate(parameters)}
        return eval(code, {**NAMES, **columns, **names})

    return value


def digits(found, certified, limit: float = np.inf) -> float:
    """The log relative error of the worst entry."""
    found, certified = np.ravel(found), np.ravel(certified)
    scale = np.where(certified == 0, 1.0, np.abs(certified))
    error = np.max(np.abs(found - certified) / scale)
    exact = 15.0
    return float(min(exact, limit, -np.log10(error) if error > 0 else exact))


# Solving ------------------------------------------------------------------------------


def design(problem: Problem) -> np.ndarray:
    """The columns of a linear model in the order of its parameters."""
    assert problem.formula is not None
    f, n = evaluator(problem.formula[1]), len(problem.y)
    columns = [
        f(b, problem.columns) for b in np.eye(len(problem.certified["parameters"]))
    ]
    return np.stack([np.broadcast_to(column, n) for column in columns], axis=1)


def solve_linear(problem: Problem) -> Regression:
    """By `core.linalg.regression`, a constant column (if any) last."""
    A = design(problem)
    constant = (A[0] == A).all(axis=0)
    order = np.argsort(constant, kind="stable")
    back = np.argsort(order)
    with float64():
        w = jnp.ones(len(A))
        y = jnp.asarray(problem.y)[:, None]
        found = _regression(
            jnp.asarray(A[:, order]), y, w, centred=bool(constant.any())
        )
        found = to_numpy(found)
    return found._replace(
        coefficients=found.coefficients[back, 0],
        standard_deviations=found.standard_deviations[back, 0],
    )


_regression = jax.jit(regression, static_argnames="centred")


def solve_nonlinear(problem: Problem, start: int) -> CurveFit:
    """By Levenberg-Marquardt from one of the two starting values."""
    assert problem.formula is not None
    x = {name: column for name, column in problem.columns.items() if name != "y"}
    f = problem_function(problem.formula[1])
    return fit_curve(f, x, problem.y, problem.starts[start - 1])


@cache
def problem_function(expression: str) -> Callable:
    """The same function for the same formula, so that it compiles once."""
    return evaluator(expression)


def solve_univariate(problem: Problem) -> dict[str, np.ndarray]:
    """Mean, standard deviation and autocorrelation of lag one."""
    with float64():
        y = jnp.asarray(problem.columns["y"])
        moments = Moments.of(y, jnp.ones_like(y))
        found = {
            "mean": moments.mean,
            "deviation": jnp.sqrt(moments.variance(1)),
            "autocorrelation": autocorrelation(y),
        }
        return {name: np.asarray(value) for name, value in found.items()}


# The table ----------------------------------------------------------------------------


def linear_row(problem: Problem) -> list[str]:
    found = solve_linear(problem)
    pairs = (
        (found.coefficients, "parameters"),
        (found.standard_deviations, "deviations"),
        (found.residual_deviation, "residual"),
        (found.r_squared, "r_squared"),
    )
    return [f"{digits(a, problem.certified[name]):.1f}" for a, name in pairs]


def nonlinear_row(problem: Problem) -> list[str]:
    row = []
    for start in (1, 2):
        found = solve_nonlinear(problem, start)
        b = digits(found.parameters, problem.certified["parameters"])
        s = digits(found.standard_deviations, problem.certified["deviations"])
        row += [f"{b:.1f}", f"{s:.1f}", str(found.solution.status.steps)]
    return row


def univariate_row(problem: Problem) -> list[str]:
    found = solve_univariate(problem)
    return [f"{digits(found[k], v):.1f}" for k, v in problem.certified.items()]


TABLES = {
    "linear": (
        ["coefficients", "standard deviations", "residual deviation", "R²"],
        linear_row,
    ),
    "nonlinear": (
        ["start 1", "deviations", "steps", "start 2", "deviations", "steps"],
        nonlinear_row,
    ),
    "univariate": (["mean", "standard deviation", "autocorrelation"], univariate_row),
}


def tables(problems: list[Problem]) -> str:
    """Markdown, one table for each kind."""
    lines = []
    for kind, (names, row) in TABLES.items():
        chosen = [problem for problem in problems if problem.kind == kind]
        if chosen:
            lines += ["", "| " + " | ".join([kind, "level", *names]) + " |"]
            lines += ["|---|---|" + "---:|" * len(names)]
        for problem in chosen:
            cells = [problem.name, problem.level, *row(problem)]
            lines += ["| " + " | ".join(cells) + " |"]
    return "\n".join([*lines, ""])


def load(folder: Path) -> list[Problem]:
    """Every data set of a folder, easy ones first."""
    levels = ("lower", "average", "higher")
    found = [read(path) for path in sorted(folder.glob("*.dat"))]
    return sorted(found, key=lambda problem: levels.index(problem.level))


def main() -> None:
    shared = Path(os.environ.get("LIKELY_SHARED", ROOT.parent / "shared"))
    parser = argparse.ArgumentParser(prog="python -m benchmarks.nist")
    parser.add_argument(
        "folder", nargs="?", type=Path, default=shared / "data" / "nist"
    )
    parser.add_argument("--write", action="store_true", help="renew the table in docs/")
    options = parser.parse_args()
    text = tables(load(options.folder))
    print(text)
    if options.write:
        page = PAGE.read_text("utf-8")
        before, _, rest = page.partition(START)
        _, _, after = rest.partition(END)
        PAGE.write_text(f"{before}{START}\n{text}\n{END}{after}", "utf-8")


if __name__ == "__main__":
    main()
