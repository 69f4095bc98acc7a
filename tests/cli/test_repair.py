"""Damaged results are found and made again with the same bytes, and no others are.

The jobs are real; a function runs them in this process in place of Snakemake.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from shiftbench.cli import main, repair
from shiftbench.config.job import Job
from shiftbench.core.errors import UserError
from shiftbench.data.store import checksum, manifest
from shiftbench.forecast import lost_files, snakemake_metadata
from tests import job_calls

CONFIG = """\
streams:
  steps: {family: toy-step, points: 6}
studies:
  toy:
    title: Steps
    streams: [steps]
    seeds: 1
    metrics: [log_predictive, jump_f1]
    artefacts: [score-table, error-over-time]
    methods:
      plain: [gaussian-mean]
      search: [beam, gaussian-mean]
"""
RESULTS = Path("results/mine")


class Workflow:
    """A stand-in for Snakemake, as far as these tests need it."""

    def __init__(self) -> None:
        self.planned = list(job_calls.planned(Path("mine.yaml"), RESULTS).values())
        self.by_output = {file: job for job in self.planned for file in job.outputs}
        self.starts: list[list[str]] = []

    def run(self, deep: bool = False) -> int:
        """Do what `shiftbench run` does. `starts` lists the jobs of each start of Snakemake."""
        self.starts = []
        options = argparse.Namespace(snakemake=[], deep=deep)
        return repair.run(self.planned, RESULTS, options, self.start)

    def start(self, words: list[str]) -> int:
        """Make the forced targets, or missing files; and what is between them and the targets."""
        forced = words[: words.index("--force")] if words else []
        targets = forced or [file for job in self.planned for file in job.wanted]
        to_do = {self.by_output[file].key for file in targets if forced or not os.path.exists(file)}
        needed = {self.by_output[file].key for file in targets}
        for job in reversed(self.planned):
            if job.key in needed:
                needed |= {self.by_output[file].key for file in job.inputs}
        done = []
        for job in self.planned:
            again = any(self.by_output[file].key in done for file in job.inputs)
            if job.key in to_do or (again and job.key in needed):
                self.make(job)
                done.append(job.key)
        self.starts.append(["/".join(key) for key in done])
        return 0

    def make(self, job: Job) -> None:
        for file in map(Path, job.outputs):
            if file.is_dir() and not file.is_symlink():
                file.rmdir()
            file.unlink(missing_ok=True)
        scratch = ["--scratch", "scratch", "--raw", "raw"]
        assert main.main([*job_calls.arguments(job, RESULTS / "specs"), *scratch]) == 0
        record = {"record_format_version": 6, "params": [repr(job.spec)]}
        for file in job.outputs:
            place = snakemake_metadata.place("metadata", file)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(json.dumps(record))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder in which all jobs have run."""
    folder = tmp_path_factory.mktemp("finished")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        Path("mine.yaml").write_text(CONFIG)
        assert Workflow().run() == 0
    return folder


@pytest.fixture
def workflow(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workflow:
    """Return a workflow in a copy of that folder, started once more."""
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    made = Workflow()
    assert made.run() == 0
    assert made.starts == [[]]
    return made


def outputs(workflow: Workflow) -> list[str]:
    """Return all files that the jobs make."""
    return [file for job in workflow.planned for file in job.outputs]


def sums(workflow: Workflow) -> dict[str, str]:
    """Return the checksums of all outputs except costs, which always differ."""
    return {
        file: checksum.sha256(Path(file))
        for file in outputs(workflow)
        if not file.endswith(".cost.json")
    }


def seal(file: Path) -> Path:
    return file.with_name(f".{file.name}.sha256")


def keeping_times(change: Callable[[Path], object]) -> Callable[[Path], None]:
    """Return the same damage, after which the file has its old modification time."""

    def damage(file: Path) -> None:
        before = file.stat()
        change(file)
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))

    return damage


