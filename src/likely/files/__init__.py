"""Saving and loading without pickle: no file runs code. Model cards."""

from likely.files.errors import FileError
from likely.files.model import load, read_card, save
from likely.files.table import FUNCTIONS

__all__ = ["FUNCTIONS", "FileError", "load", "read_card", "save"]
