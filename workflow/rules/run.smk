"""Runs: one method on one stream with one block of seeds. They take most of the time.

A stopped run continues from its last checkpoint, in a folder that is named by the digest of the
spec and that Snakemake does not know. A warm-up on data from before a stream is done once for all
runs with the same warm-up.
"""


rule warm_up:
    input:
        inputs("warm_up"),
    output:
        store="<bench>/warm-ups/{study}/{stream}/{name}/{first}-{last}.zarr.zip",
        cost="<bench>/warm-ups/{study}/{stream}/{name}/{first}-{last}.cost.json",
    log:
        "<logs>/warm-ups/{study}/{stream}/{name}/{first}-{last}.log",
    priority: of_job("warm_up", "priority")
    threads: resource("warm_up", "threads")
    resources:
        runtime=asked("warm_up", "minutes"),
        mem_mb=asked("warm_up", "memory_mb"),
        gpu=of_job("warm_up", "gpus"),
    params:
        spec=of_job("warm_up", "spec"),
        job=called("warm_up"),
    message:
        "Warming up {wildcards.study}: {wildcards.name} on {wildcards.stream}, seeds {wildcards.first} to {wildcards.last}"
    shell:
        jobs.COMMAND


rule run_method:
    input:
        inputs("run_method"),
    output:
        store="<bench>/runs/{study}/{stream}/{method}/{first}-{last}.zarr.zip",
        cost="<bench>/runs/{study}/{stream}/{method}/{first}-{last}.cost.json",
    log:
        "<logs>/runs/{study}/{stream}/{method}/{first}-{last}.log",
    priority: of_job("run_method", "priority")
    threads: resource("run_method", "threads")
    resources:
        runtime=asked("run_method", "minutes"),
        mem_mb=asked("run_method", "memory_mb"),
        gpu=of_job("run_method", "gpus"),
    params:
        spec=of_job("run_method", "spec"),
        job=called("run_method"),
    message:
        "Running {wildcards.study}: {wildcards.method} on {wildcards.stream}, seeds {wildcards.first} to {wildcards.last}"
    shell:
        jobs.COMMAND
