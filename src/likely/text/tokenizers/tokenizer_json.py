"""Byte pairs in `tokenizer.json`, the format of Hugging Face's `tokenizers`.

The file has a vocabulary, merges, special tokens and the way texts are split. Byte pairs of bytes
(`ByteLevel`) and of characters are read and written; what would make other tokens of a text is
refused.
"""

import json
import warnings
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import regex

from likely.core.checks import InputError
from likely.files.errors import FileError
from likely.text.tokenizers.alphabet import is_written
from likely.text.tokenizers.pieces import GPT2

Document = dict[str, Any]

# Writing ------------------------------------------------------------------------------


def write(
    path: str | PathLike,
    vocabulary: Sequence[str],
    special: Mapping[str, int],
    merges: np.ndarray,
    *,
    pattern: str | None,
    bytewise: bool,
    unknown: str | None,
) -> None:
    """Write a vocabulary; the arguments are those of `PairEncoder`."""
    seen: set[str] = set()
    for token in vocabulary:
        if token in seen:
            raise InputError(
                f"{token!r} is a special token and one of the ordinary text too, which the "
                "file cannot tell apart; rename the special token."
            )
        seen.add(token)
    document = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [_added(token, special[token]) for token in special],
        "normalizer": None,
        "pre_tokenizer": _splitting(pattern, bytewise),
        "post_processor": None,
        "decoder": _byte_level() if bytewise else {"type": "Fuse"},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": unknown,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {token: i for i, token in enumerate(vocabulary)},
            "merges": [[vocabulary[a], vocabulary[b]] for a, b, _ in merges.tolist()],
        },
    }
    text = json.dumps(document, ensure_ascii=False, indent=2)
    try:
        Path(path).write_text(text, "utf-8")
    except UnicodeEncodeError as error:
        raise InputError(
            f"the vocabulary has {text[error.start]!r}, half of a surrogate pair, which the "
            "file cannot hold; leave such texts out of `fit`."
        ) from None


def _added(token: str, i: int) -> Document:
    options = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": i, "content": token, **options, "special": True}


def _byte_level(split: bool = True) -> Document:
    options = {"add_prefix_space": False, "trim_offsets": True, "use_regex": split}
    return {"type": "ByteLevel", **options}


def _splitting(pattern: str | None, bytewise: bool) -> Document | None:
    """The section that says how texts are split."""
    if bytewise and pattern in ("gpt2", None):
        return _byte_level(pattern == "gpt2")
    if pattern == "whitespace":
        step: Document = {"type": "Whitespace"}
    elif pattern is None:
        return None
    else:
        own = {"Regex": GPT2 if pattern == "gpt2" else pattern}
        step = {
            "type": "Split",
            "pattern": own,
            "behavior": "Isolated",
            "invert": False,
        }
    if not bytewise:
        return step
    return {"type": "Sequence", "pretokenizers": [step, _byte_level(False)]}


# Reading ------------------------------------------------------------------------------


def read(path: str | PathLike) -> tuple[Document, Document]:
    """The settings, and the fitted attributes, of the tokenizer in a file."""
    try:
        document = json.loads(Path(path).read_text("utf-8"))
        return _read(document)
    except FileError as error:
        raise FileError(f"{str(path)!r} cannot be read: {error}") from None
    except OSError as error:
        reason = error.strerror or error
        raise FileError(f"{str(path)!r} cannot be read: {reason}.") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise FileError(
            f"{str(path)!r} cannot be read: it is no tokenizer.json "
            f"({type(error).__name__}: {error})."
        ) from None


