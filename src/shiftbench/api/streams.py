"""Streams from Python: a family of the library with its settings, or a table in memory."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import xarray as xr
from pydantic import TypeAdapter, ValidationError

from shiftbench.api import _cached_jobs
from shiftbench.api.arguments import plain, refuse_doubled, text, whole
from shiftbench.config import components, jobs, one_stream
from shiftbench.config.base_model import Name
from shiftbench.config.compatibility_words import listed
from shiftbench.core import atomic_files
from shiftbench.core.errors import UserError
from shiftbench.core.interface import Problem, Task
from shiftbench.core.suggestions import unknown
from shiftbench.data import times
from shiftbench.data.store import raw, zarr_zip

if TYPE_CHECKING:
    import pandas as pd

TABLE, SERIES = "table-file", "series-file"
"""The families that read what `stream_from` is given."""


@dataclass(frozen=True)
class Stream:
    """A sequence of tasks whose distribution changes, and all that is known of it.

    Attributes
    ----------
    name
        The name of the stream in scores.
    definition
        The family and its settings, as under `streams` in a config.
    store
        All data with the true changes (`shift`), labelled; the units are in the attributes. A tree
        of data sets for streams of text.
    """

    name: str
    definition: Mapping[str, Any]
    store: xr.Dataset | xr.DataTree = field(repr=False, compare=False)

    @cached_property
    def problem(self) -> Problem:
        """The shapes of the tasks, which a method may know before it starts."""
        return components.load("streams", self.definition["family"]).problem(self.store)

    def tasks(self, realisation: int = 0) -> Iterator[Task]:
        """Yield the tasks of one realisation in order.

        Parameters
        ----------
        realisation
            The number of the realisation, from 0. Seed s of a run has number s modulo their number.

        Yields
        ------
        Task
            `train`, `validation` and `test`, each a batch or None: `inputs` [1, n, ...], `targets`
            [1, n] (classes) or [1, n, d] (real values), `mask` [1, n], False for padding. The first
            axis has one repetition.
        """
        number = int(self.store.sizes["realisation"])
        realisation = whole("realisation", realisation)
        if not realisation < number:
            raise UserError(f"realisation {realisation}: {self.name} has {number}, from 0 on")
        family = components.load("streams", self.definition["family"])
        for t in range(self.problem.n_tasks):
            yield family.task(self.store, [realisation], t)

    def __repr__(self) -> str:
        problem, attributes = self.problem, self.store.attrs
        shape = " x ".join(map(str, problem.input_shape))
        facts = [
            f"{problem.n_tasks:,} tasks of up to {problem.n_train:,} rows",
            f"{problem.kind}: inputs {shape}, outputs {problem.n_outputs}",
            f"{self.store.sizes['realisation']} realisations",
            f"licence: {attributes.get('licence') or 'not stated'}",
            attributes.get("left_out", ""),
        ]
        lines = [f'<stream "{self.name}": {attributes["title"]}', *filter(None, facts)]
        return "\n  ".join(lines) + ">"


def stream(family: str, *, name: str | None = None, **settings: Any) -> Stream:
    """Return a stream of a family of the library, the same to the byte as that of a workflow.

    It is made at the first call, which may fetch raw data (from SHIFTBENCH_MIRROR if that is set),
    and read from the user's cache afterwards.

    Parameters
    ----------
    family
        What `shiftbench list streams` prints, such as "electricity" or "transformed-images".
    name
        The name in scores, in small letters, digits and hyphens; that of the family if not given.
    **settings
        Settings of the family, as in a config (config/README.md). Paths start in the working
        directory.

    Returns
    -------
    Stream

    Raises
    ------
    UserError
        With all that is wrong with the family and its settings; for data that cannot be fetched.

    Examples
    --------
    >>> import shiftbench as sb
    >>> steps = sb.stream("toy-step", points=6)
    >>> steps.problem.n_tasks
    6
    >>> [task.train.targets.shape for task in steps.tasks()][:2]
    [(1, 1, 1), (1, 1, 1)]
    """
    _refuse_data_set(text("family", family))
    definition = {"family": family} | plain("settings", settings)
    return _built(family if name is None else text("name", name), definition)


def stream_from(
    frame: pd.DataFrame | pd.Series,
    *,
    target: str | None = None,
    time: str | None = None,
    name: str = "frame",
    **settings: Any,
) -> Stream:
    """Return the stream of a table in memory, row after row.

    With a target it is that of the family `table-file`: predict the target of each row from its
    other columns. Without one it is that of `series-file`: the columns are a series.

    Parameters
    ----------
    frame
        A pandas DataFrame or Series [row, column] in the order of time, columns named by text.
    target
        The column to predict; None for a series.
    time
        The column of time, or the name of the index: numbers, dates, or periods, which are dated
        by their start. Times of a zone become those of UTC.
    name
        The name in scores, in small letters, digits and hyphens.
    **settings
        Settings of the family, as in a config: `kind="classes"`, `rows_per_task=48`,
        `columns=[...]`, `scaling="none"`.

    Returns
    -------
    Stream

    Raises
    ------
    UserError
        For a missing column, values that the family refuses (with row and column), wrong settings.

    Examples
    --------
    >>> import pandas as pd
    >>> import shiftbench as sb
    >>> columns = {"hour": [1, 2, 3], "load": [5.0, 7.0, 6.0], "price": [2.0, 3.0, 2.5]}
    >>> prices = pd.DataFrame(columns)
    >>> market = sb.stream_from(prices, target="price", time="hour")
    >>> market.problem.n_tasks, market.problem.input_shape
    (3, (1,))
    """
    if not hasattr(frame, "to_csv"):
        raise UserError(f"frame is a {type(frame).__name__}; give a pandas DataFrame or Series")
    if others := {"family", "path"} & settings.keys():
        raise UserError(f"{listed(others)}: the frame stands for these; leave them out")
    for key, given in {"name": name, "target": target, "time": time}.items():
        if given is not None or key == "name":
            text(key, given)
    table = _with_time(_as_frame(frame), time)
    _refuse_names(name, table)
    if time in table.columns:
        table = table.assign(**{str(time): _dated(table[time])})
    named = {"time": time, "target": target}
    family = SERIES if target is None else TABLE
    settings = {key: one for key, one in named.items() if one is not None} | settings
    path = _written(table, name)
    definition = {"family": family, "path": str(path), "title": name}
    try:
        return _built(name, definition | plain("settings", settings))
    except UserError as error:
        raise type(error)(_of_rows(str(error), path, table)) from None


def _built(name: str, definition: dict[str, Any]) -> Stream:
    """Return a checked stream, built or read from the cache."""
    config = one_stream.config_of(name, definition)
    data = _cached_jobs.raw_folder(definition.get("dataset"))
    planned = jobs.of_stream(config, name, "results", data)
    places = _cached_jobs.made(planned, data)
    return Stream(name, definition, zarr_zip.read_any(places[planned[-1].outputs[0]]))


def _refuse_data_set(family: str) -> None:
    """Raise UserError for the name of a data set, with the families that read it."""
    families = components.names("streams")
    if family in families or family not in raw.table():
        return
    readers = [
        one
        for one in families
        if f"'{family}'" in components.fields("streams", one).get("dataset", ("",))[0]
    ]
    if readers:
        calls = " or ".join(f'stream("{one}", dataset="{family}")' for one in readers)
        raise UserError(f"{unknown('family', family, families)}. It is a data set: {calls}")


def _as_frame(given: Any) -> pd.DataFrame:
    """Return a frame as it is, and a Series as a frame of one column."""
    if given.ndim == 2:
        return given
    return given.to_frame("value" if given.name is None else given.name)


def _refuse_names(name: str, table: pd.DataFrame) -> None:
    """Raise UserError for names that the family could not read from a file."""
    try:
        TypeAdapter(Name).validate_python(name)
    except ValidationError:
        raise UserError(
            f'name: "{name}"; give small letters, digits and hyphens, at most 100'
        ) from None
    if table.columns.nlevels > 1:
        raise UserError("the columns have several levels; join them to one name each")
    refuse_doubled("columns", table.columns)
    numbers = [str(one) for one in table.columns if _is_number(str(one))]
    if numbers:
        raise UserError(
            f"columns named by numbers: {listed(numbers)}; give them names with letters, such as"
            ' frame.rename(columns=lambda name: f"x{name}")'
        )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _with_time(table: pd.DataFrame, time: str | None) -> pd.DataFrame:
    """Return the table with its index as a column, if that is the column of time."""
    if time is None or time != table.index.name or time in table.columns:
        return table
    return table.reset_index()


def _dated(column: pd.Series) -> pd.Series:
    """Return a column of time as the families read one, to the second. UserError for less."""
    from pandas import DatetimeTZDtype, PeriodDtype  # pandas takes a second

    if isinstance(column.dtype, PeriodDtype):
        texts = column.map(str)
        column = texts if texts.map(times.is_date).all() else column.dt.start_time
    if isinstance(column.dtype, DatetimeTZDtype):
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    if column.dtype.kind == "M" and (column.dt.floor("s") != column).any():
        raise UserError(
            f'the frame, column "{column.name}": times with parts of a second; round them, or give'
            " the seconds as numbers"
        )
    return column


def _written(table: pd.DataFrame, name: str) -> Path:
    """Write a table to the cache, where the families can read it; return the file.

    A line of the file is a row: breaks within texts become spaces.
    """
    texts = table.select_dtypes(exclude=["number", "bool", "datetime"]).columns
    single = {
        column: table[column].map(
            lambda cell: " ".join(cell.splitlines()) if isinstance(cell, str) else cell
        )
        for column in texts
    }
    booleans = table.select_dtypes("bool").columns
    flags = {column: table[column].astype("Int64") for column in booleans}
    content = table.assign(**single, **flags).to_csv(index=False, lineterminator="\n")
    try:
        folder = hashlib.sha256(content.encode()).hexdigest()[:40]
    except UnicodeEncodeError as error:
        wrong = content[error.start]
        raise UserError(f"a text has {wrong!r}, which no file can hold; replace it") from None
    path = _cached_jobs.cache_folder() / "frames" / folder / f"{name}.csv"
    if not path.is_file():
        atomic_files.write(path, content)
    return path


def _of_rows(message: str, path: Path, table: pd.DataFrame) -> str:
    """Return an error about a file as one about the table that it was written from."""

    def row(found: re.Match[str]) -> str:
        number = int(found[2]) - 2  # the first line has the names
        return f"{found[1]}row {table.index[number]}" if 0 <= number < len(table) else ""

    file = rf"(stream \S+: )?[^\s,:]*{re.escape(f'{path.parent.name}/{path.name}')}"
    return re.sub(r"(, |\b)line (\d+)", row, re.sub(file, "the frame", message))
