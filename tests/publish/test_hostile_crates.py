"""`verify` refuses crates that an attacker forged or made harmful, with a clear message."""

from __future__ import annotations

import random
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from shiftbench.cli import main, verifying
from shiftbench.core.errors import UserError
from shiftbench.core.plain_text import printable
from shiftbench.forecast import plan
from shiftbench.publish import (
    crate,
    crate_files,
    crate_plan,
    leaderboard_entries,
    recompute,
    store_checks,
)
from shiftbench.publish.recompute import Sample
from tests import job_calls
from tests.publish import crate_mutations, hostile_crates
from tests.publish.crate_mutations import TABLE_OF_MUTATIONS
from tests.publish.hostile_crates import STORE, Mutation

ALL = [crate_mutations.NOTHING, *TABLE_OF_MUTATIONS, *crate_mutations.RUNS_AT_RANDOM]
PARTS = 4
SECONDS = 60
"""Time after which a crate counts as hanging; the slowest takes a few seconds."""
BY_NAME = {one.name: one for one in ALL}
REFUSED = {
    "a link beside the files": "symbolic link",
    "a pipe": "is a pipe",
    "a socket": "is a socket",
    "a folder as store": "lacks",
    "bytes as a name": "bytes that are not text",
    "a name with escapes": "control characters",
    "two names but for case": "ignore case",
    "a study too many": "does not plan",
    "studies/toy becomes studies/game": "lacks",
    "without runs/toy/steps/plain": "lacks",
    "another study in the provenance": "its spec is not that of toy",
    "a stream above": "was not made as the config",
    "all seeds": "was not made as the config",
    "seeds that are true": "was not made as the config",
    "cpu_seconds is nan": "cpu_seconds",
    "cpu_seconds is -1.0": "cpu_seconds",
    "an array of 16 TB": "more than 8,589,934,592",
    "a chunk of 16 EB": "of another size",
    "a compressed store": "compressed",
    "a member above": "strange name",
    "a member twice": "there twice",
    "components": "only with --trust",
    "components above": "outside of the crate",
    "a folder above": "outside of the crate",
    "a config above": "outside of the crate",
    "a billion seeds": "100000",
    "a folder of data": "small.yaml: 1 error",
}
"""Mutations that are refused before any computation, with words of the message."""


class HungError(BaseException):
    """A crate took too long. Derives from BaseException so that no handler catches it."""


