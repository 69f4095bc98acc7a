"""Streams from Python: a family of the library with its settings, or a table in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import xarray as xr

from shiftbench.api import _frame_files
from shiftbench.api.arguments import plain, text, whole
from shiftbench.config import components, jobs, one_stream
from shiftbench.config.compatibility_words import listed
from shiftbench.core.errors import UserError
from shiftbench.core.interface import Problem, Task
from shiftbench.core.suggestions import unknown
from shiftbench.data.store import raw, zarr_zip
from shiftbench.runtime import cached_jobs

if TYPE_CHECKING:
    import pandas as pd

TABLE, SERIES = "table-file", "series-file"
"""The families that read what `stream_from` is given."""
CLASSES = ("classes", "two-classes")
"""Kinds of a target that are the names of classes."""


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
            raise UserError(f"realisation {realisation}: {self.name} has {number}, counted from 0")
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
            attributes.get("gaps", ""),
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
    _refuse_arguments(frame, settings, name=name, target=target, time=time)
    table = _frame_files.table(frame, name, time)
    if target in table.columns and settings.get("kind") in CLASSES:
        _frame_files.refuse_changed_classes(table[target])
    named = {"time": time, "target": target}
    settings = {key: one for key, one in named.items() if one is not None} | settings
    path = _frame_files.written(table, name)
    family = SERIES if target is None else TABLE
    definition = {"family": family, "path": str(path), "title": name}
    try:
        return _built(name, definition | plain("settings", settings))
    except UserError as error:
        raise type(error)(_frame_files.of_rows(str(error), path, table)) from None


def _refuse_arguments(frame: Any, settings: Mapping[str, Any], **texts: str | None) -> None:
    """Raise UserError for arguments of `stream_from` of a wrong type, or that do not go together.

    texts: name, target and time.
    """
    if not hasattr(frame, "to_csv"):
        raise UserError(f"frame is a {type(frame).__name__}; give a pandas DataFrame or Series")
    if others := {"family", "path"} & settings.keys():
        raise UserError(f"{listed(others)}: the data come from the frame; leave this out")
    for key, given in texts.items():
        if given is not None or key == "name":
            text(key, given)


def _built(name: str, definition: dict[str, Any]) -> Stream:
    """Return a checked stream, built or read from the cache."""
    config = one_stream.config_of(name, definition)
    data = cached_jobs.raw_folder(definition.get("dataset"))
    planned = jobs.of_stream(config, name, "results", data)
    places = cached_jobs.made(planned)
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
