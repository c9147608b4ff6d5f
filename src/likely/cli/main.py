"""The `likely` command: results on stdout, progress and errors on stderr.

Exit status: 0 success, 1 the run failed, 2 bad input, 130 stopped by Ctrl-C. Modules are
imported when a command needs them, so that `likely --help` waits for neither JAX nor
scikit-learn.
"""

import json
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.main import get_current_context

from likely import __version__
from likely.cli.interrupt import prompt_interrupt

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Out = Annotated[Path, typer.Option(help="Folder for the result.")]
Seed = Annotated[int, typer.Option(min=0, help="The same seed, the same result.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite an earlier result.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Data = Annotated[
    str,
    typer.Argument(
        help="CSV, TSV, Excel, JSON, Parquet or Arrow file, - for stdin, or a data set."
    ),
]
Coverage = Annotated[float, typer.Option(help="Coverage of intervals and sets.")]


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
def fit(
    data: Data = "diabetes",
    *,
    target: Annotated[str, typer.Option(help="Column to predict [the last].")] = "",
    models: Annotated[
        str, typer.Option(help="Models, separated by commas [all that fit].")
    ] = "",
    folds: Annotated[int, typer.Option(min=2, max=100, help="Folds of the rows.")] = 5,
    effort: Annotated[str, typer.Option(help="quick, normal or thorough.")] = "normal",
    seed: Seed = 0,
    out: Out = Path("likely-run"),
    family: Annotated[str, typer.Option(help="How the target is distributed.")] = "",
    coverage: Coverage = 0.9,
    kind: Annotated[
        list[str] | None,
        typer.Option(help="Set a kind: COLUMN=KIND; may be given several times."),
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option(help="Column to leave out; may be given several times."),
    ] = None,
    weight: Annotated[str, typer.Option(help="Column of row weights.")] = "",
    groups: Annotated[
        str, typer.Option(help="Column of groups that stay together.")
    ] = "",
    time: Annotated[
        str, typer.Option(help="Column of times: the past predicts the future.")
    ] = "",
    event: Annotated[
        str, typer.Option(help="Column of events: 1 happened at that time, 0 not yet.")
    ] = "",
    spec: Annotated[
        Path | None, typer.Option(help="Repeat the run of a spec.toml file.")
    ] = None,
    boxes: Annotated[
        str,
        typer.Option(
            help="Boxes in the images of a folder: COCO's JSON file, or a folder of Pascal "
            "VOC's XML or YOLO's text files; trains a detector."
        ),
    ] = "",
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Compare models on a table, from the null model to networks, and save the best.

    With --boxes, DATA is a folder of images, and a detector of objects is trained.
    """
    if spec is not None:
        _check_alone("spec", ("out", "force", "as_json"))
    if boxes:
        _check_alone(
            "boxes",
            ("data", "effort", "seed", "out", "coverage", "force", "as_json"),
            "trains a detector",
        )
    _check_free(out, force)
    if boxes:
        _fit_detector(data, boxes, (effort, seed, coverage), out, as_json)
        return
    with _errors_as_sentences():
        from likely.cli.fit import run_with_progress
        from likely.workbench.spec import Spec

        if spec is not None:
            settings = Spec.read(spec)
        else:
            names = [name.strip() for name in models.split(",")]
            settings = Spec(
                data=data,
                target=target,
                family=family,
                models=tuple(filter(None, names)),
                folds=folds,
                effort=effort,
                seed=seed,
                coverage=coverage,
                kinds=_pairs(kind or []),
                drop=tuple(drop or ()),
                weight=weight,
                groups=groups,
                time=time,
                event=event,
            )
        result = run_with_progress(settings, out)
    _show_run(result, out, as_json)


@app.command()
def resume(
    folder: Annotated[Path, typer.Argument(help="Folder of a run.")],
    as_json: Json = False,
) -> None:
    """Continue a run that was interrupted, to the same result."""
    with _errors_as_sentences():
        from likely.cli.fit import resume_with_progress

        result = resume_with_progress(folder)
    _show_run(result, folder, as_json)


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(help="Folder of a run.")],
    as_json: Json = False,
) -> None:
    """Show the result of a run."""
    with _errors_as_sentences():
        from likely.workbench.runs import read_report

        found = read_report(folder)
    _show_report(found, folder, as_json)


@app.command()
def compare(
    folders: Annotated[list[Path], typer.Argument(help="Folders of finished runs.")],
    as_json: Json = False,
) -> None:
    """Compare finished runs with the first, on the same held-out rows if they can be."""
    with _errors_as_sentences():
        from likely.workbench.runs import compare as compared

        found = compared(*folders)
    _print(found.to_dict(), found.rows, as_json)
    if not as_json:
        _print_lines(*found.sentences)


@app.command()
def predict(
    model: Annotated[
        Path, typer.Argument(help="A saved model, or the folder of a run.")
    ],
    data: Data,
    *,
    coverage: Coverage = 0.9,
    key: Annotated[
        str,
        typer.Option(help="Column that names the rows [an identifier, or numbers]."),
    ] = "",
    explain: Annotated[
        bool, typer.Option("--explain", help="Tell which columns matter for each row.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="CSV file [stdout].")] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Predict new rows, with prediction intervals or sets."""
    if out is not None and out.exists() and not force:
        _fail(2, f"{out} exists; overwrite it with --force or name another.")
    with _errors_as_sentences():
        from likely.cli.predict import predictions

        text = predictions(
            model, data, coverage, key=key, explained=explain, as_json=as_json
        )
        if out is not None:
            out.write_text(text, encoding="utf-8")
    if out is None:
        typer.echo(text, nl=False)


@app.command()
def sample(
    data: Data,
    *,
    rows: Annotated[
        int, typer.Option(min=0, help="Rows to draw [as many as there are].")
    ] = 0,
    out: Annotated[Path, typer.Option(help="File to write.")] = Path("synthetic.csv"),
    model: Annotated[
        str,
        typer.Option(help="Models to choose from, separated by commas; quick, or all."),
    ] = "quick",
    target: Annotated[
        str, typer.Option(help="Column that predictors learn [the last].")
    ] = "",
    seed: Seed = 0,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Draw a synthetic table like a real one, with a report of fidelity and privacy."""
    beside = out.with_name(f"{out.stem}.report.json")
    for path in (out, beside):
        if path.is_dir():
            _fail(2, f"{path} is a folder; name a file with --out.")
        if path.exists() and not force:
            _fail(2, f"{path} exists; overwrite it with --force or name another.")
    with _errors_as_sentences():
        from likely.cli.sample import sample_table

        found = sample_table(
            data, out, rows=rows, model=model, target=target, seed=seed
        )
    _print(found.to_dict(), found.column_rows(), as_json)
    if not as_json:
        _print_lines(
            *found.sentences(),
            f"the table: {out} ({len(found.made.table):,} rows)",
            f"the report: {beside}",
        )


@app.command()
def models(as_json: Json = False) -> None:
    """List the models that `likely fit` compares."""
    with _errors_as_sentences():
        from likely.workbench.candidates import CANDIDATES, STACK

        rows = [
            {"name": c.name, "model": c.label, "targets": ", ".join(c.kinds)}
            for c in CANDIDATES
        ]
        rows.append({**rows[0], "name": STACK, "model": "stacked mixture"})
    _print({"models": rows}, rows, as_json)


@app.command()
def datasets(as_json: Json = False) -> None:
    """List the data sets: bundled, synthetic and downloadable ones."""
    with _errors_as_sentences():
        from likely.data import registry

        rows = [{"name": k, "what": v} for k, v in registry.names().items()]
    _print({"datasets": rows}, rows, as_json)


@app.command()
def doctor(as_json: Json = False) -> None:
    """Show versions and devices, and test that computations are correct."""
    from rich.console import Console

    with _errors_as_sentences(), Console(stderr=True).status("finding devices"):
        from likely.cli.doctor import as_rows, examine

        result = examine()
    _print(result, as_rows(result), as_json)
    if not all(result["self_test"].values()):
        _fail(1, "the self-test failed; reinstall jax and jaxlib.")


@app.command()
def bench(
    *,
    only: Annotated[
        str,
        typer.Option(
            help="Jobs, separated by commas [all]: ridge, logistic, hundred, poisson, glm, "
            "search, conformal, boosting, network."
        ),
    ] = "",
    minutes: Annotated[
        float, typer.Option(help="No further comparison begins after so many.")
    ] = 5.0,
    size: Annotated[
        float, typer.Option(help="Share of the rows of each table, such as 0.1.")
    ] = 1.0,
    out: Out = Path("likely-bench"),
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Measure this machine against scikit-learn and the other peers that are installed."""
    _check_free(out, force)
    names = [name.strip() for name in only.split(",")]
    with _errors_as_sentences():
        from likely.cli.bench import PAGE, bench_with_progress

        jobs = tuple(filter(None, names))
        found = bench_with_progress(jobs, out, minutes=minutes, size=size)
    _print(found.to_dict(), found.table or [{"job": "none"}], as_json)
    if not as_json:
        _print_lines(*found.sentences, f"the page: {out / PAGE}")


def _pairs(kinds: list[str]) -> dict[str, str]:
    """COLUMN=KIND options as a dictionary."""
    found = {}
    for pair in kinds:
        name, mark, kind = pair.rpartition("=")
        if not mark or not name:
            _fail(2, f"--kind is {pair!r}; write it as COLUMN=KIND.")
        found[name] = kind
    return found


def _fit_detector(
    images: str, boxes: str, settings: tuple[str, int, float], out: Path, as_json: bool
) -> None:
    """Train a detector on a folder of images, and show how good it is."""
    with _errors_as_sentences():
        from likely.cli.fit import detect_with_progress
        from likely.workbench.detection.spec import DetectionSpec

        result = detect_with_progress(DetectionSpec(images, boxes, *settings), out)
    if as_json:
        typer.echo(json.dumps(result.report, indent=1))
        return
    rows = [
        {"class": name, "average precision": value}
        for name, value in result.report["measured"]["by_class"].items()
    ]
    _print({}, rows or [{"class": "none", "average precision": None}], as_json)
    _print_lines(*result.sentences, f"the report: {out / 'report.html'}")


def _check_alone(
    name: str, allowed: tuple[str, ...], why: str = "holds all settings"
) -> None:
    """Refuse other settings beside an option that holds them all, or cannot use them."""
    context: Any = get_current_context()
    for other in context.params:
        given = str(context.get_parameter_source(other))
        if "COMMANDLINE" in given and other not in (name, *allowed):
            option = "the data" if other == "data" else f"--{other}"
            _fail(2, f"--{name} {why}, so {option} cannot be given too.")


def _show_run(result: Any, out: Path, as_json: bool) -> None:
    _show_report(result.report, out, as_json)


def _show_report(report: Any, folder: Path, as_json: bool) -> None:
    """Print the comparison of models, the verdict and the findings of a report."""
    from likely.workbench.report import verdict

    if as_json:
        typer.echo(report.to_json(), nl=False)
        return
    _print({}, verdict.compact(verdict.ladder_rows(report)), as_json)
    target = report.target
    _print_lines(
        *(
            f"left out: {label}, because {why}."
            for label, why in report.skipped.items()
        ),
        *verdict.shrunk_lines(report),
        f"{target.name} is {target.kind}, because {target.reason}; family "
        f"{target.family} (change it with --family).",
        *verdict.verdict(report),
        *verdict.findings_lines(report),
        f"the report: {folder / 'report.html'}",
    )


def _print_lines(*lines: str) -> None:
    for line in lines:
        typer.echo(line)


def _check_free(out: Path, force: bool) -> None:
    """Refuse to overwrite an earlier result without --force."""
    if out.exists() and not out.is_dir():
        _fail(2, f"{out} is a file; name a folder with --out.")
    if not force and out.is_dir() and any(out.iterdir()):
        unfinished = (out / "work").is_dir()
        also = f", or continue it: likely resume {out}" if unfinished else ""
        _fail(
            2, f"{out} is not empty; overwrite it with --force or name another{also}."
        )


@contextmanager
def _errors_as_sentences() -> Iterator[None]:
    """Show an error as a sentence, and warnings not at all unless Python is asked for them."""
    try:
        with prompt_interrupt(lambda: "stopped."), warnings.catch_warnings():
            if not sys.warnoptions:
                warnings.simplefilter("ignore")
            yield
    except typer.Exit:
        raise
    except KeyboardInterrupt:
        _fail(130, "stopped.")
    except Exception as error:
        from likely.core import InputError

        sentence = " ".join(str(error).split()) or type(error).__name__
        _fail(2 if isinstance(error, InputError) else 1, sentence)


def _fail(status: int, sentence: str) -> NoReturn:
    typer.echo(f"likely: {sentence}", err=True)
    raise typer.Exit(status)


def _print(result: dict, rows: list[dict], as_json: bool) -> None:
    """Print the whole result as JSON, or its rows as a table."""
    if as_json:
        typer.echo(json.dumps(result, indent=1))
        return
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table

    table = Table(box=SIMPLE, padding=(0, 1, 0, 0), pad_edge=False)
    cells = [[_cell(value) for value in row.values()] for row in rows]
    for name, column in zip(rows[0], zip(*cells, strict=True), strict=True):
        text = any(letter.isalpha() for cell in column for letter in cell)
        table.add_column(name, justify="left" if text else "right", no_wrap=not text)
    for row in cells:
        table.add_row(*row)
    Console(markup=False, highlight=False).print(table)


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
