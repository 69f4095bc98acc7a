"""Warm servers: a job behaves as in its own process."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import venv
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from shiftbench.runtime import forkserver_client
from shiftbench.runtime.cluster import script

# Replaces cli.py; the server's children import this module instead.
CLI = """
import os, signal, sys, time
def main(arguments):
    match arguments:
        case ["exit", number]:
            return int(number)
        case ["die", number, *_]:
            os.kill(os.getpid(), int(number))
        case ["crash"]:
            raise ValueError("told to crash")
        case ["argparse"]:
            sys.exit(2)
        case ["tell"]:
            print("out", os.getcwd(), os.environ["COLOUR"], sys.stdin.read())
            print("err", os.getppid(), file=sys.stderr)
            return 0
        case ["clusters"]:
            print(os.environ["SHIFTBENCH_CLUSTERS"])
            return 0
        case ["wait", path]:
            signal.signal(signal.SIGTERM, lambda *_: os._exit(7))
            open(path, "w").write(str(os.getpid()))
            while True:
                time.sleep(0.05)
"""
DOORS = (
    "__init__", "__main__", "core/__init__", "core/cache_folder", "core/devices", "core/errors",
    "core/exit_statuses", "core/instructions", "core/shared_clusters", "runtime/__init__",
    "runtime/crash_report", "runtime/forkserver_client", "runtime/graceful_stop",
    "runtime/parent_death", "runtime/signals", "cli/__init__", "cli/forkserver",
)  # fmt: skip

NUMBA = """
from unittest.mock import Mock
cpu_target = Mock()
"""
PATIENCE_SECONDS = 300
"""Time limit for events that happen sooner or later on any machine."""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the package's entry points with a fake cli and empty slow modules."""
    root = tmp_path_factory.mktemp("package")
    for name in DOORS:
        text = (Path(forkserver_client.__file__).parents[1] / f"{name}.py").read_text()
        copy = root / "shiftbench" / f"{name}.py"
        copy.parent.mkdir(exist_ok=True, parents=True)
        copy.write_text(text)
    (root / "shiftbench/cli/main.py").write_text(CLI)
    for preloaded in re.findall(r"^ +import ([\w.]+)", text, re.MULTILINE):
        module = root / preloaded.replace(".", "/")
        module.mkdir(parents=True)
        for package in [module, *module.parents]:
            if package.is_relative_to(root) and package != root:
                (package / "__init__.py").touch()
    (root / "numba/core/registry/__init__.py").write_text(NUMBA)
    return root


