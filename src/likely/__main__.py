"""`python -m likely` is the `likely` command."""

from likely.cli.main import app

app(prog_name="likely")
