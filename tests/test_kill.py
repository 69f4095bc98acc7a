"""A run killed with SIGKILL at any point ends, when run again, with the same results."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from shiftbench.core import exit_statuses
from tests import job_calls, stalling

CONFIG = """
seeds_per_job: 2
streams:
  steps: {family: toy-step, realisations: 2, points: 6}
  images:
    family: permuted-images
    dataset: digits
    realisations: 2
    tasks: 5
    train_per_task: 20
    test_size: 10
  inside: &tiny
    family: permuted-images
    dataset: digits
    realisations: 2
    tasks: 2
    train_per_task: 20
    test_size: 10
  hours: *tiny
  convolutions:
    family: transformed-images
    dataset: digits
    realisations: 2
    tasks: 5
    train_per_task: 20
    warm_up_size: 30
  words:
    family: planted-words
    realisations: 2
    periods: 5
    documents: 5
    document_length: 20
    themes: 2
    words_per_theme: 4
    common_words: 2
    changes: 1
studies:
  steps:
    title: Two steps
    streams: [steps]
    seeds: 2
    metrics: [log_predictive]
    methods:
      beam: [{beam: {size: 3, broadening: diffuse}}, gaussian-mean]
      run-length: [run-length, gaussian-mean]
  images:
    title: Images
    streams: [images]
    model: {mlp: {hidden: [4]}}
    seeds: 2
    metrics: [accuracy]
    methods:
      vogn: [{vogn: {epochs: 1, batch_size: 10, draws: 2, prediction_draws: 2, elbo_draws: 2}}]
      rehearsal: [{rehearsal: {loss: der++, size: 3, epochs: 1, batch_size: 10}}]
      kronecker:
        - beam: {size: 2}
        - map: {curvature: kronecker, biases: penalised, epochs: 1, batch_size: 10}
      laplace-last: [{map: {prediction: laplace-last, importance: none, epochs: 1}}]
  inside:
    title: Tasks of ten steps
    streams: [inside]
    model: {mlp: {hidden: [4]}}
    seeds: 2
    metrics: [accuracy]
    methods:
      vogn: [{vogn: {epochs: 5, batch_size: 10, draws: 2, prediction_draws: 2, elbo_draws: 2}}]
      rehearsal: [{rehearsal: {loss: der++, size: 3, epochs: 5, batch_size: 10}}]
      swag:
        - map:
            {prediction: swag, importance: none, epochs: 5, batch_size: 10, swag_epochs: 4,
             prediction_draws: 2}
      bong: [{bong: {rank: 2}}]
      fromp: [{fromp: {size: 3, epochs: 5, batch_size: 10}}]
      fsvi: [{fsvi: {size: 3, epochs: 5, batch_size: 10, draws: 2, prediction_draws: 2}}]
  hours:
    title: Tasks without end
    streams: [hours]
    model: {mlp: {hidden: [4]}}
    seeds: 2
    metrics: [accuracy]
    methods:
      map: [{map: {epochs: 1000000000}}]
  convolutions:
    title: A beam over a convolutional network with Flipout
    streams: [convolutions]
    model: {convnet: {filters: [2]}}
    seeds: 2
    metrics: [accuracy]
    methods:
      beam:
        - beam: {size: 3, fits: sequential, temperature: observations}
        - mfvi: {epochs: 1, batch_size: 10, prediction_draws: 2, elbo_draws: 2}
  words:
    title: Words
    streams: [words]
    seeds: 2
    metrics: [heldout_loglik]
    methods:
      beams: [{per-word: {dimension: 3, block: 4}}, {beam: {size: 2}}, skipgram]
"""
RESUMED = {
    "before a task": "resumed at task 3",
    "in a save, between temporary file and rename": "resumed at task 3",
    "after a save": "resumed at task 4",
    "while the store is packed": "resumed at task 6",
    "between packed store and rename": "resumed at task 6",
    "between the store and its seal": "resumed at task 6",
    "after the store, before the checkpoint is removed": "an earlier attempt has finished it",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder with the config and the files that tests share."""
    folder = tmp_path_factory.mktemp("kill")
    (folder / "kill.yaml").write_text(CONFIG)
    return folder


def build(folder: Path, stream: str) -> None:
    """Make the store of a stream unless it exists."""
    output = folder / f"{stream}.zarr.zip"
    if not output.exists():
        job = job_calls.planned(folder / "kill.yaml", folder)["build_stream", stream]
        stalling.run([*job_calls.arguments(job, folder / "specs"), "--output", str(output)])