def put(make: Callable[[Path], object]) -> Callable[[Path], None]:
    """Return a damage that replaces the file by something else."""

    def damage(file: Path) -> None:
        file.unlink()
        make(file)

    return damage


def flip(file: Path) -> None:
    """Change one bit in the middle."""
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def append(file: Path) -> None:
    with file.open("ab") as opened:
        opened.write(b"1,2,3\n")


def halve(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def both(first: Callable[[Path], object], second: Callable[[Path], object]):
    def damage(file: Path) -> None:
        first(file)
        second(file)

    return damage


def unseal(file: Path) -> None:
    seal(file).unlink()


def forget(_file: Path) -> None:
    (RESULTS / manifest.NAME).unlink()


CHANGES = {
    "a bit flipped": flip,
    "a line appended": append,
    "truncated": halve,
    "emptied": lambda file: file.write_bytes(b""),
    "zeros": lambda file: file.write_bytes(bytes(file.stat().st_size)),
}
DAMAGES = {
    **CHANGES,
    **{f"{name}, time kept": keeping_times(change) for name, change in CHANGES.items()},
    "changed, without checksum": both(append, unseal),
    "changed, without manifest": both(append, forget),
    "changed, without checksum and manifest": both(both(append, unseal), forget),
    "without checksum and manifest": both(unseal, forget),
    "deleted": Path.unlink,
    "deleted with its checksum": both(Path.unlink, unseal),
    "an empty folder": put(Path.mkdir),
    "a link to nothing": put(lambda file: file.symlink_to("nowhere")),
    "a link to another file": put(lambda file: file.symlink_to(Path("mine.yaml").resolve())),
    "a pipe": put(os.mkfifo),
}
"""Changes after which a file counts as lost."""
UNSEALED = {
    "checksum deleted": unseal,
    "checksum emptied": lambda file: seal(file).write_text(""),
    "checksum of another": lambda file: seal(file).write_text(f"{'0' * 64}  {file.name}\n"),
    "checksum not text": lambda file: seal(file).write_bytes(b"\xff\x00\xfe"),
}
"""Changes that remove only the checksum of a file."""
HARMLESS = {
    "touched": Path.touch,
    "older": lambda file: os.utime(file, ns=(0, 0)),
    "manifest deleted": forget,
    "manifest not JSON": lambda file: (RESULTS / manifest.NAME).write_text("{"),
    "manifest of other things": lambda file: (RESULTS / manifest.NAME).write_text('{"a": [1]}'),
}


def try_out(workflow: Workflow, damage: Callable[[Path], object], file: str, kind: str) -> None:
    """Damage a file, start again, and check all files."""
    before, lost = sums(workflow), kind in DAMAGES
    damage(Path(file))
    assert workflow.run() == 0
    job = "/".join(workflow.by_output[file].key)
    assert workflow.starts == ([[job], []] if lost else [[]])
    assert sums(workflow) == before
    assert not any(checksum.is_broken(Path(one)) for one in outputs(workflow))
    assert all(checksum.is_there(Path(one)) for one in outputs(workflow))
    assert all(Path(one).is_file() and not Path(one).is_symlink() for one in outputs(workflow))
    assert set(manifest.read(RESULTS)) == {
        Path(one).relative_to(RESULTS).as_posix() for one in outputs(workflow)
    }
    assert workflow.run() == 0
    assert workflow.starts == [[]]


@pytest.mark.long
@pytest.mark.parametrize("kind", [*DAMAGES, *UNSEALED, *HARMLESS])
def test_a_damaged_file_is_made_again_and_no_other(workflow: Workflow, kind: str) -> None:
    files = [file for file in outputs(workflow) if "/figures/" not in file]  # figures take long
    file = random.Random(kind).choice(files)
    try_out(workflow, (DAMAGES | UNSEALED | HARMLESS)[kind], file, kind)


@pytest.mark.long
def test_every_damage_to_six_files(workflow: Workflow, capsys: pytest.CaptureFixture) -> None:
    every = DAMAGES | UNSEALED | HARMLESS
    tried: Counter[str] = Counter()
    files = outputs(workflow)
    for kind, damage in every.items():
        for file in random.Random(kind).sample(files, 6):
            try_out(workflow, damage, file, kind)
            tried[kind] += 1
    with capsys.disabled():
        print(f"\n{sum(tried.values())} corruptions of {len(files)} files, all healed")
    assert sum(tried.values()) >= 150


@pytest.mark.long
def test_all_damaged_files_are_made_before_what_reads_them(workflow: Workflow) -> None:
    before = sums(workflow)
    files = [file for file in outputs(workflow) if not file.endswith(("svg", "png"))]
    for file in files:
        append(Path(file))
    assert workflow.run() == 0
    assert len(workflow.starts[0]) == len(workflow.planned) - 1
    assert workflow.starts[1] == []
    assert sums(workflow) == before


def test_intact_runs_between_lost_files_are_left_alone(workflow: Workflow) -> None:
    """Snakemake would make whatever lies between the stream and the summary."""
    before = sums(workflow)
    for file in ("streams/steps.zarr.zip", "studies/toy/summary.csv"):
        (RESULTS / file).unlink()
    assert workflow.run() == 0
    assert workflow.starts == [["build_stream/steps"], ["summarise_study/toy"], []]
    assert sums(workflow) == before


def test_lost_files_one_behind_the_other_are_made_in_one_run(workflow: Workflow) -> None:
    for file in outputs(workflow):
        if "/streams/" in file or "/runs/" in file or file.endswith("summary.csv"):
            Path(file).unlink()
    assert workflow.run() == 0
    assert [len(started) for started in workflow.starts] == [4, 0]


def test_a_folder_with_something_in_it_is_left_alone(workflow: Workflow) -> None:
    file = RESULTS / "studies/toy/summary.csv"
    file.unlink()
    file.mkdir()
    (file / "letter.txt").write_text("dear reader")
    with pytest.raises(
        UserError, match=r"summary\.csv: this is a folder, where a job wrote a file"
    ):
        workflow.run()
    assert (file / "letter.txt").exists()
    assert not workflow.starts


def test_only_deep_finds_a_file_that_looks_as_it_was(workflow: Workflow) -> None:
    """As on a damaged disk, the manifest has the file's current size and times."""
    file = RESULTS / "studies/toy/scores.csv"
    before, entries = sums(workflow), manifest.read(RESULTS)
    flip(file)
    known = entries["studies/toy/scores.csv"]
    changed = manifest.entry(known.sha256, file.stat(), known.made_with)
    manifest.write(RESULTS, entries | {"studies/toy/scores.csv": changed})
    assert lost_files.find(workflow.planned, RESULTS).all == []
    assert workflow.run(deep=True) == 0
    assert workflow.starts == [["summarise_study/toy"], []]
    assert sums(workflow) == before


def test_a_file_that_is_just_being_made_is_left_alone(workflow: Workflow) -> None:
    file = str(RESULTS / "studies/toy/scores.csv")
    marker = snakemake_metadata.place("incomplete", file)
    marker.parent.mkdir(parents=True)
    marker.write_text("{}")
    append(Path(file))
    assert lost_files.find(workflow.planned, RESULTS).all == []
    Path(file).unlink()
    assert lost_files.find(workflow.planned, RESULTS).all == []


def test_what_a_changed_job_had_made_is_left_to_snakemake(workflow: Workflow) -> None:
    """As after Ctrl-C: a file that was being remade must not block all other jobs."""
    store = RESULTS / "streams/steps.zarr.zip"
    known = manifest.read(RESULTS)
    other = known["streams/steps.zarr.zip"]._replace(made_with="another spec")
    manifest.write(RESULTS, known | {"streams/steps.zarr.zip": other})
    store.unlink()
    assert lost_files.find(workflow.planned, RESULTS).all == []


@pytest.mark.parametrize("copied", [False, True])
def test_changed_settings_are_seen_without_snakemakes_records(workflow: Workflow, copied: bool):
    """As after a copy of results that leaves the hidden folder out, with new times or old ones."""
    shutil.rmtree(".snakemake")
    if copied:
        shutil.copytree(RESULTS, "copy", copy_function=shutil.copyfile)
        shutil.rmtree(RESULTS)
        Path("copy").rename(RESULTS)
    assert workflow.run() == 0 and workflow.starts == [[]], "nothing has changed"
    Path("mine.yaml").write_text(CONFIG.replace("search: [beam,", "search: [beam: {size: 2},"))
    changed = Workflow()
    assert changed.run() == 0
    again = [name for started in changed.starts for name in started]
    assert [name for name in again if "search" in name] == again[:1], "each job runs once"
    assert not [name for name in again if "plain" in name]
    assert changed.run() == 0 and changed.starts == [[]]


def test_results_of_an_earlier_version_are_taken_as_they_are(workflow: Workflow) -> None:
    """An earlier version wrote no manifest and no checksums of costs."""
    costs = [Path(file) for file in outputs(workflow) if file.endswith(".cost.json")]
    for cost in costs:
        seal(cost).unlink()
    (RESULTS / manifest.NAME).unlink()
    assert workflow.run() == 0
    assert workflow.starts == [[]]
    assert all(map(checksum.is_there, costs))


def test_they_are_still_compared_with_the_checksums_that_they_have(workflow: Workflow) -> None:
    for file in outputs(workflow):
        if file.endswith(".cost.json"):
            seal(Path(file)).unlink()
    (RESULTS / manifest.NAME).unlink()
    append(RESULTS / "studies/toy/scores.csv")
    assert workflow.run() == 0
    assert workflow.starts == [["summarise_study/toy"], []]


def test_a_file_that_is_damaged_while_the_workflow_runs_is_named(workflow, capsys) -> None:
    def start(words: list[str]) -> int:
        append(RESULTS / "studies/toy/scores.csv")
        return 0

    options = argparse.Namespace(snakemake=[], deep=False)
    assert repair.run(workflow.planned, RESULTS, options, start) == 1
    told = capsys.readouterr().out
    assert "1 file was changed or damaged since the workflow made it; start again to" in told
    assert "to compute it again: " in told
    assert "studies/toy/scores.csv" in told


def test_studies_that_are_asked_for_do_not_hold_up_the_repair(workflow: Workflow) -> None:
    append(RESULTS / "studies/toy/scores.csv")
    told: list[list[str]] = []
    options = argparse.Namespace(snakemake=["--cores", "1", "toy"], deep=False)
    repair.run(workflow.planned, RESULTS, options, lambda words: told.append(words) or 0)
    file = str(RESULTS / "studies/toy/scores.csv")
    assert told == [[file, "--force", "--cores", "1"], ["--cores", "1", "toy"]]


@pytest.mark.parametrize(
    ("words", "left"),
    [
        ("--until nile --cores 2 nile", "--until nile --cores 2"),
        ("nile toy --cores 2 --until nile", "--cores 2 --until nile"),
        ("--until nile -- nile", "--until nile"),
        ("--cores 2", "--cores 2"),
    ],
)
def test_only_targets_are_taken_out_of_the_words_for_snakemake(words: str, left: str) -> None:
    assert repair._without_targets(words.split()) == left.split()


@pytest.mark.parametrize("status", [1, 130])
def test_nothing_is_made_after_a_repair_that_failed(workflow: Workflow, status: int) -> None:
    for name in ("scores.csv", "summary.csv"):
        append(RESULTS / "studies/toy" / name)
    told: list[list[str]] = []
    options = argparse.Namespace(snakemake=[], deep=False)
    found = repair.run(
        workflow.planned, RESULTS, options, lambda words: told.append(words) or status
    )
    assert found == status
    assert len(told) == 1 and "--force" in told[0]
    assert len(lost_files.find(workflow.planned, RESULTS).damaged) == 2, "still to be made again"
