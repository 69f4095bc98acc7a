"""A two-node Slurm on this machine for tests: no systemd, no cgroups, loopback only.

Debian's slurmd can act as several nodes of one host. All files are below one folder, and daemons
are stopped by the process ids recorded there. Needs root, for the packages and slurmctld's user.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests import debian

PACKAGES = ("munge", "slurmctld", "slurmd", "slurm-client")
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch")
CLIENTS = ("srun", "sbatch", "squeue", "sacct", "sacctmgr", "scancel", "scontrol", "sinfo")
NODES = ("n1", "n2")

CONF = """\
ClusterName=twonodes
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
# A requeued job waits for as long as its credential lives: 120 s where nothing is said.
AuthInfo=socket={folder}/munge/socket,cred_expire=5
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/pids/slurmctld
SlurmdPidFile={folder}/pids/%n
SlurmctldLogFile={folder}/log/slurmctld
SlurmdLogFile={folder}/log/%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
SchedulerParameters=sched_interval=2,bf_interval=2,sched_min_interval=0
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SlurmdParameters=config_overrides
KillWait=5
# Tests count jobs: none may be forgotten while a test runs, however slow the machine.
MinJobAge=7200
SlurmctldTimeout=30
SlurmdTimeout=30
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
NodeName=DEFAULT CPUs=4 RealMemory=16000 State=UNKNOWN
{nodes}
PartitionName=debug Nodes=ALL Default=YES DefaultTime=5 MaxTime=INFINITE State=UP
PartitionName=short Nodes=ALL DefaultTime=1 MaxTime=2 State=UP
"""


class TwoNodes:
    """A context in which Slurm's daemons run. environment: the variables for its clients."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = os.environ | {
            "SLURM_CONF": f"{folder}/slurm.conf",
            "PATH": f"{folder}/bin:{os.environ['PATH']}",
        }

    def __enter__(self) -> TwoNodes:
        for name in ("munge", "state", "spool", "pids", "log", "bin"):
            (self.folder / name).mkdir(parents=True)
        self._configure()
        try:
            self._start_munge()
            self.start_controller("-c")
            for node in NODES:
                self.start_node(node)
            wait(lambda: self.ask("sinfo", "-hN", "-p", "debug", "-t", "idle").count("\n") == 2)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(subprocess.SubprocessError):
            self.call("scancel", "--user=root")
            wait(lambda: not self.ask("squeue", "-h"), 20)
        for name in (*NODES, "slurmctld", "munged"):
            self.stop(name)

    def call(self, *command: str) -> None:
        subprocess.run(command, env=self.environment, check=True, timeout=60)

    def ask(self, *command: str) -> str:
        done = subprocess.run(
            command, env=self.environment, capture_output=True, text=True, timeout=60
        )
        return done.stdout

    def start_controller(self, *options: str) -> None:
        self.call("slurmctld", *options)

    def start_node(self, name: str) -> None:
        (self.folder / "spool" / name).mkdir(exist_ok=True)
        self.call("slurmd", "-N", name)

    def stop(self, name: str) -> None:
        """Stop a daemon: slurmctld, munged or a node."""
        place = self.folder / "pids" / name
        if not place.is_file():
            return
        process = int(place.read_text())
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGTERM)
            with suppress(TimeoutError):
                wait(lambda: not _runs(process), 15)
            if _runs(process):
                os.kill(process, signal.SIGKILL)
        place.unlink(missing_ok=True)

    def _configure(self) -> None:
        host = socket.gethostname()
        port, *of_nodes = _free_ports(1 + len(NODES))
        nodes = [
            f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={one}"
            for node, one in zip(NODES, of_nodes, strict=True)
        ]
        text = CONF.format(folder=self.folder, port=port, nodes="\n".join(nodes))
        (self.folder / "slurm.conf").write_text(text)
        # The plugin removes SLURM_CONF from the environment of a job but keeps PATH.
        for client in CLIENTS:
            place = self.folder / "bin" / client
            real = shutil.which(client)
            place.write_text(f'#!/bin/sh\nSLURM_CONF={self.folder}/slurm.conf exec {real} "$@"\n')
            place.chmod(0o755)

    def _start_munge(self) -> None:
        folder = self.folder / "munge"
        (folder / "key").write_bytes(os.urandom(1024))
        (folder / "key").chmod(0o400)
        folder.chmod(0o755)
        self.call(
            "munged", "--force", f"--key-file={folder}/key", f"--socket={folder}/socket",
            f"--pid-file={self.folder}/pids/munged", f"--log-file={self.folder}/log/munged",
            f"--seed-file={folder}/seed",
        )  # fmt: skip


def install() -> None:
    """Install Slurm's packages by apt; skip the test if that is impossible."""
    if os.geteuid() != 0:
        pytest.skip("Slurm's daemons need root")
    debian.install(PACKAGES, PROGRAMS)


def wait(condition: Callable[[], Any], seconds: float = 60) -> Any:
    """Return the condition's value once it is true; raise TimeoutError after `seconds`."""
    until = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > until:
            raise TimeoutError
        time.sleep(0.3)
    return value


def _runs(process: int) -> bool:
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:
        return False
    return text.rpartition(")")[2].split()[0] != "Z"


def _free_ports(number: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports
