"""Recompute streams of a crate from their settings, and runs from their specs and streams.

Arrays of runs are `identical` to the last bit; `rounding`, apart by less than verify.ROUNDING of
the largest number of the array; or `different`. Numbers of summaries have the verdicts of verify.
Which runs are computed again is drawn by the verifier, from all that the config of the crate plans.
"""

from __future__ import annotations

import json
import math
import random
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np
import xarray as xr

from shiftbench.config import components, digest, specs, user_files
from shiftbench.core import instructions
from shiftbench.core.errors import UserError
from shiftbench.core.plain_text import printable
from shiftbench.data.store import zarr_zip
from shiftbench.evaluation.running import harness, stop_signals
from shiftbench.forecast import cost_model
from shiftbench.forecast.estimate import Estimator
from shiftbench.publish import store_checks, verify
from shiftbench.publish.crate_plan import CratedRun, PlannedCrate

SHORTEST = 60.0
"""Seconds that any run may take, whatever its estimate."""
SLOWER = 20.0
"""Factor by which a run may exceed its estimated time."""
MAX_VALUES = 10_000_000
"""Values of a stream that is made again."""
OF_MAKING = ("spec", "code", "versions", "instructions", "data")
"""Attributes of a store that say what made it."""


class Run(Protocol):
    """A run with a name, which no other run has."""

    @property
    def study(self) -> str: ...
    @property
    def method(self) -> str: ...
    @property
    def name(self) -> str: ...


R = TypeVar("R", bound=Run)


class Candidate(NamedTuple, Generic[R]):
    """A run that may be computed again.

    seconds: our estimate of its cost, whatever a crate says. obstacle: why it cannot be computed
    here, empty if it can.
    """

    run: R
    seconds: float
    obstacle: str


class Again(NamedTuple):
    """The result of a recomputation: a name, a verdict (empty if it failed), and details."""

    name: str
    verdict: str
    note: str


class Sample(NamedTuple):
    """Size of a sample: at least `number` runs in all, and this share of the runs of each group.

    A group is a study; with `by_method`, a method of a study. At least one run of each is drawn.
    """

    number: int = 0
    share: float = 0.0
    by_method: bool = False

    def group(self, run: Run) -> tuple[str, ...]:
        """Return the group of a run."""
        return (run.study, run.method) if self.by_method else (run.study,)


NOTHING = Sample()


def candidates(crate: PlannedCrate, known: Estimator) -> list[Candidate[CratedRun]]:
    """Return all runs of a crate, with what they would cost here."""
    return [Candidate(run, known.of(run.spec).cpu, obstacle(crate, run.spec)) for run in crate.runs]


def obstacle(crate: PlannedCrate, spec: specs.Spec) -> str:
    """Return why a run cannot be computed here; empty if it can."""
    if spec["stream"]["name"] not in crate.streams:
        return "its stream is not in the crate"
    if spec.get("device", "cpu") != "cpu":
        return "it ran on a GPU"
    if spec["instructions"] != instructions.in_force() and instructions.available():
        return f"it ran with {spec['instructions']} instructions"
    return ""


def draw(
    from_runs: list[Candidate[R]], sample: Sample, seed: int, seconds: float
) -> list[Candidate[R]]:
    """Return runs drawn with a seed: one of each group, then more, until the sample is complete.

    A run that would take longer than what is left of the seconds is passed over for the next one of
    its group.
    """
    generator = random.Random(seed)
    waiting: dict[tuple[str, ...], list[Candidate[R]]] = {}
    for one in from_runs:
        waiting.setdefault(sample.group(one.run), []).append(one)
    lacking = {
        group: math.ceil(round(sample.share * len(runs), 9)) for group, runs in waiting.items()
    }
    for group, runs in waiting.items():
        waiting[group] = [one for one in runs if not one.obstacle]
        generator.shuffle(waiting[group])
    groups = sorted(waiting)
    generator.shuffle(groups)
    drawn: list[Candidate[R]] = []
    first = sample != NOTHING

    def wants(group: tuple[str, ...]) -> bool:
        asked = first or len(drawn) < sample.number or lacking[group] > 0
        return asked and bool(waiting[group])

    while any(map(wants, groups)):
        for group in groups:
            while wants(group):
                one = waiting[group].pop()
                if one.seconds <= seconds:
                    drawn.append(one)
                    seconds -= one.seconds
                    lacking[group] -= 1
                    break
        first = False
    return sorted(drawn, key=lambda one: one.run.name)


