"""The verbs: their outputs, refusals and messages."""

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
from pathlib import Path

import pandas as pd
import pytest

import shiftbench
from shiftbench import __main__
from shiftbench.cli import main, parser
from shiftbench.config import config_file, specs
from shiftbench.core import checkout, exit_statuses
from shiftbench.data.store import zarr_zip
from tests import job_calls

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


def _job(*key: str) -> list[str]:
    job = job_calls.planned(Path("small.yaml"), "results")[key]
    return job_calls.arguments(job, Path("specs"))


def _stream(*more: str) -> int:
    made = ["--output", "steps.zarr.zip", "--raw", "raw"]
    return main.main([*_job("build_stream", "steps"), *made, *more])


def _run(*more: str) -> int:
    files = ["--input", "steps.zarr.zip", "--output", "run.zarr.zip", "cost.json"]
    files += ["--scratch", "scratch", "--log", "logs/run.log"]
    return main.main([*_job("run_method", "toy", "steps", "search", "0", "2"), *files, *more])


def _summarise(*more: str) -> list[str]:
    files = ["--input", "steps.zarr.zip", "run.zarr.zip"]
    files += ["--output", "scores.zarr.zip", "s.csv", "t.csv"]
    return [*_job("summarise_study", "toy"), *files, *more]


def _table(*more: str) -> list[str]:
    files = ["--input", "steps.zarr.zip", "scores.zarr.zip", "s.csv"]
    made = ["--output", "table.csv", "table.md"]
    return [*_job("write_table", "toy", "score-table"), *files, *made, *more]


@pytest.mark.long
def test_from_stream_to_artefacts(plan, capsys) -> None:
    spec = specs.run(plan, "toy", "steps", "search", (0, 2))
    assert _stream() == 0
    assert _run() == 0
    assert json.loads(zarr_zip.read(Path("run.zarr.zip")).attrs["spec"]) == spec
    assert json.loads(Path("cost.json").read_text())["wall_seconds"] > 0
    assert not Path("scratch", spec["digest"]).exists()
    assert "status ['ok']" in Path("logs/run.log").read_text()

    assert main.main(_summarise()) == 0
    assert pd.read_csv("s.csv")["metric"].tolist() == ["jump_f1", "log_predictive"]
    assert len(pd.read_csv("t.csv")) == 6
    assert main.main(_table()) == 0
    figure = _job("draw_figure", "toy", "toy-hypotheses")
    figure += ["--input", "steps.zarr.zip", "scores.zarr.zip", "s.csv"]
    assert main.main([*figure, "--output", "figure.svg", "figure.png"]) == 0
    for file in ("table.csv", "table.md", "figure.svg", "figure.png"):
        assert Path(file).stat().st_size
    told = capsys.readouterr()
    assert told.out == told.err == ""


@pytest.mark.long
@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_letters_that_the_locale_lacks_do_not_end_a_verb(encoding) -> None:
    variables = {"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0", "LC_ALL": "C"}
    command = [sys.executable, "-m", "shiftbench", "list", "methods"]
    told = subprocess.run(command, capture_output=True, env=os.environ | variables)
    name = "Gavald?" if encoding == "ascii" else "Gavaldà"
    assert told.returncode == 0 and f"Bifet and {name}" in told.stdout.decode(encoding)


def test_a_spec_that_is_not_what_was_planned_is_refused(plan, capsys) -> None:
    job = _job("build_stream", "steps")
    file = Path(job[1])
    file.write_text(file.read_text().replace("toy-step", "another"))
    assert main.main([*job, "--output", "steps.zarr.zip"]) == 2
    assert "this is not the spec that was planned" in capsys.readouterr().err
    file.unlink()
    assert main.main([*job, "--output", "steps.zarr.zip"]) == 2
    assert f"{file}: no such spec; start the workflow again" in capsys.readouterr().err
    assert not Path("steps.zarr.zip").exists()


