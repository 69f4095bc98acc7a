"""The verb `run`: how it calls Snakemake, and what it prints at the end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from shiftbench import __main__
from shiftbench.cli import check, main, run
from shiftbench.core import checkout
from shiftbench.publish.site import unchanged
from shiftbench.runtime import forkserver_client

CONFIG = """\
streams:
  steps: {family: toy-step, points: 6}
studies:
  toy:
    title: Steps
    streams: [steps]
    seeds: 1
    metrics: [log_predictive]
    artefacts: [score-table]
    methods: {plain: [gaussian-mean]}
"""
FAILED = {"job": "Running toy: plain on steps, seeds 0 to 0", "log": "results/mine/logs/0-0.log"}


@pytest.fixture(autouse=True)
def handlers():
    """Restore the signal handlers that `run` sets for the rest of its process."""
    before = {number: signal.getsignal(number) for number in run.graceful_stop.SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def snakemake(tmp_path, monkeypatch) -> dict:
    """Replace Snakemake by a stub; return its exit status, report and received command."""
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text(CONFIG)
    known = {"status": 0, "report": {"done": 4, "failed": []}, "command": []}

    def called(command: list[str]) -> int:
        known["command"] = command
        if known["report"]:
            path = Path(command[command.index("--logger-shiftbench-report") + 1])
            path.write_text(json.dumps(known["report"]))
        return known["status"]

    monkeypatch.setattr(forkserver_client, "run", called)
    monkeypatch.setattr(run, "_write_pages", lambda config, results: None)
    return known


def test_options_behind_the_dashes_are_those_of_snakemake(snakemake, capsys) -> None:
    assert main.main(["run", "mine.yaml", "--", "--cores", "1", "toy"]) == 0
    command = snakemake["command"]
    assert command[-3:] == ["--cores", "1", "toy"]
    assert command[command.index("--snakefile") + 1] == str(checkout.SNAKEFILE)
    assert command[command.index("--configfile") + 1] == "mine.yaml"
    assert capsys.readouterr().out.startswith("mine.yaml: 1 study; results go to results/mine\n")


def test_code_of_a_method_finds_its_input_at_its_end(snakemake) -> None:
    code = (
        "import os, sys; from shiftbench.cli import main;"
        " from shiftbench.runtime import forkserver_client as started;"
        " started.run = lambda command: 10 + len(os.read(0, 1));"
        " sys.exit(main.main(['run', 'mine.yaml']))"
    )
    done = subprocess.run([sys.executable, "-c", code], input=b"typed", check=False)
    assert done.returncode == 10


def test_a_config_with_an_error_starts_nothing(snakemake, capsys) -> None:
    Path("mine.yaml").write_text(CONFIG.replace("toy-step", "toy-stepp"))
    assert main.main(["run", "mine.yaml"]) == 2
    assert 'did you mean "toy-step"?' in capsys.readouterr().err
    assert not snakemake["command"]


def test_the_last_lines_say_where_to_look_and_how_long_it_took(
    snakemake, monkeypatch, capsys
) -> None:
    clock = SimpleNamespace(monotonic=iter([100.0, 107.0]).__next__)
    monkeypatch.setattr(run, "time", clock)
    study = Path("results/mine/studies/toy")
    study.mkdir(parents=True)
    (study / "summary.csv").touch()
    assert main.main(["run", "mine.yaml"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[-2] == "Results: results/mine/site/index.html"
    assert told[-1] == "Took 7 s; the whole log is in .snakemake/log"
    assert not any("failed" in line for line in told)


def test_pages_are_made_again_only_where_something_changed(snakemake, monkeypatch, capsys) -> None:
    study, page = Path("results/mine/studies/toy"), Path("results/mine/site/index.html")
    study.mkdir(parents=True)
    (study / "summary.csv").touch()

    def write(config: Path, results: Path) -> None:
        page.parent.mkdir(exist_ok=True)
        page.write_text("a page")

    def made() -> bool:
        assert main.main(["run", "mine.yaml"]) == 0
        told = capsys.readouterr().out
        assert f"Results: {page}\n" in told
        return "Making the results pages" in told

    monkeypatch.setattr(run, "_write_pages", write)
    assert made() and not made()
    for change in (
        lambda: (study / "notes.txt").write_text("new"),
        lambda: Path("mine.yaml").write_text(f"# a comment\n{CONFIG}"),
        page.unlink,
        lambda: page.write_text("by hand"),
        lambda: page.with_name("another.html").touch(),
        lambda: page.with_name(unchanged.RECORD).write_text("{"),
    ):
        change()
        assert made() and not made(), "each change once"


def test_what_failed_is_listed_and_there_are_no_pages_of_nothing(snakemake, capsys) -> None:
    snakemake |= {"status": 1, "report": {"done": 1, "failed": [FAILED]}}
    assert main.main(["run", "mine.yaml"]) == 1
    told = capsys.readouterr().out
    assert f"\n1 job failed:\n  {FAILED['job']}; its log: {FAILED['log']}\n" in told
    assert "Results:" not in told


def test_a_signal_ends_it_while_pages_are_made_too(snakemake, monkeypatch) -> None:
    study = Path("results/mine/studies/toy")
    study.mkdir(parents=True)
    (study / "summary.csv").touch()
    monkeypatch.setattr(run, "_write_pages", lambda *_: signal.raise_signal(signal.SIGTERM))
    with pytest.raises(SystemExit) as ended:
        main.main(["run", "mine.yaml"])
    assert ended.value.code == 143


# A stand-in for Snakemake, which gets Ctrl-C while it starts.
INTERRUPTED = """
import os, signal, time
os.kill(os.getppid(), signal.SIGINT)
time.sleep(100)
"""


@pytest.mark.usefixtures("signals_act")
def test_an_interrupt_while_snakemake_starts_shows_no_traceback(tmp_path) -> None:
    Path(tmp_path, "mine.yaml").write_text(CONFIG)
    package = tmp_path / "packages" / "snakemake"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "cli.py").write_text(INTERRUPTED)
    (package / "__main__.py").write_text("import snakemake.cli")
    done = subprocess.run(
        [sys.executable, "-m", "shiftbench", "run", "mine.yaml"],
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(package.parent)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 130
    assert "Traceback" not in done.stderr
    last = "stopped by SIGINT, no job is left running; the same command goes on from there\n"
    assert done.stderr.endswith(last)


def test_an_interrupt_while_snakemake_plans_is_not_shown_as_its_error() -> None:
    """Snakemake turns whatever a function of the rules raises into an error of the rules."""
    code = (
        "import logging, signal; from shiftbench.runtime import snakemake_process as started\n"
        "signal.signal(signal.SIGINT, started.interrupt)\n"
        "try: signal.raise_signal(signal.SIGINT)\n"
        "except BaseException: logging.error('InputFunctionException')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""


def test_an_interrupt_while_the_config_is_checked_is_told(snakemake, monkeypatch, capsys) -> None:
    monkeypatch.setattr(check, "checked", lambda *_: signal.raise_signal(signal.SIGINT))
    with pytest.raises(SystemExit) as ended:
        main.main(["run", "mine.yaml"])
    assert ended.value.code == 130
    assert capsys.readouterr().err == "stopped by SIGINT; the same command goes on from there\n"


def test_an_interrupt_while_a_verb_is_imported_is_told(monkeypatch, capsys) -> None:
    monkeypatch.setattr(main, "main", lambda *_: signal.default_int_handler(signal.SIGINT, None))
    with pytest.raises(SystemExit) as ended:
        __main__.entry()
    assert ended.value.code == 130
    assert capsys.readouterr().err == "stopped by SIGINT; the same command goes on from there\n"


@pytest.mark.parametrize("status", [0, 1, 130, 143])
def test_without_a_report_nothing_is_added(snakemake, capsys, status) -> None:
    """No path is printed after --dry-run or --unlock, or after an error or a stop of Snakemake."""
    snakemake |= {"status": status, "report": None}
    assert main.main(["run", "mine.yaml"]) == status
    assert capsys.readouterr().out.count("\n") == 1


@pytest.mark.parametrize(
    ("seconds", "words"), [(7, "7 s"), (99, "99 s"), (1440, "24 min"), (7500, "2 h 5 min")]
)
def test_time_is_told_in_units_that_suit_it(seconds, words) -> None:
    assert run._span(seconds) == words