def _read(document: Document) -> tuple[Document, Document]:
    model = document["model"]
    _check(document, model)
    pattern, bytewise = _pattern(document.get("pre_tokenizer"))
    added = sorted(document.get("added_tokens") or [], key=lambda entry: entry["id"])
    special = {str(entry["content"]): int(entry["id"]) for entry in added}
    unknown = model.get("unk_token")
    if unknown is not None:
        special.setdefault(unknown, model["vocab"][unknown])
    ids = {**model["vocab"], **special}
    vocabulary = sorted(ids, key=ids.__getitem__)
    if [ids[token] for token in vocabulary] != list(range(len(ids))):
        raise FileError("the ids of its tokens are not 0, 1, 2, ... without gaps.")
    if bytewise:
        unknown = None  # there is no unknown byte
        odd = [t for t in vocabulary if t not in special and not is_written(t)]
        if odd:
            raise FileError(f"its token {odd[0]!r} is not written as bytes are.")
    merges = [_merge(entry, ids) for entry in model["merges"]]
    _warn(document, added)
    settings = {
        "n_tokens": len(vocabulary),
        "pattern": pattern,
        "level": "bytes" if bytewise else "characters",
        "special_tokens": tuple(special),
    }
    fitted = {
        "special_tokens_": special,
        "vocabulary_": vocabulary,
        "merges_": np.array(merges, np.int32).reshape(-1, 3),
        "unknown_token_": unknown,
    }
    return settings, fitted


def _check(document: Document, model: Document) -> None:
    """Refuse what would make other tokens of a text."""
    if model.get("type", "BPE") != "BPE":
        raise FileError(
            f"its model is {model['type']}; byte pairs (BPE) are read here."
        )
    normalizer = document.get("normalizer")
    if normalizer is not None and normalizer.get("normalizers") != []:
        raise FileError(
            f"it changes texts first ({normalizer['type']}), which is not done here; "
            "remove its normalizer, and change the texts yourself."
        )
    refused = (
        "dropout",
        "continuing_subword_prefix",
        "end_of_word_suffix",
        "fuse_unk",
        "byte_fallback",
        "ignore_merges",
    )
    for name in refused:
        if model.get(name):
            raise FileError(
                f"its model has {name}={model[name]!r}, which is not known here."
            )


def _pattern(section: Document | None) -> tuple[str | None, bool]:
    """How texts are split, and whether symbols are bytes."""
    if section is None:
        return None, False
    kind = section["type"]
    if kind == "Whitespace":
        return "whitespace", False
    if kind == "ByteLevel":
        if section.get("add_prefix_space", True):
            raise FileError(
                "it puts a space before each text (add_prefix_space), which is not done "
                "here; set it to false, and put the space there yourself."
            )
        return ("gpt2" if section.get("use_regex", True) else None), True
    if kind == "Split":
        if section["behavior"] != "Isolated" or section.get("invert"):
            raise FileError(
                f"it splits texts with behavior={section['behavior']!r}, "
                f"invert={section.get('invert', False)}; 'Isolated' is known here."
            )
        own = section["pattern"]
        found = own["Regex"] if "Regex" in own else regex.escape(own["String"])
        return ("gpt2" if found == GPT2 else found), False
    if kind == "Sequence":
        steps = [_pattern(step) for step in section["pretokenizers"]]
        patterns = [pattern for pattern, _ in steps if pattern is not None]
        if len(patterns) <= 1 and not any(bytewise for _, bytewise in steps[:-1]):
            return next(iter(patterns), None), bool(steps) and steps[-1][1]
        kind = "several steps"
    raise FileError(f"it splits texts by {kind}, which is not known here.")


def _merge(entry: Any, ids: Mapping[str, int]) -> tuple[int, int, int]:
    """The ids of a merge, which is a pair or two tokens with a space between them."""
    a, b = entry.split(" ") if isinstance(entry, str) else entry
    if a + b not in ids:
        raise FileError(f"the merge of {a!r} and {b!r} is no token of its vocabulary.")
    return ids[a], ids[b], ids[a + b]


def _warn(document: Document, added: Sequence[Document]) -> None:
    """Say which parts of the file have no effect here."""
    names = ("single_word", "lstrip", "rstrip")
    unused = [name for name in names if any(entry.get(name) for entry in added)]
    unused += [name for name in ("truncation", "padding") if document.get(name)]
    post = document.get("post_processor")
    if post is not None and post.get("type") != "ByteLevel":
        unused.append(f"post_processor ({post.get('type')})")
    if unused:
        warnings.warn(
            f"these parts of the file have no effect here: {', '.join(unused)}.",
            UserWarning,
            stacklevel=5,
        )