def test_code_that_changed_since_is_refused_unless_it_means_the_same(plan, capsys) -> None:
    job = [*_job("build_stream", "steps"), "--output", "steps.zarr.zip"]
    (code,) = Path("specs").glob("code-*.json")
    behind = json.loads(code.read_text())
    code.write_text(json.dumps(behind | {"sha256": "as before a comment"}))
    assert main.main(job) == 0
    Path("steps.zarr.zip").unlink()
    other = ["shiftbench.data.series.series"]
    code.write_text(json.dumps(behind | {"sha256": "as before a change", "modules": other}))
    assert main.main(job) == 2
    assert "changed while the workflow ran" in capsys.readouterr().err
    assert not Path("steps.zarr.zip").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["check", "absent.yaml"], "absent.yaml: there is no such file"),
        (["list", "studies", "--config", "absent.yaml"], "absent.yaml: there is no such file"),
        (["list", "methods", "--config", "absent.yaml"], "absent.yaml: there is no such file"),
        (["site", "--config", "absent.yaml"], "absent.yaml: there is no such file"),
        (["plan", "--cores", "0"], "--cores 0: write a number of cores, from 1 to 999,999"),
        (["plan", "--cores", "9" * 20], f"--cores {'9' * 20}: write a number of cores, from 1"),
        (["test", "x", "--limit", "9" * 5000], "write a number of seconds, from 1 to 999,999"),
        (["fetch", "mnits", "x", "--output", "o"], "mnist"),
        (["warm"], "name a command"),
        (["warm", "--", "nosuchcmd"], "no command nosuchcmd that can be run"),
        (["warm", "--", "./small.yaml"], "no command ./small.yaml that can be run"),
        (["check", "."], ".: this is a folder"),
        (["fetch", "pima", "pima-indians-diabetes.csv", "--output", "small.yaml/o"],
         "small.yaml: File exists; there is a file where a folder should be"),
    ],
)  # fmt: skip
def test_what_a_user_can_mend_is_one_message(plan, capsys, arguments, words) -> None:
    assert main.main(arguments) == 2
    told = capsys.readouterr().err
    assert words in told
    assert "Traceback" not in told


def test_a_store_or_a_summary_that_was_changed_is_not_built_upon(plan, caplog) -> None:
    assert _stream() == 0 and _run() == 0
    assert main.main(_summarise()) == 0 and main.main(_table()) == 0
    summary = Path("s.csv")
    summary.write_text(summary.read_text().replace("0.", "0.9", 1))
    assert main.main(_table()) == 2
    assert "s.csv: changed since the workflow made it" in caplog.text
    zarr_zip.write(zarr_zip.read(Path("run.zarr.zip")).isel(seed=slice(2)), Path("run.zarr.zip"))
    assert main.main(_summarise()) == 2
    assert "run.zarr.zip: changed since" in caplog.text


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> Path:
    """Return a folder with the stream, the run and the scores."""
    folder = tmp_path_factory.mktemp("results")
    (folder / "folder").mkdir()
    (folder / "small.yaml").write_text(CONFIG)
    with contextlib.chdir(folder):
        assert _stream() == 0 and _run() == 0
        assert main.main(_summarise()) == 0
    return folder


@pytest.fixture
def made(results, tmp_path, monkeypatch) -> None:
    shutil.copytree(results, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)


def _bad(kind: str) -> str:
    """Return the path of an invalid file."""
    path = Path("bad")
    if kind == "folder":
        path.mkdir()
    elif kind != "missing":
        path.write_bytes({"empty": b"", "text": b"garbage", "binary": b"\xff\xfe"}[kind])
    return str(path)


@pytest.mark.parametrize("kind", ["missing", "folder", "empty", "text", "binary"])
def test_bad_file_in_every_place_is_one_line(made, capsys, kind) -> None:
    bad = _bad(kind)
    read = ["steps.zarr.zip", "scores.zarr.zip", "s.csv"]
    made = ["--output", "made.csv", "made.md"]
    calls = [_table("--input", *read[:place], bad, *read[place + 1 :], *made) for place in range(3)]
    made = ["--output", "o", "o.csv", "o.t.csv"]
    calls += [_summarise("--input", "steps.zarr.zip", bad, *made)]
    calls += [_summarise("--input", bad, "run.zarr.zip", *made)]
    for call in calls:
        assert main.main(call) == 2, call
        assert capsys.readouterr().err.startswith(("bad: ", "bad is "))
    assert _run("--input", bad) == 2
    assert capsys.readouterr().err.startswith(("bad: ", "bad is "))
    assert not any(map(Path.exists, map(Path, ("o", "o.csv", "o.t.csv", "made.csv", "made.md"))))


def test_folder_in_the_place_of_an_output(made, capsys) -> None:
    for job, *options in [
        (_stream, "--output", "folder"),
        (_run, "--output", "folder", "cost.json"),
        (_run, "--output", "run.zarr.zip", "folder"),
        (_run, "--log", "folder"),
    ]:
        assert job(*options) == 2
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


