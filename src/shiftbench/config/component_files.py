"""The files of a user's folder of components, which must be texts before they are looked into."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from shiftbench.config import components, user_components
from shiftbench.core import file_errors


def use(folder: Path) -> list[str]:
    """Add the components of a folder, or return what is wrong with them and add none."""
    folder = folder.resolve()
    if folder.is_file():
        return [
            f"{folder} is a file; name the folder with learners/ or others that have such files"
        ]
    files = [file for kind in components.FOLDERS for file in (folder / kind).glob("[!_]*.py")]
    wrong = [text for file in sorted(files) for text in _of_file(file)]
    return wrong or user_components.use(folder)


def _of_file(file: Path) -> Iterator[str]:
    """Yield what is wrong with a file as a text, and with a name that none can import."""
    stem = file.stem
    if not re.match("[A-Za-z]", stem) and not (stem.isidentifier() and stem == stem.lower()):
        yield f"{file}: this name cannot be imported; let it begin with a letter from a to z"
    try:
        content = file.read_bytes()
        content.decode()
    except OSError as error:
        yield file_errors.message(error, file)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        yield f"{file}, line {line}: it is not UTF-8 ({error.reason}); save it as UTF-8"
    else:
        if (end := content.find(b"\0")) >= 0:
            line = content.count(b"\n", 0, end) + 1
            yield f"{file}, line {line}: it has a NUL character, so it is not text; write it again"
