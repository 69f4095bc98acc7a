"""Jobs that would run, with Snakemake's reason and the change that caused it.

Snakemake runs a job if its output is missing and wanted, if the job had another spec, command or
set of inputs, if an input has changed since, if it was killed, or if another job computes one of
its inputs again. A spec says what differs; kept digests (digest_manifest.py) say where in the code.
"""

from __future__ import annotations

import os
from collections import defaultdict, deque
from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from shiftbench.config.job import Job
from shiftbench.config.jobs import command
from shiftbench.forecast import digest_manifest, snakemake_metadata

AGAIN = "follows"
SHOWN = 120
"""Characters of a value that are shown."""
KINDS = {
    "new": "never run",
    "missing": "its output was deleted",
    "killed": "killed before it ended",
    "config": "the config has changed",
    "code": "the code has changed",
    "packages": "packages have changed",
    "data": "raw files or your files have changed",
    "input": "an input has changed",
    "command": "the workflow has changed",
    "damaged": "its output was changed, damaged or deleted",
    AGAIN: "an input is computed again",
}


class Reason(NamedTuple):
    """A reason for a job to run: a key of KINDS, and a phrase with the details."""

    kind: str
    words: str


def of_jobs(jobs: list[Job], results: Path, lost: Container[str]) -> dict[str, list[Reason]]:
    """Return the jobs that would run, by their first output, each with the reasons.

    lost: files that are made again first. Jobs that read them need not run, because the files will
    have the same bytes.
    """
    by_output = {file: job for job in jobs for file in job.outputs}
    reading = defaultdict(list)
    for job in jobs:
        for file in job.inputs:
            reading[file].append(job)
    oldest = _oldest(jobs, reading)
    found: dict[str, list[Reason]] = {}
    alone = set()
    queue = deque()
    for job in jobs:
        damaged = [Reason("damaged", file) for file in job.outputs if file in lost]
        own = [*_missing(job, job.wanted, lost), *_changed(job, oldest, results, lost)]
        if damaged or own:
            found[job.outputs[0]] = [*damaged, *own]
            queue.append(job)
        if damaged and not own:
            alone.add(job.outputs[0])
    while queue:
        job = queue.popleft()
        for needed in _needed(job, by_output):
            if needed.outputs[0] not in found and (
                gone := list(_missing(needed, job.inputs, lost))
            ):
                found[needed.outputs[0]] = gone
                queue.append(needed)
        if job.outputs[0] in alone:
            continue
        for after in (one for file in job.outputs for one in reading[file]):
            if after.outputs[0] not in found or after.outputs[0] in alone:
                alone.discard(after.outputs[0])
                found.setdefault(after.outputs[0], []).append(Reason(AGAIN, job.name))
                queue.append(after)
    return found


def _needed(job: Job, by_output: Mapping[str, Job]) -> Iterator[Job]:
    yield from (by_output[file] for file in job.inputs if file in by_output)


def _oldest(jobs: list[Job], reading: Mapping[str, list[Job]]) -> dict[str, float]:
    """Return the time of each job's oldest output, or else of the first job that reads from it."""
    found: dict[str, float] = {}
    for job in reversed(jobs):
        after = (one for file in job.outputs for one in reading[file])
        for one in (job, *after):
            times = [time for file in one.outputs if (time := _time(file))]
            if one is not job and one.outputs[0] in found:
                times = [found[one.outputs[0]]]
            if times:
                found[job.outputs[0]] = min(times)
                break
    return found


def _time(file: str) -> float | None:
    try:
        return os.stat(file).st_mtime
    except OSError:
        return None


def _missing(job: Job, asked: Iterable[str], lost: Container[str]) -> Iterator[Reason]:
    outputs = [file for file in job.outputs if file in asked and file not in lost]
    gone = [file for file in outputs if not os.path.exists(file)]
    if not gone:
        return
    known = any(snakemake_metadata.of(file) for file in job.outputs)
    yield Reason("missing", f"{gone[0]} is gone") if known else Reason("new", "never run")


