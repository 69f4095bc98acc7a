"""The verbs: what they make, what they refuse, and what they say."""

from __future__ import annotations

import contextlib
import errno
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from itertools import chain
from pathlib import Path

import pandas as pd
import pytest

import shiftbench
from shiftbench import __main__
from shiftbench.cli import main, requeue
from shiftbench.config import config_file, specs
from shiftbench.data.store import zarr_zip
from shiftbench.forecast import snakemake_metadata

CONFIG = """\
seeds_per_job: 3
streams:
  steps: {family: toy-step, realisations: 3, points: 8}
studies:
  toy:
    title: Two steps
    streams: [steps]
    seeds: 3
    metrics: [jump_f1, log_predictive]
    artefacts: [score-table, toy-hypotheses]
    methods:
      search: [beam: {size: 2, broadening: diffuse}, gaussian-mean]
"""


@pytest.fixture
def plan(tmp_path, monkeypatch) -> config_file.Config:
    monkeypatch.chdir(tmp_path)
    Path("small.yaml").write_text(CONFIG)
    return config_file.load("small.yaml")


def _stream(*more: str) -> int:
    return main.main(
        ["stream", "steps", "--config", "small.yaml", "--raw", "raw", "--output", "steps.zarr.zip",
         *more]
    )  # fmt: skip


def _run(*more: str) -> int:
    return main.main(
        ["train", "toy", "steps", "search", "--seeds", "0-2", "--config", "small.yaml",
         "--store", "steps.zarr.zip", "--output", "run.zarr.zip", "--cost", "cost.json",
         "--scratch", "scratch", "--log", "logs/run.log", *more]
    )  # fmt: skip


def test_from_stream_to_artefacts(plan, capsys) -> None:
    spec = specs.run(plan, "toy", "steps", "search", (0, 2))
    assert _stream("--digest", specs.stream(plan, "steps")["digest"]) == 0
    assert _run("--digest", spec["digest"]) == 0
    assert json.loads(zarr_zip.read(Path("run.zarr.zip")).attrs["spec"]) == spec
    assert json.loads(Path("cost.json").read_text())["wall_seconds"] > 0
    assert not Path("scratch", spec["digest"]).exists()
    assert "status ['ok']" in Path("logs/run.log").read_text()

    files = ["--streams", "steps.zarr.zip", "--scores", "scores.zarr.zip", "--summary", "s.csv"]
    files += ["--config", "small.yaml"]
    assert main.main(["summarise", "toy", "--runs", "run.zarr.zip", *files, "--tidy", "t.csv"]) == 0
    assert pd.read_csv("s.csv")["metric"].tolist() == ["jump_f1", "log_predictive"]
    assert len(pd.read_csv("t.csv")) == 6
    for name, kinds in {"score-table": ("csv", "md"), "toy-hypotheses": ("svg", "png")}.items():
        made = [f"made/{name}.{kind}" for kind in kinds]
        assert main.main(["artefact", "toy", name, "--output", *made, *files]) == 0
        assert all(Path(file).stat().st_size for file in made)
    told = capsys.readouterr()
    assert told.out == told.err == ""


def test_other_digest_is_refused_and_nothing_is_written(plan, capsys) -> None:
    assert _stream("--digest", "0" * 64) == 2
    assert "changed while the workflow ran" in capsys.readouterr().err
    assert not Path("steps.zarr.zip").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["check", "absent.yaml"], "absent.yaml: cannot be read"),
        (["list", "studies", "--config", "absent.yaml"], "absent.yaml: cannot be read"),
        (["stream", "stepz", "--config", "small.yaml", "--raw", "r", "--output", "o"],
         'unknown stream "stepz"; did you mean "steps"?'),
        (["fetch", "mnits", "x", "--output", "o"], "mnist"),
        (["warm"], "name a command"),
        (["warm", "--", "nosuchcmd"], "no command nosuchcmd that can be run"),
        (["warm", "--", "./small.yaml"], "no command ./small.yaml that can be run"),
        (["check", "."], ".: cannot be read"),
        (["fetch", "pima", "pima-indians-diabetes.csv", "--output", "small.yaml/o"],
         "small.yaml: File exists; there is a file where a folder should be"),
        (["choose", "toy", "steps", "search", "--config", "small.yaml", "--scores", "s",
          "--output", "o"], 'unknown tuned method "search"; known: none'),
    ],
)  # fmt: skip
def test_what_a_user_can_mend_is_one_message(plan, capsys, arguments, words) -> None:
    assert main.main(arguments) == 2
    told = capsys.readouterr().err
    assert words in told
    assert "Traceback" not in told


