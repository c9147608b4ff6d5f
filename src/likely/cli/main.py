"""The `likely` command: results on stdout, progress and errors on stderr.

Exit status: 0 done, 1 the run failed, 2 bad input. What a command needs is imported
when it runs, so that `likely --help` waits for neither JAX nor scikit-learn.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from likely import __version__

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Out = Annotated[Path, typer.Option(help="Folder for the result.")]
Seed = Annotated[int, typer.Option(min=0, help="Same seed, same result.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite an earlier result.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def _print_version(asked: bool) -> bool:
    if asked:
        typer.echo(f"likely {__version__}")
        raise typer.Exit
    return asked


Version = Annotated[
    bool,
    typer.Option(
        "--version", help="Print the version.", callback=_print_version, is_eager=True
    ),
]


@app.callback()
def _likely(version: Version = False) -> None:
    """Machine learning from maximum likelihood up."""


@app.command()
def demo(
    *,
    out: Out = Path("likely-demo"),
    seed: Seed = 0,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Fit a few models to data that come along, and say how well each does."""
    _check_free(out, force)
    with _errors_as_sentences(), _progress("compiling and fitting"):
        from likely.workbench.demo import run

        result = run(out, seed, force)
    _print(result, result["rows"], as_json)


@app.command()
def doctor(as_json: Json = False) -> None:
    """Say what likely runs on here, and test that it computes correctly."""
    with _errors_as_sentences(), _progress("asking JAX for its devices"):
        from likely.cli.doctor import as_rows, examine

        result = examine()
    _print(result, as_rows(result), as_json)
    if not all(result["self_test"].values()):
        _fail(1, "the self-test failed; reinstall jax and jaxlib.")


def _check_free(out: Path, force: bool) -> None:
    """Refuse to write over an earlier result, unless asked to."""
    if out.exists() and not out.is_dir():
        _fail(2, f"{out} is a file; name a folder with --out.")
    if not force and out.is_dir() and any(out.iterdir()):
        _fail(2, f"{out} is not empty; overwrite it with --force or name another.")


@contextmanager
def _errors_as_sentences() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        from likely.core import InputError

        sentence = " ".join(str(error).split()) or type(error).__name__
        _fail(2 if isinstance(error, InputError) else 1, sentence)


def _fail(status: int, sentence: str) -> NoReturn:
    typer.echo(f"likely: {sentence}", err=True)
    raise typer.Exit(status)


@contextmanager
def _progress(doing: str) -> Iterator[None]:
    """A spinner on stderr while work goes on; silent where nobody watches."""
    from rich.console import Console

    with Console(stderr=True).status(doing):
        yield


def _print(result: dict, rows: list[dict], as_json: bool) -> None:
    """The whole result for programs, or its rows for people: numbers to the right."""
    if as_json:
        typer.echo(json.dumps(result, indent=2))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table()
    for name, value in rows[0].items():
        table.add_column(name, justify="left" if isinstance(value, str) else "right")
    for row in rows:
        table.add_row(*map(_cell, row.values()))
    Console().print(table)


def _cell(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