@contextmanager
def limited() -> Iterator[None]:
    """Raise HungError after the time limit."""

    def stop(*_: object) -> None:
        raise HungError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def honest(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a crate that is quick to check."""
    return hostile_crates.without_code(made / "crate", tmp_path_factory.mktemp("quick") / "crate")


def changed(honest: Path, target: Path, mutation: Mutation) -> Path:
    """Return a copy of a crate with a mutation, sealed if the mutation asks for it."""
    folder = hostile_crates.copy(honest, target)
    mutation.change(folder)
    if mutation.sealed:
        hostile_crates.seal(folder)
    return folder


@pytest.mark.long
@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_an_honest_crate_is_refused(
    honest: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = changed(honest, tmp_path / "crate", BY_NAME[name])
    with limited():
        assert main.main(["verify", str(folder)]) in (2, 5)
    said = capsys.readouterr()
    assert REFUSED[name] in said.out + said.err
    assert "\x1b" not in said.out + said.err
    assert "computed again" not in said.out


@pytest.mark.parametrize("seconds", [0.0, 1e9])
def test_what_a_crate_says_of_costs_takes_no_run_from_the_draw(
    made: Path, tmp_path: Path, seconds: float
) -> None:
    honest = recompute.candidates(crate_plan.read(made / "crate"), plan.estimator())
    folder = hostile_crates.copy(made / "crate", tmp_path / "crate")
    for path in folder.glob("runs/*/*/*/*.cost.json"):
        name = path.relative_to(folder).as_posix()
        hostile_crates.with_json(name, "cpu_seconds", value=seconds)(folder)
    found = recompute.candidates(crate_plan.read(folder), plan.estimator())
    assert [one.seconds for one in found] == [one.seconds for one in honest]
    drawn = recompute.draw(found, Sample(3), 0, crate_files.DEFAULT.seconds)
    assert [one.run.name for one in drawn] == [
        one.run.name for one in recompute.draw(honest, Sample(3), 0, crate_files.DEFAULT.seconds)
    ]


def candidates(**seconds: list[float]) -> list[recompute.Candidate]:
    """Return runs of studies by the seconds that they would take."""
    return [
        recompute.Candidate(
            crate_plan.CratedRun(study, "s", f"m{number % 2}", f"{study}/{number}", Path(), {}),
            one,
            "",
        )
        for study, each in seconds.items()
        for number, one in enumerate(each)
    ]


def test_each_study_gets_a_run_where_time_allows() -> None:
    runs = candidates(a=[1.0] * 50, b=[1.0] * 2, c=[5.0, 300.0], d=[900.0])
    for seed in range(20):
        drawn = recompute.draw(runs, Sample(1), seed, 100.0)
        assert [one.run.study for one in drawn] == ["a", "b", "c"]
        assert sum(one.seconds for one in drawn) <= 100.0
        assert len(recompute.draw(runs, Sample(10), seed, 100.0)) == 10
    assert recompute.draw(runs, Sample(0), 0, 100.0) == []
    blocked = [one._replace(obstacle="it ran on a GPU") for one in runs]
    assert recompute.draw(blocked, Sample(3), 0, 100.0) == []


def test_each_method_of_each_study_gets_a_run_where_time_allows() -> None:
    runs = candidates(a=[1.0] * 50, b=[1.0] * 2, c=[5.0, 300.0])
    for seed in range(20):
        drawn = recompute.draw(runs, Sample(by_method=True), seed, 100.0)
        assert [(one.run.study, one.run.method) for one in sorted(drawn)] == [
            *[("a", "m0"), ("a", "m1"), ("b", "m0"), ("b", "m1"), ("c", "m0")]
        ]


def test_nothing_computed_is_not_verified_and_says_why(
    made: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.main(["verify", str(made / "crate"), "--sample", "0"]) == verifying.UNVERIFIED
    said = capsys.readouterr().out
    assert "this crate is not verified" in said and "--sample is 0" in said


def test_the_seed_of_the_draw_is_new_and_said(
    made: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(random.SystemRandom, "randrange", lambda *_: 77)
    assert main.main(["verify", str(made / "crate"), "--sample", "1"]) == 0
    assert "--seed 77" in capsys.readouterr().out


def test_limits_refuse_what_is_large_and_can_be_raised(
    made: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(crate_files, "DEFAULT", crate_files.DEFAULT._replace(files=100))
    command = ["verify", str(made / "crate"), "--sample", "1"]
    assert main.main(command) == 2
    assert "raise the limits with --limit" in capsys.readouterr().err
    assert main.main([*command, "--limit", "100"]) == 0
    for factor in ("0", "nan", "inf", "-1"):
        assert main.main([*command, f"--limit={factor}"]) == 2
        assert "write a factor from 1" in capsys.readouterr().err
    with pytest.raises(UserError, match=r"has chunks of 192 bytes"):
        store_checks.decoded_size(made / "crate" / STORE, crate_files.DEFAULT._replace(decoded=10))


OWN = """\
streams:
  a: {family: table-file, target: y, history: 3, path: data/mine.csv, licence: CC0 1.0}
studies:
  one: {title: Mine, streams: [a], seeds: 1, metrics: [log_predictive], methods: [vcl-linear]}
"""


@pytest.mark.long
def test_a_crate_is_verified_without_the_data_of_its_author(tmp_path: Path) -> None:
    config, data = tmp_path / "config/own.yaml", tmp_path / "config/data/mine.csv"
    data.parent.mkdir(parents=True)
    data.write_text("x,y\n" + "".join(f"{row},{row % 3}\n" for row in range(40)))
    config.write_text(OWN)
    job_calls.make(config, tmp_path / "results/own")
    crate.make(tmp_path / "results/own", config, tmp_path / "crate")
    data.unlink()
    assert main.main(["verify", str(tmp_path / "crate")]) == 0


def test_a_file_is_no_crate_and_says_to_unpack_it(tmp_path: Path) -> None:
    (tmp_path / "crate.zip").write_text("x")
    with pytest.raises(UserError, match="unpack the crate first"):
        crate_files.contents(tmp_path / "crate.zip")


def test_text_of_others_does_nothing_to_a_terminal() -> None:
    assert printable("a\x1b[2J\nb\udc80") == "a\\x1b[2J\\nb\\udc80"
    assert printable("Kögler, 結果") == "Kögler, 結果"


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
def test_no_crate_is_believed_wrongly_or_ends_in_a_traceback(
    honest: Path, tmp_path: Path, part: int, capsys: pytest.CaptureFixture[str]
) -> None:
    count: Counter[str] = Counter()
    wrong: list[Any] = []
    for number, mutation in enumerate(ALL[part::PARTS]):
        folder = changed(honest, tmp_path / str(number), mutation)
        ended = _outcome(folder, honest, mutation, capsys)
        count[ended] += 1
        wrong += [(mutation.name, ended)] if ended in FAULTS else []
    with capsys.disabled():
        print(f"\ncrates: {sum(count.values())} tried, {', '.join(_counted(count))}")
    assert wrong == []


FAULTS = ("traceback", "hang", "accepted wrongly")


def _counted(count: Counter[str]) -> list[str]:
    return [f"{count[name]} {name}" for name in ("refused clearly", "verified rightly", *FAULTS)]


def _outcome(
    folder: Path, original: Path, mutation: Mutation, capsys: pytest.CaptureFixture[str]
) -> str:
    number = "1" if mutation.harmless else "4"  # 4 are all runs
    try:
        with limited():
            status = main.main(["verify", str(folder), "--sample", number, "--seed", "0"])
    except HungError:
        return "hang"
    said = capsys.readouterr()
    if status in (2, 3, 4, 5, verifying.UNVERIFIED):
        clear = (said.out + said.err).strip() and "\x1b" not in said.out + said.err
        return "refused clearly" if clear else "traceback"
    if status != 0:
        return "traceback"
    right = mutation.harmless or hostile_crates.same_meaning(folder, original)
    return "verified rightly" if right else "accepted wrongly"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda text: text.replace(b",seed,", b",block,"), "no column seed"),
        (
            lambda text: text + text.splitlines(keepends=True)[-1],
            "a line above has the same",
        ),
        (lambda text: b'{"scores": []}', "no column"),
        (lambda text: bytes(range(256)) * 8, "is not a table of scores"),
    ],
    ids=["a missing column", "a doubled row", "not CSV", "binary"],
)
def test_the_leaderboard_names_a_damaged_table_of_scores(
    honest: Path, tmp_path: Path, change: Callable[[bytes], bytes], reason: str
) -> None:
    """Without the stream the scores are not computed again, and are read as they are."""
    folder = hostile_crates.copy(honest, tmp_path / "crate")
    (folder / hostile_crates.STREAM).unlink()
    table = folder / hostile_crates.SCORES
    hostile_crates.write(table, change(table.read_bytes()))
    hostile_crates.seal(folder)
    with pytest.raises(UserError, match=f"{table} is not a table of scores") as error:
        leaderboard_entries.read(folder)
    assert reason in str(error.value) and "restore it" in str(error.value)