def test_a_store_or_a_summary_that_was_changed_is_not_built_upon(plan, caplog) -> None:
    assert _stream() == 0 and _run() == 0
    summarise = ["summarise", "toy", "--config", "small.yaml", "--runs", "run.zarr.zip",
                 "--streams", "steps.zarr.zip", "--scores", "scores.zarr.zip",
                 "--summary", "summary.csv", "--tidy", "tidy.csv"]  # fmt: skip
    draw = ["artefact", "toy", "score-table", "--config", "small.yaml",
            "--output", "table.csv", "table.md", "--scores", "scores.zarr.zip",
            "--summary", "summary.csv", "--streams", "steps.zarr.zip"]  # fmt: skip
    assert main.main(summarise) == 0 and main.main(draw) == 0
    summary = Path("summary.csv")
    summary.write_text(summary.read_text().replace("0.", "0.9", 1))
    assert main.main(draw) == 2
    assert "summary.csv: changed since the workflow made it" in caplog.text
    zarr_zip.write(zarr_zip.read(Path("run.zarr.zip")).isel(seed=slice(2)), Path("run.zarr.zip"))
    assert main.main(summarise) == 2
    assert "run.zarr.zip: changed since" in caplog.text


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> Path:
    """The stream, the run and the scores, all in one folder."""
    folder = tmp_path_factory.mktemp("results")
    (folder / "folder").mkdir()
    (folder / "small.yaml").write_text(CONFIG)
    with contextlib.chdir(folder):
        assert _stream() == 0 and _run() == 0
        arguments = "--config small.yaml --runs run.zarr.zip --streams steps.zarr.zip"
        outputs = "--scores scores.zarr.zip --summary s.csv --tidy t.csv"
        assert main.main(["summarise", "toy", *arguments.split(), *outputs.split()]) == 0
    return folder


@pytest.fixture
def made(results, tmp_path, monkeypatch) -> None:
    shutil.copytree(results, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)


def _bad(kind: str) -> str:
    """The path of what is no file of ours."""
    path = Path("bad")
    if kind == "folder":
        path.mkdir()
    elif kind != "missing":
        path.write_bytes({"empty": b"", "text": b"garbage", "binary": b"\xff\xfe"}[kind])
    return str(path)


@pytest.mark.parametrize("kind", ["missing", "folder", "empty", "text", "binary"])
def test_bad_file_in_every_place_is_one_line(made, capsys, kind) -> None:
    bad, config = _bad(kind), ["--config", "small.yaml"]
    files = {"--scores": "scores.zarr.zip", "--summary": "s.csv", "--streams": "steps.zarr.zip"}
    artefact = ["artefact", "toy", "score-table", *config, "--output", "made.csv", "made.md"]
    summarise = ["summarise", "toy", *config, "--scores", "o"]
    summarise += ["--summary", "o.csv", "--tidy", "o.t.csv"]
    calls = [[*artefact, *chain(*(files | {file: bad}).items())] for file in files]
    calls += [[*summarise, "--runs", bad, "--streams", "steps.zarr.zip"]]
    calls += [[*summarise, "--runs", "run.zarr.zip", "--streams", bad]]
    for call in calls:
        assert main.main(call) == 2, call
        assert capsys.readouterr().err.startswith("bad: ")
    assert _run("--store", bad) == 2 and _run("--choice", bad) == 2
    assert [line[:5] for line in capsys.readouterr().err.splitlines()] == ["bad: ", "bad: "]
    assert not any(map(Path.exists, map(Path, ("o", "o.csv", "o.t.csv", "made.csv", "made.md"))))


def test_folder_in_the_place_of_an_output(made, capsys) -> None:
    job = {"stream": _stream, "train": _run}
    for verb, option in [
        ("stream", "output"),
        ("train", "output"),
        ("train", "cost"),
        ("train", "log"),
    ]:
        assert job[verb](f"--{option}", "folder") == 2
        told = capsys.readouterr().err
        assert "folder: Is a directory; move the folder away, or name a file" in told
        assert told.count("\n") == 1
    assert not list(Path("folder").iterdir()) and not list(Path().glob(".*.new"))


