"""Streams: raw files, or nothing but a seed, to one labelled store each.

Streams of text are counted in shards: a vocabulary first, then each shard in a job of its own,
and a merge.
"""


rule build_stream:
    input:
        raw_files,
    output:
        "<bench>/streams/{stream}.zarr.zip",
    log:
        "<logs>/streams/{stream}.log",
    wildcard_constraints:
        stream=streams(sharded=False),
    priority: stream_priority
    resources:
        runtime=30,
        mem_mb=2500,
    params:
        spec=stream_spec,
        job=JOB,
    message:
        "Building stream {wildcards.stream}"
    shell:
        "{params.job.call} --stack light stream {wildcards.stream}"
        " --config {params.job.config:q} --raw {params.job.raw:q} --output {output:q}"
        " --log {log:q} --digest {params.spec[digest]}"


rule choose_words:
    input:
        raw_files,
    output:
        "<bench>/streams/{stream}/words.json",
    log:
        "<logs>/streams/{stream}/words.log",
    wildcard_constraints:
        stream=streams(sharded=True),
    priority: stream_priority
    resources:
        runtime=240,
        mem_mb=4000,
    params:
        spec=words_spec,
        job=JOB,
    message:
        "Choosing the vocabulary of {wildcards.stream}"
    shell:
        "{params.job.call} --stack light stream-words {wildcards.stream}"
        " --config {params.job.config:q} --raw {params.job.raw:q} --output {output:q}"
        " --log {log:q} --digest {params.spec[digest]}"


rule count_shard:
    input:
        raw=raw_files,
        words="<bench>/streams/{stream}/words.json",
    output:
        "<bench>/streams/{stream}/{shard}.zarr.zip",
    log:
        "<logs>/streams/{stream}/{shard}.log",
    wildcard_constraints:
        stream=streams(sharded=True),
        shard=r"\d+",
    priority: stream_priority
    resources:
        runtime=240,
        mem_mb=2500,
    params:
        spec=part_spec,
        job=JOB,
    message:
        "Counting shard {wildcards.shard} of {wildcards.stream}"
    shell:
        "{params.job.call} --stack light stream-part {wildcards.stream}"
        " --shard {wildcards.shard} --words {input.words:q}"
        " --config {params.job.config:q} --raw {params.job.raw:q} --output {output:q}"
        " --log {log:q} --digest {params.spec[digest]}"


rule merge_shards:
    input:
        words="<bench>/streams/{stream}/words.json",
        parts=shards,
    output:
        "<bench>/streams/{stream}.zarr.zip",
    log:
        "<logs>/streams/{stream}.log",
    wildcard_constraints:
        stream=streams(sharded=True),
    priority: stream_priority
    resources:
        runtime=240,
        mem_mb=2500,
    params:
        spec=stream_spec,
        job=JOB,
    message:
        "Merging the shards of {wildcards.stream}"
    shell:
        "{params.job.call} --stack light stream-merge {wildcards.stream}"
        " --words {input.words:q} --parts {input.parts:q}"
        " --config {params.job.config:q} --output {output:q}"
        " --log {log:q} --digest {params.spec[digest]}"