@pytest.fixture(scope="module")
def environment(package: Path, signals_act: None):
    """Yield the environment of jobs under `warm --`, with its servers running."""
    plain = os.environ | {"PYTHONPATH": str(package), "PYTHONWARNINGS": "ignore", "COLOUR": "blue"}
    code = (
        "import sys; from shiftbench.runtime import forkserver_client as warm; "
        "sys.exit(warm.run(['sh', '-c', 'echo $SHIFTBENCH_WARM; read line; exit 9']))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        env=plain, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    folder = process.stdout.readline().strip()
    yield plain | {forkserver_client.VARIABLE: folder}
    process.communicate("\n", timeout=PATIENCE_SECONDS)
    assert process.returncode == 9, "the command's exit status comes back"
    assert not Path(folder).exists()


def _command(*arguments: str, stack: str = "light") -> list[str]:
    return [sys.executable, "-m", "shiftbench", "--stack", stack, *arguments]


def _run(environment: dict, *arguments: str, **options) -> subprocess.CompletedProcess:
    return subprocess.run(
        _command(*arguments, stack=options.pop("stack", "light")),
        env=environment, capture_output=True, text=True, timeout=PATIENCE_SECONDS, **options,
    )  # fmt: skip


@pytest.mark.parametrize("stack", forkserver_client.STACKS)
@pytest.mark.parametrize("status", [0, 3])
def test_exit_status(environment, status: int, stack: str) -> None:
    assert _run(environment, "exit", str(status), stack=stack).returncode == status


def test_streams_folder_and_environment_are_those_of_the_client(environment, tmp_path) -> None:
    done = _run(environment | {"COLOUR": "red"}, "tell", input="in", cwd=tmp_path)
    assert done.stdout == f"out {tmp_path} red in\n"
    assert done.stderr.startswith("err ")


def test_job_runs_in_a_fork_of_one_server(environment) -> None:
    parents = {_run(environment, "tell", input="").stderr for _ in range(2)}
    assert len(parents) == 1


def test_jobs_share_a_folder_of_compiled_code(environment) -> None:
    """They use the server's folder, whatever folder the client's environment names."""
    named = environment | {"SHIFTBENCH_CLUSTERS": "/elsewhere"}
    folder = environment[forkserver_client.VARIABLE]
    assert _run(named, "clusters").stdout == f"{folder}\n"


def test_defect_shows_its_traceback(environment) -> None:
    done = _run(environment, "crash")
    assert done.returncode == 1
    assert "ValueError: told to crash" in done.stderr


def test_argument_error_keeps_its_status(environment) -> None:
    assert _run(environment, "argparse").returncode == 2


def test_without_server_the_job_runs_in_the_client(environment, tmp_path) -> None:
    assert (
        _run(environment | {forkserver_client.VARIABLE: str(tmp_path)}, "exit", "4").returncode == 4
    )


def test_a_server_of_another_checkout_is_none(environment, package, tmp_path) -> None:
    shutil.copytree(package, tmp_path, dirs_exist_ok=True)
    for place, served in ((package, True), (tmp_path, False)):
        done = _run(environment | {"PYTHONPATH": str(place)}, "tell", input="")
        assert (done.stderr != f"err {os.getpid()}\n") == served


def test_a_server_of_another_environment_is_none(environment, tmp_path) -> None:
    """This happens outside the container of a job."""
    venv.create(tmp_path, symlinks=True, with_pip=False)
    command = [str(tmp_path / "bin/python"), *_command("tell")[1:]]
    done = subprocess.run(command, env=environment, input="", capture_output=True, text=True)
    assert done.stderr == f"err {os.getpid()}\n"


def _start_waiting(environment: dict, path: Path) -> tuple[subprocess.Popen, int]:
    client = subprocess.Popen(_command("wait", str(path)), env=environment)
    _until(lambda: path.exists() and path.read_text())
    return client, int(path.read_text())


def _until(condition) -> None:
    patience = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < patience
        time.sleep(0.05)


def _is_running(process: int) -> bool:
    try:
        return psutil.Process(process).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_sigterm_of_the_client_reaches_the_child(environment, tmp_path) -> None:
    client, child = _start_waiting(environment, tmp_path / "child")
    client.send_signal(signal.SIGTERM)
    assert client.wait(timeout=PATIENCE_SECONDS) == 7
    assert not _is_running(child)


def test_signal_reaches_the_child_that_does_not_interrupt_the_wait(environment, tmp_path) -> None:
    """Such a signal comes just before the client waits; here another thread receives it."""
    code = (
        "import signal, sys, threading, time\n"
        "threading.Thread(target=time.sleep, args=(1e6,), daemon=True).start()\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])\n"
        "from shiftbench.__main__ import main; sys.exit(main(sys.argv[1:]))"
    )
    path = tmp_path / "child"
    command = [sys.executable, "-c", code, *_command("wait", str(path))[3:]]
    client = subprocess.Popen(command, env=environment)
    _until(lambda: path.exists() and path.read_text())
    client.terminate()
    assert client.wait(timeout=PATIENCE_SECONDS) == 7


def test_a_signal_to_all_processes_leaves_the_server_to_its_jobs(environment, tmp_path) -> None:
    """A cluster signals all processes at the end of the time limit."""
    client, child = _start_waiting(environment, tmp_path / "child")
    server = psutil.Process(child).parent()
    for number in (signal.SIGINT, signal.SIGUSR1, signal.SIGHUP, signal.SIGTERM):
        server.send_signal(number)
    client.terminate()
    assert client.wait(timeout=PATIENCE_SECONDS) == 7
    assert _run(environment, "tell", input="").stderr == f"err {server.pid}\n"


def test_signal_that_follows_the_job_at_once_is_not_lost(environment, tmp_path) -> None:
    """It ends the job before its handler is installed, or the handler runs."""
    for attempt in range(10):
        arguments = ["wait", str(tmp_path / str(attempt))]
        job = forkserver_client.packed(arguments, os.getcwd(), environment)
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(PATIENCE_SECONDS)
            client.connect(f"{environment[forkserver_client.VARIABLE]}/light")
            head = len(job).to_bytes(forkserver_client.LENGTH, "big")
            socket.send_fds(client, [head], [0, 1, 2])
            client.sendall(job + bytes([signal.SIGTERM]))
            assert client.recv(1)[0] in (7, 128 + signal.SIGTERM)


def test_interrupt_of_a_job_without_a_handler_shows_no_traceback(environment) -> None:
    done = _run(environment, "die", str(int(signal.SIGINT)))
    assert done.returncode == 128 + signal.SIGINT
    assert "ended by SIGINT" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (signal.SIGKILL, "most likely the memory was used up"),
        (signal.SIGSEGV, "Likely causes: ctypes or an extension in a component of yours"),
        (signal.SIGTERM, "start the workflow again"),
    ],
)
def test_job_that_a_signal_ends_leaves_a_line(
    environment, tmp_path, number: signal.Signals, remedy: str
) -> None:
    log = tmp_path / "job.log"
    done = _run(environment, "die", str(int(number)), "--log", str(log))
    assert done.returncode == 128 + number
    assert f"die {int(number)}: ended by {number.name}; " in done.stderr
    assert remedy in done.stderr and done.stderr.count("\n") == 1
    assert (str(log) in done.stderr) == (number != signal.SIGTERM), "SIGTERM leaves nothing there"
    assert log.read_text().endswith(f" {done.stderr}")