def _full(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _full_behind_another(*_: object) -> None:
    try:
        _full()
    except OSError:
        raise ValueError("cannot close the zip file") from None


def _half_written(path: Path, text: str, **_: object) -> None:
    path.write_bytes(text[:3].encode())
    _full()


@pytest.mark.parametrize(
    ("place", "broken", "job"),
    [
        ("os.fsync", _full, _stream),
        ("os.fsync", _full_behind_another, _stream),
        ("os.fsync", _full, lambda: _run("--minutes", "0")),
        ("pathlib.Path.write_text", _half_written, _run),
    ],
    ids=["store", "closing a store", "checkpoint", "text"],
)
def test_full_disk_is_one_line_and_nothing_half_written(
    made, capsys, monkeypatch, place, broken, job
):
    before = {path: path.read_bytes() for path in Path().rglob("*.*") if path.suffix != ".log"}
    monkeypatch.setattr(place, broken)
    assert job() == 2
    told = capsys.readouterr().err
    assert told in [
        f"{name}.zarr.zip: No space left on device; make room there and start again\n"
        for name in ("steps", "run")
    ]
    after = {path: path.read_bytes() for path in Path().rglob("*.*") if path.suffix != ".log"}
    assert after == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_full_disk_under_the_log_or_the_output(plan, capsys) -> None:
    assert _stream() == 0
    assert _run("--log", "/dev/full") == 2
    assert capsys.readouterr().err.startswith("/dev/full: No space left on device; make room")
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "shiftbench", "list", "learners"],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith("standard output: No space left on device")
    assert done.stderr.count("\n") == 1


def test_missing_store_is_one_message(plan, capsys) -> None:
    assert _run() == 2
    assert "steps.zarr.zip" in capsys.readouterr().err
    assert not Path("run.zarr.zip").exists()


def test_defect_is_one_line_and_its_traceback_is_in_the_log(plan, capsys, monkeypatch) -> None:
    def broken(path: Path) -> None:
        raise RuntimeError("a defect")

    monkeypatch.setattr(zarr_zip, "read_any", broken)
    assert _run() == 1
    assert capsys.readouterr().err == (
        "unexpected error: RuntimeError: a defect; details in logs/run.log\n"
    )
    assert "Traceback" in Path("logs/run.log").read_text()


def test_stopped_run_is_saved_and_goes_on(plan, capsys) -> None:
    assert _stream() == 0
    assert _run("--minutes", "0") == requeue.STOPPED
    assert "start it again to go on" in capsys.readouterr().err
    assert not Path("run.zarr.zip").exists()
    assert list(Path("scratch").iterdir())
    assert _run() == 0
    assert "resumed" in Path("logs/run.log").read_text()


def test_check_tells_the_plan(plan, capsys) -> None:
    assert main.main(["check", "small.yaml"]) == 0
    assert capsys.readouterr().out == "toy: Two steps; 1 runs, 2 artefacts\n"


def test_list(plan, capsys) -> None:
    assert main.main(["list", "learners"]) == 0
    assert re.search(r"^gaussian-mean +Conjugate Gaussian", capsys.readouterr().out, re.MULTILINE)
    assert main.main(["list", "studies", "--config", "small.yaml"]) == 0
    first, _, last = capsys.readouterr().out.splitlines()
    assert first == "toy  Two steps"
    assert last == (
        "Show one: shiftbench show NAME --config small.yaml."
        " Run one: .venv/bin/snakemake NAME --configfile small.yaml"
    )


def test_list_what_fits_a_stream(plan, capsys) -> None:
    assert main.main(["list", "learners", "--for", "steps", "--config", "small.yaml"]) == 0
    assert capsys.readouterr().out.startswith("gaussian-mean  Conjugate Gaussian mean")
    assert main.main(["list", "metrics", "--for", "stops", "--config", "small.yaml"]) == 2
    assert 'did you mean "steps"?' in capsys.readouterr().err
    assert main.main(["list", "streams", "--for", "steps", "--config", "small.yaml"]) == 2
    assert "--for is for what can be used" in capsys.readouterr().err


WORDS = """\
streams:
  words: {family: planted-words, realisations: 1, periods: 2, documents: 4, document_length: 40}
studies:
  words:
    title: Words
    streams: [words]
    seeds: 1
    words: [a-02, a-022]
    metrics: [updates_per_period]
    artefacts: [word-trajectories]
    methods:
      vbs: [{per-word: {dimension: 2, block: 140}}, {beam: {size: 2}}, skipgram]
"""


def test_a_word_that_the_vocabulary_has_not_is_told_before_anything_is_learnt(
    tmp_path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("words.yaml").write_text(WORDS)
    of_stream = ["--config", "words.yaml", "--raw", "raw", "--output", "words.zarr.zip"]
    assert main.main(["stream", "words", *of_stream]) == 0
    capsys.readouterr()
    assert main.main(
        ["train", "words", "words", "vbs", "--seeds", "0-0", "--config", "words.yaml",
         "--store", "words.zarr.zip", "--output", "run.zarr.zip", "--cost", "cost.json",
         "--scratch", "scratch"]
    ) == 2  # fmt: skip
    said = capsys.readouterr().err
    assert 'study words: its word "a-022" is not in the vocabulary of stream words' in said
    assert 'the nearest is "a-02". Change it in `words`' in said
    # Of what is written there, only the file that says whose turn it is to take a folder.
    assert [one.name for one in Path("scratch").iterdir()] == ["turn"]
    assert not Path("run.zarr.zip").exists()


@pytest.mark.parametrize("arguments", [[], ["nonsense", "list", "learners"]])
def test_stack_that_does_not_exist(capsys, arguments) -> None:
    assert __main__.main(["--stack", *arguments]) == 2
    assert capsys.readouterr().err == "--stack is followed by light or tensorflow, and a verb\n"


def test_module_can_be_run() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "shiftbench", "check", "absent.yaml"],
        capture_output=True, text=True, env=os.environ, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith("absent.yaml: cannot be read")


