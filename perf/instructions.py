"""What portable instructions cost: python -m perf.instructions, after `make run`.

One run of each pipeline of the embedded config, with portable and with native instructions in
turn; processor time inside learners, the least of the times. On a processor whose widest
instructions are AVX2 the two are the same.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil

from shiftbench.config import config_file
from shiftbench.config.schema import Config
from shiftbench.core import instructions

CONFIG = Path("config/embedded.yaml")
STREAMS = Path("results/embedded/streams")


def pipelines(plan: Config) -> Iterator[tuple[str, str, str]]:
    """Study, stream and variant of the first run of each sequence of components."""
    seen = set()
    for study, chosen in plan.studies.items():
        for variant, pipeline in chosen.pipelines.items():
            names = tuple(name for name, _ in pipeline)
            if names not in seen and not variant.endswith("-tuned"):
                seen.add(names)
                yield study, chosen.streams[0], variant


def learning_seconds(kind: str, study: str, stream: str, variant: str, block: str) -> float:
    """Processor seconds inside the learner of one run."""
    with tempfile.TemporaryDirectory() as folder:
        words = f"""{sys.executable} -m shiftbench --instructions {kind}
            run {study} {stream} {variant} --seeds {block} --config {CONFIG}
            --store {STREAMS}/{stream}.zarr.zip --output {folder}/run.zarr.zip
            --cost {folder}/cost.json --scratch {folder}/scratch"""
        environment = os.environ | {instructions.VARIABLE: kind}
        # TensorFlow tells everybody that there is no GPU.
        subprocess.run(words.split(), env=environment, check=True, stderr=subprocess.PIPE)
        cost = json.loads(Path(folder, "cost.json").read_text())
    assert cost["instructions"] == kind
    return cost["learning_cpu_seconds"]


def main() -> None:
    """Prints one line a pipeline, and the whole."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=2)
    times = parser.parse_args().times
    plan = config_file.load(CONFIG)
    print(f"{instructions.processor()}; load before: {psutil.getloadavg()[0]:.2f}")
    totals = dict.fromkeys(instructions.KINDS, 0.0)
    for study, stream, variant in pipelines(plan):
        first, last = plan.blocks(study)[0]
        taken: dict[str, list[float]] = {kind: [] for kind in totals}
        for _ in range(times):
            for kind, found in taken.items():
                found.append(learning_seconds(kind, study, stream, variant, f"{first}-{last}"))
        least = {kind: min(found) for kind, found in taken.items()}
        totals = {kind: totals[kind] + least[kind] for kind in totals}
        told = f"{least['portable']:.2f} s portable, {least['native']:.2f} s native"
        more = least["portable"] / least["native"] - 1
        print(f"{study:28} {variant:22} {told}: {more:+.0%}", flush=True)
    print(f"all: {totals['portable']:.1f} s and {totals['native']:.1f} s:", end=" ")
    print(f"{totals['portable'] / totals['native'] - 1:+.1%}")


if __name__ == "__main__":
    main()
