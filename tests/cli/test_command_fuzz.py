"""Random invalid command lines end with a message and never with a traceback."""

from __future__ import annotations

import contextlib
import io
import os
import random
from pathlib import Path

import pytest

from shiftbench.cli import main
from shiftbench.core.errors import UserError
from shiftbench.runtime import forkserver_client
from shiftbench.runtime.cluster import supervisor
from tests.fuzzing import Tally, cases, generator

CASES = cases(300)
VERBS = (
    "quickstart", "run", "check", "cluster", "list", "show", "plan", "test", "words", "verify",
    "publish", "crate", "site", "warm", "snakefile", "schema", "completion", "fetch", "job",
    "derive", "runn", "", "-", "--", "CHECK",
)  # fmt: skip
OPTIONS = (
    "--config", "--for", "--study", "--why", "--budget", "--cores", "--json", "--method", "--seed",
    "--results", "--to", "--dry-run", "--with", "--trust", "--sample", "--revision", "--table",
    "--profile", "--snakemake", "--output", "--log", "--input", "--raw", "--scratch", "--files",
    "--components", "--threads", "--minutes", "--merge", "--check", "--zz", "-x", "--version",
    "--help", "--", "--config=", "--cores=0", "--cores=-1", "--sample=-1", "--seed=x", "--to=",
)  # fmt: skip
WORDS = (
    "small.yaml", "wrong.yaml", "empty.yaml", "folder.yaml", "nothing.yaml", "pipe.yaml", "folder",
    "circle", "dangling", "/dev/null", "/dev/zero", "/proc/1/mem", "/proc/nowhere/at/all", ".",
    "", " ", "~nobody-here/x", "a\nb", "ünï 😀", "\udce4", "x" * 300, "0", "-1", "1e9",
    "10000000000000000000000", "nan", "methods", "streams", "studies", "claims", "metrics", "bash",
    "toy", "toy/search", "steps", "vbs-toy", "s3://", "s3://no bucket", "zenodo:", "zenodo:x",
    "HEAD", "-", "{x}", "%s", "$(touch owned)", "results", "binary", "crate", "raw", "*", "a=b",
)  # fmt: skip
CONFIG = """\
streams:
  steps: {family: toy-step, realisations: 3, points: 8}
studies:
  toy:
    title: Two steps
    streams: [steps]
    seeds: 3
    metrics: [log_predictive]
    methods: {search: [beam: {size: 2, broadening: diffuse}, gaussian-mean]}
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a folder of valid and invalid configs, in which no verb starts a process."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(forkserver_client, "run", lambda _: 0)
    monkeypatch.setattr(supervisor, "run", lambda *_: 0)
    for variable in ("ZENODO_TOKEN", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(variable, raising=False)
    Path("small.yaml").write_text(CONFIG)
    Path("wrong.yaml").write_text(CONFIG.replace("seeds: 3", "seeds: many"))
    Path("empty.yaml").touch()
    Path("folder.yaml").mkdir()
    Path("folder/inside").mkdir(parents=True)
    Path("results/small").mkdir(parents=True)
    Path("crate").mkdir()
    Path("crate/ro-crate-metadata.json").write_text("{}")
    Path("binary").write_bytes(bytes(range(256)))
    Path("circle").symlink_to("circle")
    Path("dangling").symlink_to("nothing")
    os.mkfifo("pipe.yaml")
    return tmp_path


def line(random: random.Random) -> list[str]:
    """Return a command line of a verb, with arguments and options of any verb."""
    verb = random.choice(VERBS)
    arguments = [random.choice(WORDS) for _ in range(random.choice([0, 1, 1, 2, 3]))]
    for _ in range(random.choice([0, 1, 1, 2])):
        option = [random.choice(OPTIONS)]
        option += [random.choice(WORDS)] * (random.random() < 0.8)
        at = random.randrange(len(arguments) + 1)
        arguments[at:at] = option
    return [verb, *arguments]


def ends(arguments: list[str]) -> str | None:
    """Run a command line. Raise UserError if it is refused; report if it printed nothing."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main.main(arguments)
        except SystemExit as end:  # from argparse
            status = int(end.code or 0)
    told = err.getvalue()
    if "Traceback" in told or "unexpected error" in told or status == 1:
        raise AssertionError(told[-1500:])
    if status == 2:
        raise UserError(told)
    return None


@pytest.mark.long
def test_command_lines_broken_by_chance(place) -> None:
    tally, random = Tally("command lines"), generator("commands")
    ways = [[verb] for verb in VERBS] + [[verb, word] for verb in VERBS[:19] for word in WORDS[:9]]
    ways += [line(random) for _ in range(CASES - len(ways))]
    for arguments in ways:
        tally.attempt(f"shiftbench {arguments}", lambda arguments=arguments: ends(arguments))
    tally.report()
