"""The one error of this room."""

from likely.core.checks import InputError


class FileError(InputError):
    """A file that cannot be loaded or saved; the message says why and what to do."""
