"""Jobs of the plan, run by the command that the workflow gives for them, and kept in a cache.

Each job runs in its own process, so its results equal the workflow's to the byte, whatever the
caller has imported. A digest of all that its files depend on names their folder; a file that is
there is not made again. The cache is $XDG_CACHE_HOME/shiftbench, else ~/.cache/shiftbench, else in
the folder of temporary files; it may be removed at any time.
"""

from __future__ import annotations

import atexit
import fcntl
import hashlib
import os
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path

from tqdm import tqdm

from shiftbench.config import components, spec_code, stream_jobs
from shiftbench.config.job import Job
from shiftbench.core import cache_folder as usable_cache
from shiftbench.core import checkout, exit_statuses
from shiftbench.core.errors import UserError
from shiftbench.data.store import checksum, raw
from shiftbench.runtime import crash_report, forkserver_client, slurm

POLL_SECONDS = 0.2
FEWEST_FOR_SERVER = 2
"""Jobs for which a server that has imported everything is worth the start."""

_variables: dict[str, str] = {}
"""Environment variables by which jobs find the servers, once these run."""


def cache_folder() -> Path:
    """Return the folder of the cache."""
    return Path(usable_cache.path(), "shiftbench")


def raw_folder(dataset: str | None) -> Path:
    """Return the folder of raw data: data/raw here if it has the data set, else in the cache."""
    return (
        stream_jobs.RAW
        if dataset and (stream_jobs.RAW / dataset).is_dir()
        else cache_folder() / "raw"
    )


def made(planned: Sequence[Job]) -> dict[str, Path]:
    """Run jobs in their order, unless their outputs are cached; return the path of each output.

    Raises UserError if a job reports an error of the user, RuntimeError with its last message if it
    fails otherwise, and KeyboardInterrupt once an interrupted job has saved its state. The next
    call continues from that state.
    """
    places: dict[str, Path] = {}
    waiting, raw_files = [], []
    for job in planned:
        if job.rule == "fetch_raw_file":
            raw_files.append(job)
            continue
        inputs = [_place(file, places) for file in job.inputs]
        folder = cache_folder() / "jobs" / _key(job, inputs, {*places.values()})
        outputs = {file: folder / Path(file).name for file in job.outputs}
        places |= outputs
        if not all(path.is_file() for path in outputs.values()):
            waiting.append((job, inputs, list(outputs.values())))
    read = {path for _, inputs, _ in waiting for path in inputs}
    for job in raw_files:
        if (file := _place(job.outputs[0], places)) in read:
            _fetch(job, file)
    if len(waiting) >= FEWEST_FOR_SERVER:
        _serve()
    with _bar(len(waiting)) as bar:
        for job, inputs, results in waiting:
            bar.set_description(job.name)
            with _alone(results[0].parent.name):
                if not all(path.is_file() for path in results):
                    _run(job, [*_command(job), "--input", *map(str, inputs)], results, bar)
            bar.update()
    return places


@cache
def _serve() -> None:
    """Start the servers that jobs fork from, until this process ends."""
    opened = ExitStack()
    _variables.update(opened.enter_context(forkserver_client.serving()))
    atexit.register(opened.close)


def _key(job: Job, inputs: Sequence[Path], made_before: Collection[Path]) -> str:
    """Return a digest of everything that the outputs of a job depend on.

    made_before: files of other jobs, whose folders have such digests as names. Settings that trials
    chose may be in a file that no job here makes. The spec has the checksums of all other files.
    """
    parts = [job.spec["digest"]]
    for path in inputs:
        if path in made_before:
            parts.append(path.parent.name)
        elif job.rule == "run_method":
            parts.append(checksum.sha256(path))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:40]


def _place(file: str, places: Mapping[str, Path]) -> Path:
    """Return where an input lies: an output of another job, a raw file, or a file of the user."""
    path = Path(file)
    if path.is_relative_to(stream_jobs.RAW):
        within = path.relative_to(stream_jobs.RAW)
        return raw_folder(within.parts[0]) / within
    return places.get(file, path)


def _fetch(job: Job, target: Path) -> None:
    dataset, file = job.wildcards
    with _alone(hashlib.sha256(str(target).encode()).hexdigest()[:40]):
        if not target.is_file():
            raw.fetch(dataset, file, target)


@contextmanager
def _alone(name: str) -> Iterator[None]:
    """Hold a lock for the block, so that two processes do not make the same files at once."""
    folder = cache_folder() / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / name).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _bar(total: int) -> tqdm:
    """Return a bar of jobs, which a terminal and a notebook show."""
    shown = sys.stderr.isatty() or "ipykernel" in sys.modules
    return tqdm(total=total, unit="job", leave=False, disable=not shown)


def _command(job: Job) -> list[str]:
    """Return the command of a job up to its files, as the rules call it."""
    file = spec_code.write(job.spec, cache_folder() / "specs")
    data = raw_folder(job.spec.get("settings", {}).get("dataset"))
    words = job.words(file, cache_folder() / "scratch", data, components.users().values())
    limits = ["--threads", str(job.resources.threads), "--minutes", str(job.resources.minutes)]
    # -P: modules in the working directory must not shadow those of the packages.
    return [sys.executable, "-P", "-m", "shiftbench", *words, *limits]


def _run(job: Job, command: list[str], outputs: list[Path], bar: tqdm) -> None:
    """Run a job to its end; see `made` for errors."""
    folder = outputs[0].parent
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "log"
    environment = os.environ | _variables
    # If this process is in a Slurm job, a run that has to stop must not requeue that job.
    environment.pop(slurm.JOB, None)
    if not checkout.INSTALLED:
        inherited = environment.get("PYTHONPATH")
        paths = [str(checkout.PACKAGE.parent), *([inherited] if inherited else [])]
        environment["PYTHONPATH"] = os.pathsep.join(paths)
    process = subprocess.Popen(
        [*command, "--output", *map(str, outputs), "--log", str(log)],
        env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        said = _watched(process, log, bar)
    except BaseException:
        process.terminate()
        process.communicate()
        raise
    if process.returncode:
        _refuse(job, process.returncode, said.strip(), log)
    if said:
        bar.write(said.strip(), file=sys.stderr)


def _watched(process: subprocess.Popen, log: Path, bar: tqdm) -> str:
    """Wait for a job, showing the last line of its log; return its standard error."""
    while True:
        try:
            return process.communicate(timeout=POLL_SECONDS)[1]
        except subprocess.TimeoutExpired:
            if not bar.disable and log.is_file():
                last = log.read_text(encoding="utf-8").rpartition(": ")[2].strip()
                bar.set_postfix_str(last.partition("\n")[0])


def _refuse(job: Job, status: int, said: str, log: Path) -> None:
    """Raise the error of a job that did not succeed."""
    if status == exit_statuses.MISTAKE:
        raise UserError(f"{job.name}: {said}")
    if status == exit_statuses.STOPPED:
        raise UserError(
            f"{job.name}: it has stopped at 90 % of its {job.resources.minutes} minutes; its state"
            " is saved. Call again to go on, with more `minutes` if it needs them"
        )
    where = "" if str(log) in said else f"; its log is {log}"
    ended = f"exit status {status}" if status > 0 else crash_report.words(-status, "")
    raise RuntimeError(f"{job.name} failed: {said or ended}{where}")
