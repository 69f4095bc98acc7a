"""Runs: one variant on one stream with one block of seeds; where the time goes.

A run that is stopped goes on from its last checkpoint, in a folder that Snakemake does not
know, named by the digest of the spec. Data from before a stream are learnt from once, for all
runs that learn from them alike.
"""


rule warm_up:
    input:
        "<bench>/streams/{stream}.zarr.zip",
    output:
        store="<bench>/warm-ups/{study}/{stream}/{name}/{first}-{last}.zarr.zip",
        cost="<bench>/warm-ups/{study}/{stream}/{name}/{first}-{last}.cost.json",
    log:
        "<logs>/warm-ups/{study}/{stream}/{name}/{first}-{last}.log",
    priority: study_priority
    threads: threads_of_warm_up
    resources:
        runtime=asked("minutes", said_of_warm_up, warm_up_spec),
        mem_mb=asked("memory_mb", said_of_warm_up, warm_up_spec),
        gpu=gpus_of_warm_up,
    params:
        spec=warm_up_spec,
        job=JOB,
    message:
        "Warming up {wildcards.study}: {wildcards.name} on {wildcards.stream}, seeds {wildcards.first} to {wildcards.last}"
    shell:
        "{params.job.call} --stack {params.spec[stack]}"
        " --instructions {params.spec[instructions]}"
        " warm-up {wildcards.study} {wildcards.stream} {wildcards.name}"
        " --seeds {wildcards.first}-{wildcards.last} --config {params.job.config:q}"
        " --store {input:q} --output {output.store:q} --cost {output.cost:q}"
        " --log {log:q} --threads {threads} --digest {params.spec[digest]}"


rule run_learner:
    input:
        stream="<bench>/streams/{stream}.zarr.zip",
        choice=choice_of_run,
        warm_up=warm_up_of_run,
    output:
        store="<bench>/runs/{study}/{stream}/{variant}/{first}-{last}.zarr.zip",
        cost="<bench>/runs/{study}/{stream}/{variant}/{first}-{last}.cost.json",
    log:
        "<logs>/runs/{study}/{stream}/{variant}/{first}-{last}.log",
    priority: study_priority
    threads: threads_of_run
    resources:
        runtime=asked("minutes", said_of_run, run_spec),
        mem_mb=asked("memory_mb", said_of_run, run_spec),
        gpu=gpus_of_run,
    params:
        spec=run_spec,
        job=JOB,
    message:
        "Running {wildcards.study}: {wildcards.variant} on {wildcards.stream}, seeds {wildcards.first} to {wildcards.last}"
    shell:
        "{params.job.call} --stack {params.spec[stack]}"
        " --instructions {params.spec[instructions]}"
        " run {wildcards.study} {wildcards.stream} {wildcards.variant}"
        " --seeds {wildcards.first}-{wildcards.last} --config {params.job.config:q}"
        " --store {input.stream:q} --choice {input.choice:q} --warm-up {input.warm_up:q}"
        " --output {output.store:q} --cost {output.cost:q}"
        " --scratch {params.job.scratch:q} --log {log:q}"
        " --minutes {resources.runtime} --threads {threads} --digest {params.spec[digest]}"