def again(crate: PlannedCrate, one: Candidate[CratedRun]) -> Again:
    """Compute one run again, and compare. UserError where it is stopped or takes far too long."""
    spec, store = one.run.spec, one.run.store
    stream = store_checks.read(crate.streams[spec["stream"]["name"]], crate.limits)
    theirs = store_checks.read_run(store, crate.limits)
    minutes = max(SHORTEST, SLOWER * one.seconds) / 60
    with TemporaryDirectory() as scratch, refusing(one.run.name):
        with _signals_restored():
            made, _ = harness.run_job(spec, stream, Path(scratch), minutes)
        # Writing and reading gives it the types of the store that it is compared with.
        zarr_zip.write(made, Path(scratch, store.name))
        ours = zarr_zip.read(Path(scratch, store.name))
    verdicts = compare(ours, theirs)
    worst = max(verdicts.values(), key=verify.VERDICTS.index)
    notes = [", ".join(name for name in verdicts if verdicts[name] == worst)]
    if worst == "identical":
        notes = [f"all {len(verdicts)} arrays"]
    notes += other_code(spec, *specs.modules_of_run(spec))
    return Again(one.run.name, worst, "; ".join(notes))


def streams_again(crate: PlannedCrate) -> Iterator[Again]:
    """Generate the streams of a crate again, as far as they need no raw data, and compare."""
    for name in sorted(crate.streams):
        spec = specs.stream(crate.plan, name)
        if why := _not_generated(spec):
            yield Again(f"stream {name}", "", why)
            continue
        with TemporaryDirectory() as scratch, refusing(f"stream {name}"):
            settings = components.configured("streams", spec["family"], spec["settings"])
            made = components.load("streams", spec["family"]).build(settings, Path(scratch))
            zarr_zip.write(made, Path(scratch, "made"))
            ours = zarr_zip.read_any(Path(scratch, "made"))
        verdicts = compare(ours, store_checks.read(crate.streams[name], crate.limits))
        worst = max(verdicts.values(), key=verify.VERDICTS.index)
        wrong = ", ".join(key for key in verdicts if verdicts[key] == worst)
        yield Again(f"stream {name}", worst, "made again" if worst == "identical" else wrong)


def _not_generated(spec: specs.Spec) -> str:
    """Return why a stream is not generated again: it needs data, or is large; empty if it is."""
    own = not {*user_files.KEYS}.isdisjoint(components.fields("streams", spec["family"]))
    if own or spec["settings"].get("dataset") or "shards" in spec["settings"]:
        return "for it is made of data"
    sizes = cost_model.of_stream(spec)
    rows = sizes.before + sizes.tasks * (sizes.rows + sizes.tests)
    values = rows * (sizes.inputs + sizes.outputs) * spec["settings"].get("realisations", 1)
    return "" if values <= MAX_VALUES else "for it is large"


def compare(ours: xr.Dataset | xr.DataTree, theirs: xr.Dataset | xr.DataTree) -> dict[str, str]:
    """Return the verdict on each array, by its name; an array that one side lacks is different.

    Also on `attributes`, where they differ in more than OF_MAKING.
    """
    mine, others = _arrays(ours), _arrays(theirs)
    verdicts = {
        name: _compared(mine[name], others[name])
        if name in mine and name in others
        else "different"
        for name in sorted(mine.keys() | others.keys())
    }
    about = [
        {key: value for key, value in side.attrs.items() if key not in OF_MAKING}
        for side in (ours, theirs)
    ]
    same = json.dumps(about[0], sort_keys=True) == json.dumps(about[1], sort_keys=True)
    return verdicts if same else verdicts | {"attributes": "different"}


def _arrays(store: xr.Dataset | xr.DataTree) -> dict[str, xr.Variable]:
    """Return the arrays of a store, by group and name."""
    if isinstance(store, xr.Dataset):
        return {str(name): array for name, array in store.variables.items()}
    return {
        f"{node.path}/{name}".lstrip("/"): array
        for node in store.subtree
        for name, array in node.to_dataset(inherit=False).variables.items()
    }


def _compared(mine: xr.Variable, others: xr.Variable) -> str:
    ours, theirs = mine.values, others.values
    if (
        mine.dims != others.dims
        or ours.shape != theirs.shape
        or ours.dtype.kind != theirs.dtype.kind
    ):
        return "different"
    if ours.dtype.kind != "f":
        return "identical" if np.array_equal(ours, theirs) else "different"
    if np.array_equal(ours, theirs, equal_nan=True):
        return "identical"
    largest = np.abs(theirs[np.isfinite(theirs)]).max(initial=0.0)
    close = np.allclose(ours, theirs, rtol=0, atol=verify.ROUNDING * largest, equal_nan=True)
    return "rounding" if close else "different"


@contextmanager
def _signals_restored() -> Iterator[None]:
    """Restore the signal handlers, which a run keeps until its process ends."""
    before = {number: signal.getsignal(number) for number in stop_signals.SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def refusing(name: str) -> Iterator[None]:
    """Turn any error of the block into a UserError: arrays of a crate may be inconsistent."""
    try:
        yield
    except UserError:
        raise
    except harness.Stopped as stop:
        raise UserError(f"{name}: not computed again ({stop})") from None
    except Exception as error:
        reason = printable(f"{type(error).__name__}: {error}")
        raise UserError(
            f"{name}: cannot be computed from what is in the crate ({reason})"
        ) from error


def other_code(spec: specs.Spec, *modules: str) -> list[str]:
    """Return a remark if the code here differs from the code of a spec."""
    same = digest.code(*modules) == spec["code"]
    return [] if same else ["the code here is not the code that made it"]
