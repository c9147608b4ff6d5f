"""The tool that forges files, as a module, and a short way to use it."""

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

from ledger import ROOT

_spec = importlib.util.spec_from_file_location(
    "fuzz_files", ROOT / "tools" / "fuzz_files.py"
)
fuzz = importlib.util.module_from_spec(_spec)
sys.modules["fuzz_files"] = fuzz
_spec.loader.exec_module(fuzz)

BLANK = {"versions": {}, "card": None, "object": None}


def forge(path: Path, node: Any, header: Any = "", tensors: bytes = b"") -> Path:
    """A signed file whose object is this JSON (a value, or text as it is)."""
    text = node if isinstance(node, str) else json.dumps(node)
    document = fuzz.with_object(BLANK, text)
    path.write_bytes(fuzz.join(header or {}, document, tensors))
    return path


def entry(dtype: Any = "F64", shape: Any = (2,), offsets: Any = (0, 16)) -> dict:
    """A header with one tensor, `t`."""
    return {"t": {"dtype": dtype, "shape": shape, "data_offsets": offsets}}