def test_full_disk_under_a_new_project_is_named_and_leaves_nothing(
    tmp_path, capsys, monkeypatch
) -> None:
    monkeypatch.setattr("pathlib.Path.write_text", _half_written)
    assert main.main(["quickstart", str(tmp_path / "mine")]) == 2
    told = capsys.readouterr().err
    assert told == (
        f"a file in {tmp_path / 'mine'}: No space left on device; make room there and start again\n"
    )
    assert not list((tmp_path / "mine").iterdir())


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
    assert _run("--minutes", "0") == exit_statuses.STOPPED
    assert "start it again to go on" in capsys.readouterr().err
    assert not Path("run.zarr.zip").exists()
    assert list(Path("scratch").iterdir())
    assert _run() == 0
    assert "resumed" in Path("logs/run.log").read_text()


def test_check_tells_the_plan(plan, capsys) -> None:
    assert main.main(["check", "small.yaml"]) == 0
    assert capsys.readouterr().out == "toy: Two steps; 1 run, 2 artefacts\n"


def test_list(plan, capsys) -> None:
    assert main.main(["list", "learners"]) == 0
    assert re.search(r"^gaussian-mean +Gaussian mean", capsys.readouterr().out, re.MULTILINE)
    assert main.main(["list", "studies", "--config", "small.yaml"]) == 0
    first, _, last = capsys.readouterr().out.splitlines()
    assert first == "toy  Two steps"
    assert last == (
        "Show one: shiftbench show NAME --config small.yaml."
        " Run one: shiftbench run small.yaml -- NAME"
    )


def test_list_what_fits_a_stream(plan, capsys) -> None:
    assert main.main(["list", "learners", "--for", "steps", "--config", "small.yaml"]) == 0
    assert "\ngaussian-mean           Gaussian mean" in capsys.readouterr().out
    assert main.main(["list", "metrics", "--for", "stops", "--config", "small.yaml"]) == 2
    assert 'did you mean "steps"?' in capsys.readouterr().err
    assert main.main(["list", "methods", "--for", "steps", "--config", "small.yaml"]) == 0
    listed = capsys.readouterr().out
    assert "\nvbs-toy " in listed and "\nvcl " not in listed
    assert main.main(["list", "claims", "--for", "steps", "--config", "small.yaml"]) == 2
    assert "--for does not apply to claims; leave it out" in capsys.readouterr().err
    assert main.main(["list", "streams", "--for", "steps", "--config", "small.yaml"]) == 2
    assert "--for does not apply to streams; leave it out" in capsys.readouterr().err


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
    Path("small.yaml").write_text(WORDS)
    stream = [*_job("build_stream", "words"), "--output", "words.zarr.zip"]
    assert main.main(stream) == 0
    capsys.readouterr()
    run = _job("run_method", "words", "words", "vbs", "0", "0")
    run += ["--input", "words.zarr.zip", "--output", "run.zarr.zip", "cost.json"]
    assert main.main([*run, "--scratch", "scratch"]) == 2
    said = capsys.readouterr().err
    assert 'study words: its word "a-022" is not in the vocabulary of stream words' in said
    assert 'the nearest is "a-02". Change it in `words`' in said
    # Only the lock file for taking a scratch folder is written there.
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
    assert done.stderr.startswith("absent.yaml: there is no such file")


def test_crash_of_compiled_code_leaves_its_stack_in_the_log(plan, tmp_path) -> None:
    """The job runs without a fork server, and nothing outlives it."""
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
    assert listed == [verb for group in parser.GROUPS.values() for verb in group]
    assert not set(listed) & {"job", "fetch", "derive", "warm"}
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
    rules = "".join(path.read_text() for path in Path(checkout.HOME, "workflow").rglob("*.smk"))
    commands = re.findall(r"shell:\n +(.*)", rules)
    assert set(commands) == {"jobs.COMMAND", "jobs.FETCH"}
    assert len(commands) == len(re.findall(r"^rule \w+:", rules, re.MULTILINE))
    _, verbs = parser.make()
    assert {"job", "fetch"} <= set(verbs.choices)


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


def test_results_may_be_the_present_folder(tmp_path, monkeypatch, capsys) -> None:
    (tmp_path / "results/mine").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "results/mine")
    assert main.main(["verify", "."]) == 2
    assert (
        f"{tmp_path}/results/published/mine: there are no such results" in capsys.readouterr().err
    )


def test_components_in_no_folder_are_refused(tmp_path, capsys) -> None:
    assert main.main(["test", str(tmp_path / "nowhere")]) == 2
    assert capsys.readouterr().err.endswith("nowhere: there is no such folder; check its path\n")