def _changed(
    job: Job, oldest: Mapping[str, float], results: Path, lost: Container[str]
) -> Iterator[Reason]:
    """Yield the reasons for a job to run again, even if no other job needs its outputs."""
    if stopped := [file for file in job.outputs if snakemake_metadata.is_incomplete(file)]:
        yield Reason("killed", f"{stopped[0]} was not finished")
    records = [record for file in job.outputs if (record := snakemake_metadata.of(file))]
    if since := oldest.get(job.outputs[0]):
        intact = [file for file in job.inputs if file not in lost]
        younger = [file for file in intact if (_time(file) or 0) > since]
        for file in younger:
            if (
                not all(snakemake_metadata.is_same(record, file) for record in records)
                or not records
            ):
                yield Reason("input", file)
    for record in records[:1]:
        yield from _of_record(job, record, results)


def _of_record(job: Job, record: dict[str, Any], results: Path) -> Iterator[Reason]:
    """Yield what differs between the last and the present plan of a job."""
    if record.get("params") != [repr(job.spec)]:
        yield from apart(snakemake_metadata.spec(record), job.spec, results)
    if record.get("input") is not None and record["input"] != sorted(job.inputs):
        more = sorted(set(job.inputs) - set(record["input"]))
        less = sorted(set(record["input"]) - set(job.inputs))
        words = [f"reads {one} too" for one in more[:3]]
        words += [f"no longer reads {one}" for one in less[:3]]
        yield Reason("input", "; ".join(words))
    if record.get("code") not in (None, command(job)):
        yield Reason("command", f"the command of the rule {job.rule}")


def apart(old: dict[str, Any], new: dict[str, Any], results: Path) -> Iterator[Reason]:
    """Yield what differs between two specs, in words."""
    if not old:
        yield Reason("config", "its spec is not known")
        return
    kept = {key: old.get(key) for key in ("code", "environment")}
    for key, kind, what in (
        ("code", "code", "the code (what it was is not kept)"),
        ("environment", "packages", "versions of packages (what they were is not kept)"),
    ):
        if kept[key] != new.get(key):
            words = digest_manifest.changed(results, str(kept[key]), new[key]) or [what]
            yield from (Reason(kind, one) for one in words)
    before, after = _flat(old), _flat(new)
    for place in dict.fromkeys([*after, *before]):
        if before.get(place) != after.get(place):
            kind = "data" if "data." in place or place in ("sha256",) else "config"
            yield Reason(kind, _change(place, before.get(place), after.get(place), kind))


def _change(place: str, old: Any, new: Any, kind: str) -> str:
    if kind == "data":
        how = "new" if old is None else "gone" if new is None else "another file"
        return f"{place.partition('data.')[2] or place}: {how}"
    if isinstance(old, list) and isinstance(new, list) and len(f"{old}{new}") > SHOWN:
        return f"{place}: {_change_of_list(old, new)}"
    if old is None or new is None:
        return f"{place}: {'now ' + _short(new) if old is None else 'no longer ' + _short(old)}"
    return f"{place}: {_short(old)} -> {_short(new)}"


def _change_of_list(old: list[Any], new: list[Any]) -> str:
    """Return the names of items that were added to a long list, changed or removed."""
    before = [_name(one) for one in old if one not in new]
    after = [_name(one) for one in new if one not in old]
    words = []
    for what, names in (
        ("added", [name for name in after if name not in before]),
        ("changed", [name for name in after if name in before]),
        ("removed", [name for name in before if name not in after]),
    ):
        if names:
            more = f" and {len(names) - 3:,} more" if len(names) > 3 else ""
            words.append(f"{what} {', '.join(names[:3])}{more}")
    return "; ".join(words) or "in another order"


def _name(value: Any) -> str:
    """Return the name of a value, or its text."""
    return str(value["name"]) if isinstance(value, Mapping) and "name" in value else _short(value)


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def _flat(value: Any, place: str = "") -> dict[str, Any]:
    """Return the values of a spec by their place, settings of components as component.key."""
    if isinstance(value, Mapping):
        inner = {str(key): one for key, one in value.items() if not _is_digest(place, key)}
    elif isinstance(value, list) and value and all(_is_component(one) for one in value):
        inner = {str(name): settings for name, settings in value}
        place = place.removesuffix("learner")
    elif _is_component(value):
        inner = {str(value[0]): value[1]}
    else:
        return {place: value}
    found: dict[str, Any] = {}
    for key, one in inner.items():
        found |= _flat(one, f"{place}.{key}".lstrip("."))
    return found


def _is_digest(place: str, key: str) -> bool:
    return not place and key in ("code", "environment", "digest")


def _is_component(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 2
        and isinstance(value[0], str)
        and isinstance(value[1], Mapping)
    )
