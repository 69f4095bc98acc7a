"""The list of jobs is ordered and complete, and has what the rules need."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from shiftbench.cli import main
from shiftbench.cli.jobs import KINDS
from shiftbench.cli.training import KINDS as TRAINING
from shiftbench.config import config_file, jobs, spec_code, spec_files
from shiftbench.config.job import Job
from shiftbench.core import checkout
from tests.config.test_config_file import GOOD

RULES = "".join(path.read_text() for path in (checkout.HOME / "workflow").rglob("*.smk"))


def planned(path: Path) -> list[Job]:
    return jobs.of_config(config_file.load(path), "results/some", "some")


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "some.yaml"
    path.write_text(GOOD)
    return path


@pytest.fixture(scope="module")
def embedded() -> list[Job]:
    return planned(checkout.EMBEDDED)


def test_jobs_are_planned_after_those_that_they_need(good) -> None:
    seen: set[str] = set()
    for job in planned(good):
        assert not {file for file in job.inputs if file.startswith("results")} - seen
        seen |= set(job.outputs)
    assert [job.rule for job in planned(good)].count("run_method") == 6


def test_no_two_jobs_share_a_key_or_a_file(embedded) -> None:
    assert len({job.key for job in embedded}) == len(embedded)
    files = [file for job in embedded for file in job.outputs]
    assert len(set(files)) == len(files)


def test_every_job_has_a_rule_with_as_many_wildcards(embedded) -> None:
    rules = dict(re.findall(r"^rule (\w+):\n(.*?)(?=^rule |\Z)", RULES, re.MULTILINE | re.DOTALL))
    for job in embedded:
        outputs = rules[job.rule].partition("    output:\n")[2].partition("    log:\n")[0]
        first = re.search(r'"((?:<bench>|data)/.*)"', outputs)
        assert first, job.rule
        assert len(re.findall(r"{(\w+)}", first[1])) == len(job.wildcards), job.rule
        assert job.outputs[0] == first[1].replace("<bench>", "results/some").format(
            **dict(zip(re.findall(r"{(\w+)}", first[1]), job.wildcards, strict=True))
        )


def test_every_kind_of_spec_has_what_makes_it(embedded) -> None:
    kinds = {job.spec["kind"] for job in embedded if job.rule != "fetch_raw_file"}
    assert kinds <= KINDS.keys() | TRAINING.keys()


def test_paths_of_the_users_files_are_options_and_no_part_of_a_spec(tmp_path, capsys) -> None:
    assert main.main(["quickstart", str(tmp_path / "mine")]) == 0
    (config,) = (tmp_path / "mine").glob("*.yaml")
    (job,) = [job for job in planned(config) if job.rule == "build_stream"]
    (file,) = job.inputs
    assert Path(file).resolve() == tmp_path / "mine/series.csv"
    assert job.user_files == job.inputs and job.options == ("--files", f"path={file}")
    assert file not in json.dumps(job.spec) and "series.csv" in json.dumps(job.spec)


def test_a_spec_file_is_written_once_and_again_in_another_order(good) -> None:
    job = next(job for job in planned(good) if job.rule == "run_method")
    folder = good.parent / "specs"
    file = spec_code.write(job.spec, folder)
    assert (
        file.stem == job.spec["digest"] and spec_files.read(file, {}, spec_code.of_code) == job.spec
    )
    before = file.stat().st_mtime_ns
    spec_code.write(job.spec, folder)
    assert file.stat().st_mtime_ns == before
    turned = dict(reversed(job.spec.items()))
    spec_code.write(turned, folder)
    assert list(spec_files.read(file, {}, spec_code.of_code)) == list(turned)
