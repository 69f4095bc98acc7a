"""A wheel works in an environment without the checkout."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

from shiftbench.data.series import _nile
from tests.checkout import ROOT

CONFIG = """\
studies:
  toy:
    title: Steps
    streams: {steps: {family: toy-step, points: 6}}
    seeds: 1
    metrics: [log_predictive]
    artefacts: [score-table]
    methods: {plain: [gaussian-mean]}
"""


def called(folder: Path, *command: str | Path) -> str:
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        command, cwd=folder, env=environment, text=True, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel built from a copy of the checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info", "*.sif", "_build")
    for name in ("src", "config", "docs", "workflow", "profiles", "envs"):
        shutil.copytree(ROOT / name, folder / "copy" / name, ignore=ignored)
    for name in ("Snakefile", "pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / "copy")
    # Use uv, since an environment made by uv has no pip.
    uv = [Path(sys.executable).with_name("uv"), "build", "--quiet", "--wheel"]
    called(folder, *uv, "--no-build-isolation", "--python", sys.executable, "-o", folder, "./copy")
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def binaries(wheel: Path) -> Path:
    """Return the programs of an environment with the wheel and this environment's packages."""
    folder = wheel.parent / "environment"
    venv.create(folder, symlinks=True)
    ours = {"base": str(folder), "platbase": str(folder)}
    packages = Path(sysconfig.get_path("purelib", vars=ours))
    # Python does not read .pth files in that folder, such as that of the editable install.
    (packages / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    pip = [sys.executable, "-m", "pip", "--python", folder / "bin/python", "install", "--quiet"]
    called(folder, *pip, "--no-deps", "--no-index", wheel)
    return folder / "bin"


@pytest.mark.long
def test_the_wheel_names_what_it_needs(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as files:
        (about,) = [name for name in files.namelist() if name.endswith("/METADATA")]
        lines = files.read(about).decode().splitlines()
    needs = [line.partition(": ")[2] for line in lines if line.startswith("Requires-Dist")]
    wanted = (ROOT / "envs/requirements.in").read_text().splitlines()
    plain = [line.partition("  #")[0] for line in wanted if line and line[0] != "#"]
    bare = {need.replace(" ", "") for need in needs if "extra ==" not in need}
    assert {_sorted(need) for need in bare} == {_sorted(need) for need in plain}
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["dynamic"]
    for extra in extras["optional-dependencies"]:
        assert any(f"extra == '{extra}'" in need.replace('"', "'") for need in needs), extra


def _sorted(need: str) -> str:
    return "".join(sorted(need))


@pytest.mark.long
def test_the_program_and_its_workflow_run_outside_a_checkout(binaries: Path, tmp_path) -> None:
    shiftbench = binaries / "shiftbench"
    (tmp_path / "mine.yaml").write_text(CONFIG)
    assert called(tmp_path, shiftbench, "--version").startswith("shiftbench ")
    assert "toy: Steps; 1 run," in called(tmp_path, shiftbench, "check", "mine.yaml")
    assert "toy-step" in called(tmp_path, shiftbench, "list", "studies")
    assert "vbs-toy" in called(tmp_path, shiftbench, "list", "methods")
    snakefile = called(tmp_path, shiftbench, "snakefile").strip()
    assert Path(snakefile).is_relative_to(binaries.parent)
    command = [binaries / "python", "-m", "snakemake", "--snakefile", snakefile, "--cores", "1"]
    said = called(tmp_path, shiftbench, "run", "mine.yaml", "--", "--cores", "1")
    assert "toy is done: results/mine/studies/toy/tables/score-table.md" in said.splitlines()
    assert "Results: results/mine/site/index.html" in said.splitlines()
    assert "Steps" in (tmp_path / "results/mine/site/studies/mine/toy.html").read_text()
    table = tmp_path / "results/mine/studies/toy/tables/score-table.md"
    assert "steps: 1 of 1 runs" in table.read_text()
    assert "Nothing to be done" in called(tmp_path, *command, "--configfile", "mine.yaml")


PLAIN = """\
import importlib.util, json, sys
import shiftbench as sb

years, flow = json.load(open("nile.json"))
found = sb.changepoints(flow).frame
assert [years[one] for one in found["position"]] == [1899], found
m = sb.method("vbs-linear", noise_sd=0.5)
for t in range(200):
    m.learn_one({"x": t % 7}, (2.0 if t < 100 else -1.0) * (t % 7))
assert abs(m.predict_one({"x": 3}).mean + 3) < 0.5
for package in ("tensorflow", "arviz", "snakemake", "zarr", "matplotlib", "sklearn"):
    assert importlib.util.find_spec(package) is None, package

def told(call):
    try:
        call()
    except ImportError as error:
        return str(error)

figure = told(sb.changepoints(flow).plot)
assert "a figure needs" in figure and "pip install 'shiftbench[workflow]'" in figure, figure
network = told(lambda: sb.method("vcl", model={"mlp": {"hidden": [5]}}))
assert "needs the package tensorflow; type: pip install 'shiftbench[networks]'" in network, network
for name in ("stream", "run", "compare", "load"):
    study = told(lambda: getattr(sb, name))
    assert f"shiftbench.{name} needs" in study and "[workflow]" in study, study
"""


@pytest.mark.peers
def test_a_plain_install_has_methods_and_change_points_and_no_tensorflow(
    wheel: Path, tmp_path: Path
) -> None:
    """A user's install: packages come from the index, and only those that the wheel requires."""
    series = _nile.read()
    told = [[int(year) for year in series.time], series.value[0, :, 0].tolist()]
    (tmp_path / "nile.json").write_text(json.dumps(told))
    uv = Path(sys.executable).with_name("uv")
    called(tmp_path, uv, "venv", "--quiet", "--python", sys.executable, "plain")
    python = tmp_path / "plain/bin/python"
    called(tmp_path, uv, "pip", "install", "--quiet", "--python", python, wheel)
    files = [path for path in python.parents[1].rglob("*") if path.is_file()]
    assert sum(path.lstat().st_size for path in files) < 500e6  # of which llvmlite takes 175 MB
    called(tmp_path, python, "-c", PLAIN)
    assert "vbs-linear" in called(tmp_path, python, "-m", "shiftbench", "list", "methods")
