"""Run commands `python -m MODULE` as forks of a process that has done the slow imports.

That process has imported third-party packages only. Each command imports shiftbench itself, from
the copy of the repository in which it runs.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.checkout import ROOT

LIMIT_SECONDS = 1200
"""Time limit that ends a hanging command; normal commands are much faster."""
PRELOADED = [
    "numba", "pandas", "psutil", "pydantic", "snakemake.cli", "snakemake.report",
    "snakemake.scheduling", "snakemake_executor_plugin_slurm", "xarray", "zarr",
]  # fmt: skip

processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(PRELOADED)


def python(
    module: str, *arguments: str | Path, cwd: Path, source: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run `python -m MODULE ARGUMENTS` in the folder `cwd`; `stdout` has all of its output.

    source: the value of PYTHONPATH, a folder searched before the installed packages.
    """
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    environment |= {"PYTHONPATH": str(source)} if source else {}
    command = [module, *map(str, arguments)]
    with tempfile.NamedTemporaryFile() as said:
        process = processes.Process(target=_run, args=(cwd, command, environment, said.name))
        process.start()
        process.join(LIMIT_SECONDS)
        process.kill()
        process.join()
        text = Path(said.name).read_text()
    assert process.exitcode is not None
    assert process.exitcode != -signal.SIGKILL, f"{command} has no end: {text[-3000:]}"
    return subprocess.CompletedProcess(command, process.exitcode, text)


def called(folder: Path, module: str, *arguments: str, status: int = 0) -> str:
    """Return the output of `python -m MODULE` of this checkout in a folder."""
    done = python(module, *arguments, cwd=folder, source=ROOT / "src")
    assert done.returncode == status, done.stdout[-3000:]
    return done.stdout


def _run(cwd: Path, command: list[str], environment: dict[str, str], said: str) -> None:
    """Run the command inside the fork, as a new Python would."""
    file = os.open(said, os.O_WRONLY | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(file, stream)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(cwd)
    # The server set the path to that of the tests and imported this module from there.
    others = [path for path in sys.path if Path(path) != ROOT]
    sys.path[:] = [str(cwd), *filter(None, [environment.get("PYTHONPATH")]), *others]
    for name in [one for one in sys.modules if one.partition(".")[0] in ("shiftbench", "tests")]:
        del sys.modules[name]
    module, *sys.argv[1:] = command
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    finally:
        atexit._run_exitfuncs()  # multiprocessing does not flush the standard streams
