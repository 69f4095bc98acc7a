"""docs/clusters.md: Python on nodes without a network, without a .venv, or with another system.

Apptainer, Docker and conda are used where they are installed, and replaced by stand-ins elsewhere.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterable
from pathlib import Path

import pytest
import yaml

from tests.checkout import ROOT
from tests.workflow import copies
from tests.workflow.test_clusters import CONFIG, made

ALONE = ["unshare", "--net", "--map-root-user"]
"""Prefix that starts a command without a network."""
DEFINITION = (ROOT / "envs/apptainer.def").read_text(encoding="utf-8")
DOCKERFILE = (ROOT / "envs/Dockerfile").read_text(encoding="utf-8")
TOY = ["--cores", "1", "--configfile", "config/mine.yaml"]


def called(folder: Path, *command: str | Path, **environment: str) -> str:
    """Return the output of a command that must succeed, without variables of this environment."""
    outer = ("MAKE", "MFLAGS", "PYTHON", "VIRTUAL_ENV", "SHIFTBENCH")
    plain = {name: text for name, text in os.environ.items() if not name.startswith(outer)}
    done = subprocess.run(
        command, cwd=folder, env=plain | environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]
    return done.stdout


def checkout(folder: Path) -> Path:
    """Copy the files that an install needs and return the folder."""
    copies.repository(folder, CONFIG)
    for name in ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    return folder


def has_namespaces() -> bool:
    return bool(shutil.which("unshare")) and not subprocess.run([*ALONE, "true"]).returncode


@pytest.mark.long
@pytest.mark.skipif(not has_namespaces(), reason="no network namespaces here")
def test_a_machine_without_a_network_installs_from_the_wheelhouse(tmp_path: Path) -> None:
    folder = checkout(tmp_path / "copy")
    ours = (f"BIN={Path(sys.executable).parent}", "STAMP=Makefile")
    called(folder, "make", "wheelhouse", *ours)
    # Use empty caches, so that nothing kept on this machine helps.
    kept = {"UV_CACHE_DIR": str(tmp_path / "uv"), "PIP_CACHE_DIR": str(tmp_path / "pip")}
    set_up = (*ALONE, "make", ".venv/.installed", f"PYTHON={sys.executable}")
    assert "from wheelhouse" in called(folder, *set_up, **kept)
    program = folder / ".venv/bin"
    assert called(folder, *ALONE, program / "shiftbench", "--version").startswith("shiftbench")
    called(folder, *ALONE, program / "snakemake", *TOY)
    assert (folder / "results/mine/studies/toy/summary.csv").exists()

    with (folder / "envs/requirements.lock").open("a") as lock:
        lock.write("another==1.0 --hash=sha256:00\n")
    again = subprocess.run(["make", ".venv/.installed"], cwd=folder, capture_output=True, text=True)
    assert again.returncode and "wheelhouse was made for other versions" in again.stdout
    assert (program / "shiftbench").exists(), "what was there stays"


def sections(definition: str) -> dict[str, list[str]]:
    """Return the lines of each section of an Apptainer definition."""
    found: dict[str, list[str]] = {}
    for line in definition.splitlines():
        if line.startswith("%"):
            lines = found.setdefault(line.removeprefix("%"), [])
        elif found and line.strip():
            lines.append(line.strip())
    return found


def test_the_definition_takes_in_what_the_package_is_built_from() -> None:
    copied = dict(line.split() for line in sections(DEFINITION)["files"])
    assert all((ROOT / name).exists() for name in copied)
    assert all(target == f"/opt/shiftbench/{name}" for name, target in copied.items())
    carried = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("*.yaml")}
    assert carried <= set(copied)
    wanted = set(re.findall(r"envs/[\w.-]+", (ROOT / "pyproject.toml").read_text()))
    wanted |= {f"envs/{path.name}" for path in (ROOT / "envs").glob("*.lock")}
    assert wanted - {"envs/requirements.lock", "envs/"} <= set(copied)


def built(image: Path, copied: Iterable[list[str]], scripts: Iterable[str]) -> Path:
    """Copy files and run scripts as a container would, in an environment with this one's packages.

    copied: source and target of each file. Returns the site-packages folder.
    """
    venv.create(image, symlinks=True)  # pip is one of the packages, too
    ours = {"base": str(image), "platbase": str(image)}
    packages = Path(sysconfig.get_path("purelib", vars=ours))
    ours_too = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "others.pth").write_text("\n".join(ours_too) + "\n")
    for name, target in copied:
        place = image / target.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, place)
    inside = {"PATH": f"{image}/bin:/usr/bin:/bin", "PIP_NO_INDEX": "1"}
    for script in scripts:
        called(image, "sh", "-c", f"set -e\n{script}".replace("/opt", f"{image}/opt"), **inside)
    return packages


@pytest.mark.long
def test_jobs_run_in_a_container_that_is_built_as_the_definition_says(tmp_path: Path) -> None:
    """Stand-ins: an environment with our packages for the image, a script for Apptainer."""
    image, folder = tmp_path / "image", checkout(tmp_path / "copy")
    said = sections(DEFINITION)
    copied = (line.split() for line in said["files"])
    packages = built(image, copied, ("\n".join(said[name]) for name in ("post", "test")))
    assert (packages / "shiftbench/_checkout/Snakefile").exists()

    (folder / "envs/shiftbench.sif").touch()
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "apptainer").write_text(f"""\
#!/bin/sh
if [ "$1" = --version ]; then echo "apptainer version 1.4.0"; exit; fi
for command; do :; done
echo "$command" >> {tmp_path}/jobs
PATH={image}/bin:/usr/bin:/bin exec bash -c "$command"
""")
    (programs / "apptainer").chmod(0o755)
    environment = {"PATH": f"{programs}:{os.environ['PATH']}"}
    warm = [sys.executable, "-m", "shiftbench", "warm", "--"]
    snakemake = [sys.executable, "-m", "snakemake", "--software-deployment-method", "apptainer"]
    source = {"PYTHONPATH": str(folder / "src")}
    called(folder, *warm, *snakemake, *TOY, **environment, **source)
    jobs = (tmp_path / "jobs").read_text().splitlines()
    assert len(jobs) == 4 and all("python -m shiftbench" in job for job in jobs)
    assert not any(sys.prefix in job for job in jobs), "a path that a container has not"
    assert "studies/toy/summary.csv" in made(folder / "results/mine")


@pytest.mark.long
@pytest.mark.skipif(not shutil.which("apptainer"), reason="no apptainer here")
def test_apptainer_builds_the_image(tmp_path: Path) -> None:
    image = tmp_path / "shiftbench.sif"
    called(ROOT, "apptainer", "build", image, "envs/apptainer.def")
    assert called(tmp_path, "apptainer", "exec", image, "shiftbench", "--version")


@pytest.mark.long
def test_the_dockerfile_installs_a_shiftbench_that_runs(tmp_path: Path) -> None:
    """A stand-in replaces the image: an environment with our packages."""
    folder, copied, scripts, start = "", [], [], []
    for line in DOCKERFILE.splitlines():
        word, _, rest = line.partition(" ")
        if word == "WORKDIR":
            folder = rest
        elif word == "COPY":
            *names, target = rest.split()
            copied += [[name, f"{folder}/{name}"] for name in names]
            assert target in ("./", "docs/") or names == [target], "what lies there has its name"
        elif word == "RUN":
            scripts.append(f"cd {folder}\n{rest}")
        elif word == "ENTRYPOINT":
            start = yaml.safe_load(rest)
    built(tmp_path / "image", copied, [*scripts, shlex.join([*start, "list", "studies"])])
    (tmp_path / "mine.yaml").write_text(CONFIG)
    environment = {"PATH": f"{tmp_path}/image/bin:/usr/bin:/bin"}
    said = called(tmp_path, *start, "run", "mine.yaml", "--", "--cores", "1", **environment)
    assert "Results: results/mine/site/index.html" in said


def has_docker() -> bool:
    """Return whether there is a Docker client with a running daemon."""
    return (
        bool(shutil.which("docker"))
        and not subprocess.run(["docker", "info"], capture_output=True).returncode
    )


@pytest.mark.long
@pytest.mark.skipif(not has_docker(), reason="no docker here, or nothing that serves it")
def test_docker_builds_the_image(tmp_path: Path) -> None:
    called(ROOT, "docker", "build", "--tag", "shiftbench-test", "--file", "envs/Dockerfile", ".")
    assert called(tmp_path, "docker", "run", "--rm", "shiftbench-test", "--version")


CONDA = next(filter(shutil.which, ("micromamba", "mamba", "conda")), None)


@pytest.mark.long
@pytest.mark.skipif(CONDA is None, reason="no conda, mamba or micromamba here")
def test_conda_makes_the_environment(tmp_path: Path) -> None:
    create = [str(CONDA), *(["env"] if CONDA == "conda" else []), "create", "--yes"]
    called(ROOT, *create, "--file", "envs/workflow.yaml", "--prefix", tmp_path / "environment")
    called(tmp_path, tmp_path / "environment/bin/python", "-c", "import tensorflow, snakemake")


def test_the_environment_of_conda_has_the_lock_with_its_hashes() -> None:
    told = yaml.safe_load((ROOT / "envs/workflow.yaml").read_text())
    python, _, packages = told["dependencies"]
    assert re.fullmatch(r"python =3\.1[123]", python)
    assert packages["pip"] == ["--require-hashes", "-r requirements.lock"]
