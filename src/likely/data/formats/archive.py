"""Zip files: an Excel sheet is one; one that holds a single table is unpacked."""

import io
import zipfile

from likely.data.errors import check_expansion, table_error
from likely.data.formats.content import Content, content_of

ZIP = b"PK\x03\x04"
SHEETS = {"[Content_Types].xml", "mimetype"}
"""Members of the zip files that spreadsheets are."""


def unpacked(content: Content) -> tuple[Content, tuple[str, ...]]:
    """The content of the only file in a zip archive, and a note; others as they are."""
    if not content.head(4).startswith(ZIP):
        return content, ()
    try:
        with zipfile.ZipFile(io.BytesIO(content.whole())) as archive:
            names = [i.filename for i in archive.infolist() if not i.is_dir()]
            if SHEETS & set(names):
                return content, ()
            tables = [name for name in names if not name.startswith("__MACOSX/")]
            if len(tables) != 1:
                problem = (
                    f"is a zip archive of {len(tables)} files; unpack it and give one."
                )
                raise table_error(content.path, problem)
            check_expansion(
                content.path, archive.getinfo(tables[0]).file_size, content.stored
            )
            found = content_of(archive.read(tables[0]))
    except (zipfile.BadZipFile, OSError, RuntimeError, NotImplementedError) as error:
        problem = f"is a damaged zip archive or Excel sheet ({error}); save it as CSV."
        raise table_error(content.path, problem) from error
    return found._replace(path=content.path), (
        f"{tables[0]!r} in the archive was read",
    )
