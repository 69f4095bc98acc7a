"""Streams: one labelled store for each, from raw files or from a seed alone.

Streams of text are counted in shards: a vocabulary first, then each shard in a job of its own,
and a merge.
"""


rule build_stream:
    input:
        inputs("build_stream"),
    output:
        "<bench>/streams/{stream}.zarr.zip",
    log:
        "<logs>/streams/{stream}.log",
    wildcard_constraints:
        stream=wildcard_of("build_stream"),
    priority: of_job("build_stream", "priority")
    resources:
        runtime=resource("build_stream", "minutes"),
        mem_mb=resource("build_stream", "memory_mb"),
    params:
        spec=of_job("build_stream", "spec"),
        job=called("build_stream"),
    message:
        "Building stream {wildcards.stream}"
    shell:
        jobs.COMMAND


rule choose_words:
    input:
        inputs("choose_words"),
    output:
        "<bench>/streams/{stream}/words.json",
    log:
        "<logs>/streams/{stream}/words.log",
    wildcard_constraints:
        stream=wildcard_of("merge_shards"),
    priority: of_job("choose_words", "priority")
    resources:
        runtime=resource("choose_words", "minutes"),
        mem_mb=resource("choose_words", "memory_mb"),
    params:
        spec=of_job("choose_words", "spec"),
        job=called("choose_words"),
    message:
        "Choosing the vocabulary of {wildcards.stream}"
    shell:
        jobs.COMMAND


rule count_shard:
    input:
        inputs("count_shard"),
    output:
        "<bench>/streams/{stream}/{shard}.zarr.zip",
    log:
        "<logs>/streams/{stream}/{shard}.log",
    wildcard_constraints:
        stream=wildcard_of("merge_shards"),
        shard=r"\d+",
    priority: of_job("count_shard", "priority")
    resources:
        runtime=resource("count_shard", "minutes"),
        mem_mb=resource("count_shard", "memory_mb"),
    params:
        spec=of_job("count_shard", "spec"),
        job=called("count_shard"),
    message:
        "Counting shard {wildcards.shard} of {wildcards.stream}"
    shell:
        jobs.COMMAND


rule merge_shards:
    input:
        inputs("merge_shards"),
    output:
        "<bench>/streams/{stream}.zarr.zip",
    log:
        "<logs>/streams/{stream}.log",
    wildcard_constraints:
        stream=wildcard_of("merge_shards"),
    priority: of_job("merge_shards", "priority")
    resources:
        runtime=resource("merge_shards", "minutes"),
        mem_mb=resource("merge_shards", "memory_mb"),
    params:
        spec=of_job("merge_shards", "spec"),
        job=called("merge_shards"),
    message:
        "Merging the shards of {wildcards.stream}"
    shell:
        jobs.COMMAND