def test_crash_of_compiled_code_leaves_its_stack_in_the_log(plan, tmp_path) -> None:
    """Without a warm server, where nobody outlives the job."""
    code = "import os, sys; import pathlib; from shiftbench.cli import logs; "
    code += "logs.open_log(pathlib.Path(sys.argv[1]))\n"
    code += "def observe(): os.kill(os.getpid(), 11)\nobserve()"
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "a.log")])
    assert done.returncode == -11
    told = (tmp_path / "a.log").read_text()
    assert "Segmentation fault" in told and "in observe" in told


def test_the_help_lists_the_verbs_of_people_and_no_others(capsys) -> None:
    for option in ("--help", "--version"):
        with pytest.raises(SystemExit) as ended:
            main.main([option])
        assert ended.value.code == 0
    told = capsys.readouterr().out
    listed = [line.split()[0] for line in told.splitlines() if re.match(r"  [a-z]", line)]
    assert listed == [verb for group in main.GROUPS.values() for verb in group]
    assert not set(listed) & {"train", "stream", "ledger", "warm"}
    assert re.search(r"^For developers: [a-z, ]*schema", told, re.MULTILINE)
    assert max(map(len, told.splitlines())) <= 80
    assert told.endswith(f"shiftbench {shiftbench.__version__}\n")


def test_an_unknown_verb_is_told_with_the_nearest(capsys) -> None:
    assert main.main(["chek", "small.yaml"]) == 2
    assert capsys.readouterr().err.startswith('unknown verb "chek"; did you mean "check"?')


@pytest.mark.parametrize("more", [["steps", "search", "--seeds", "0-2"], ["--cores", "1"]])
def test_run_takes_a_config_and_the_rest_behind_two_dashes(plan, capsys, more) -> None:
    assert main.main(["run", "small.yaml", *more]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f'run: "{more[0]}" is not expected') and "CONFIG -- --cores 1" in said


def test_every_rule_calls_a_verb_that_there_is() -> None:
    text = "".join(path.read_text() for path in snakemake_metadata.RULES.glob("*.smk"))
    called = set()
    for rule in re.findall(r"^rule (\w+):", text, re.MULTILINE):
        words = snakemake_metadata.command(rule).split()[1:]
        while words[0] in __main__.KNOWN:
            words = words[2:]
        called.add(__main__.OF_JOBS.get(words[0], words[0]))
    _, verbs = main._parser()
    assert called <= set(verbs.choices)
    assert {"train", "stream", "ledger"} <= called and "run" not in called


def test_a_rule_that_says_run_trains(monkeypatch) -> None:
    """Rules keep the old name: Snakemake would run again all that another command had made."""
    asked: list[str] = []
    monkeypatch.setattr(__main__.orphans, "die_with_parent", lambda parent: None)
    monkeypatch.setattr(__main__.warm, "request", lambda stack, job: asked.extend(job) or 7)
    assert __main__.main(["--stack", "light", "run", "toy", "steps", "run"]) == 7
    assert asked == ["train", "toy", "steps", "run"]


def test_completion_is_a_script_of_the_verbs(capsys) -> None:
    pytest.importorskip("shtab")
    assert main.main(["completion", "bash"]) == 0
    told = capsys.readouterr().out
    assert "complete " in told and "verify" in told and "_shtab_compgen_files" in told


def test_completion_needs_a_package(capsys, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main.main(["completion", "bash"]) == 2
    assert "pip install shtab" in capsys.readouterr().err


def test_environment_older_than_the_lock_is_told_with_the_remedy(plan, capsys, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "rocrate", None)
    monkeypatch.setattr(zarr_zip, "read_any", lambda path: importlib.import_module("rocrate"))
    assert _run() == 2
    assert "requirements.lock has it" in (said := capsys.readouterr().err)
    assert "rocrate" in said
    assert "make setup" in said


def test_the_files_of_an_artefact_are_named_all(plan, capsys) -> None:
    files = ["--streams", "s", "--scores", "s", "--summary", "s", "--config", "small.yaml"]
    for made in (["table"], ["table.csv"], ["table.csv", "table.svg"]):
        assert main.main(["artefact", "toy", "score-table", *files, "--output", *made]) == 2
        assert "name the files that are made: table.csv table.md" in capsys.readouterr().err
