"""Text as bytes and back, for any text and any bytes.

UTF-8 has no code for half of a surrogate pair, which a Python string may hold; it gets the three
bytes that its number would have. Bytes that are no UTF-8 become U+FFFD when text is asked for.
"""

import codecs

import numpy as np


def to_bytes(text: str) -> bytes:
    """The UTF-8 of a text; halves of surrogate pairs get three bytes each."""
    return text.encode("utf-8", "surrogatepass")


def to_text(data: bytes) -> str:
    """The text of UTF-8, as `to_bytes` writes it; U+FFFD where the bytes are no text."""
    return data.decode("utf-8", "likely.lenient")


def character_of_byte(data: bytes) -> np.ndarray:
    """(b,) for each byte of a text, which of its characters it belongs to."""
    values = np.frombuffer(data, np.uint8)
    return np.cumsum((values & 0xC0) != 0x80) - 1


def _lenient(error: UnicodeError) -> tuple[str | bytes, int]:
    try:
        return codecs.lookup_error("surrogatepass")(error)
    except UnicodeError:
        return codecs.replace_errors(error)


codecs.register_error("likely.lenient", _lenient)