def test_a_job_of_a_group_saves_where_all_processes_get_the_signal(
    package, tmp_path, monkeypatch
) -> None:
    code = "import sys; from shiftbench.runtime import forkserver_client as warm; "
    code += "sys.exit(warm.run(sys.argv[1:]))"
    monkeypatch.setattr(
        script, "FORK_SERVERS", shlex.join([sys.executable, "-c", code, "sh", "-c"])
    )
    child, status = tmp_path / "child", tmp_path / "status"
    job = f"{shlex.join(_command('wait', str(child)))}; echo $? > {status}"
    group = SimpleNamespace(
        is_group=lambda: True, toposorted=[[SimpleNamespace(shellcmd=job, threads=1)]]
    )
    environment = os.environ | {"PYTHONPATH": str(package)}
    process = subprocess.Popen(["sh", "-c", script.text(group)], env=environment)
    _until(lambda: child.exists() and child.read_text())
    shell = psutil.Process(process.pid)
    for member in [shell, *shell.children(recursive=True)]:  # as Slurm does
        member.terminate()
    process.wait(PATIENCE_SECONDS)
    assert status.read_text() == "7\n"


def test_child_dies_with_its_killed_client(environment, tmp_path) -> None:
    client, child = _start_waiting(environment, tmp_path / "child")
    other, survivor = _start_waiting(environment, tmp_path / "other")
    client.kill()
    client.wait()
    _until(lambda: not _is_running(child))
    assert _is_running(survivor), "another client's child lives on"
    other.terminate()
    assert other.wait(timeout=PATIENCE_SECONDS) == 7


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child")
def test_child_dies_with_its_killed_server(environment, tmp_path) -> None:
    """Use a separate folder, since the other tests need their server."""
    code = "import sys; from shiftbench.runtime import forkserver_client as warm; "
    code += "sys.exit(warm.run(sys.argv[1:]))"
    job = _command("wait", str(tmp_path / "child"))
    process = subprocess.Popen(
        [sys.executable, "-c", code, *job],
        env={k: v for k, v in environment.items() if k != forkserver_client.VARIABLE},
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    _until(lambda: (tmp_path / "child").exists() and (tmp_path / "child").read_text())
    child = psutil.Process(int((tmp_path / "child").read_text()))
    child.parent().kill()
    _until(lambda: not _is_running(child.pid))
    assert "the fork server ended" in process.communicate(timeout=PATIENCE_SECONDS)[1]
    assert process.returncode == 1


def test_a_killed_client_leaves_no_folder(environment) -> None:
    code = "import sys; from shiftbench.runtime import forkserver_client as warm; "
    code += "warm.run(['sh', '-c', 'echo $SHIFTBENCH_WARM; exec sleep 300'])"
    process = subprocess.Popen(
        [sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True
    )
    folder = Path(process.stdout.readline().strip())
    assert folder.is_dir()
    process.kill()
    process.wait()
    _until(lambda: not folder.exists())


def test_client_tells_that_the_server_ended(tmp_path, monkeypatch, capfd) -> None:
    folder = tmp_path if len(str(tmp_path)) < 90 else Path(os.path.relpath(tmp_path))
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{folder}/light")
        listener.listen()
        server = threading.Thread(target=lambda: listener.accept()[0].close())
        server.start()
        monkeypatch.setenv(forkserver_client.VARIABLE, str(folder))
        saved = {n: signal.getsignal(n) for n in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)}
        try:
            assert forkserver_client.request("light", ["exit", "0"]) == 1
        finally:
            signal.set_wakeup_fd(-1)
            for number, handler in saved.items():
                signal.signal(number, handler)
        server.join()
    assert "the fork server ended" in capfd.readouterr().err


def test_client_imports_nothing_heavy() -> None:
    code = "import sys, shiftbench.__main__; print(*sys.modules)"
    loaded = subprocess.check_output([sys.executable, "-c", code], text=True).split()
    assert not {"numpy", "argparse", "yaml", "pydantic"} & set(loaded)