def command(folder: Path, study: str, learner: str, output: Path) -> list[str]:
    """Return the arguments of the run in the workflow's rule, with its files beside `output`."""
    job = job_calls.planned(folder / "kill.yaml", folder)[
        "run_method", study, study, learner, "0", "1"
    ]
    return [
        *job_calls.arguments(job, folder / "specs"), "--input", f"{folder}/{study}.zarr.zip",
        "--output", f"{output}/run.zarr.zip", f"{output}/cost.json",
        "--scratch", f"{output}/scratch", "--log", f"{output}/run.log",
    ]  # fmt: skip


def check(folder: Path, study: str, learner: str, point: str, tmp_path: Path) -> str:
    """Compare a killed and repeated run with an uninterrupted one; return the log of the repeat."""
    stalling.kill_at(point, made(folder, study, learner, tmp_path))
    return goes_on(folder, study, learner, tmp_path)


def made(folder: Path, study: str, learner: str, output: Path) -> list[str]:
    """Return the command of a run, after making its stream and an uninterrupted run."""
    build(folder, study)
    if not (whole := folder / f"{study}-{learner}").exists():
        stalling.run(command(folder, study, learner, whole))
    return command(folder, study, learner, output)


def goes_on(folder: Path, study: str, learner: str, killed: Path) -> str:
    """Repeat a run, compare it with the uninterrupted one, and return its log."""
    whole = folder / f"{study}-{learner}"
    stalling.run(command(folder, study, learner, killed))
    assert (whole / "run.zarr.zip").read_bytes() == (killed / "run.zarr.zip").read_bytes()
    left = [sorted(path.name for path in folder.iterdir()) for folder in (whole, killed)]
    assert left[0] == left[1], "the kill leaves nothing"
    assert not any(path.is_dir() for path in (killed / "scratch").iterdir())
    return (killed / "run.log").read_text()


QUICK = ("before a task", "between packed store and rename")


@pytest.mark.parametrize(
    "point",
    [pytest.param(one, marks=[] if one in QUICK else pytest.mark.long) for one in RESUMED],
)
def test_kill_at_every_point(folder: Path, tmp_path: Path, point: str) -> None:
    assert RESUMED[point] in check(folder, "steps", "beam", point, tmp_path)


@pytest.mark.parametrize(
    ("study", "learner"),
    [
        ("steps", "run-length"),
        pytest.param("images", "vogn", marks=pytest.mark.long),
        pytest.param("images", "rehearsal", marks=pytest.mark.long),
        pytest.param("images", "kronecker", marks=pytest.mark.long),
        pytest.param("images", "laplace-last", marks=pytest.mark.long),
        pytest.param("words", "beams", marks=pytest.mark.long),
        pytest.param("convolutions", "beam", marks=pytest.mark.long),
    ],
)
def test_every_kind_of_state_is_resumed(
    folder: Path, tmp_path: Path, study: str, learner: str
) -> None:
    log = check(folder, study, learner, "before a task", tmp_path)
    assert "resumed at task 3" in log


@pytest.mark.long
@pytest.mark.parametrize("learner", ["vogn", "rehearsal", "swag", "bong", "fromp", "fsvi"])
def test_a_task_is_resumed_where_it_was_saved_within(
    folder: Path, tmp_path: Path, learner: str
) -> None:
    log = check(folder, "inside", learner, "within a task, after two saves", tmp_path)
    assert "resumed at task 0, within it" in log


@pytest.mark.long
def test_a_signal_stops_a_task_that_would_take_hours(folder: Path, tmp_path: Path) -> None:
    build(folder, "hours")
    log = tmp_path / "run.log"
    for words in ("saved within task 0", "resumed at task 0, within it"):

        def said(words: str = words) -> bool:
            return log.exists() and words in log.read_text()

        status, seconds = stalling.stop_when(said, command(folder, "hours", "map", tmp_path))
        assert status == exit_statuses.STOPPED
        assert seconds < 10


@pytest.mark.long
def test_signals_from_any_line_on_save_the_run_or_leave_it(folder: Path, tmp_path: Path) -> None:
    """Signals come from every 40th line on, since each attempt takes a second."""
    for target in range(0, 10_000, 40):
        output = tmp_path / str(target)
        place, status = stalling.signal_at(target, made(folder, "steps", "beam", output))
        assert status in (0, exit_statuses.STOPPED, -signal.SIGTERM), place
        goes_on(folder, "steps", "beam", output)
        if not place:
            break
    assert target > 400
