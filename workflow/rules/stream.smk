"""Streams: raw files, or nothing but a seed, to one labelled store each.

Streams of text are counted in shards: a vocabulary first, then each shard in a job of its own,
and a merge.
"""


rule build_stream:
    input:
        raw_files,
    output:
        "<results>/streams/{stream}.zarr.zip",
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
    message:
        "Building stream {wildcards.stream}"
    shell:
        "python -m shiftbench --stack light stream {wildcards.stream}"
        ' --config "$SHIFTBENCH_CONFIG" --raw data/raw --output {output:q}'
        " --log {log:q} --digest {params.spec[digest]}"


rule choose_words:
    input:
        raw_files,
    output:
        "<results>/streams/{stream}/words.json",
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
    message:
        "Choosing the vocabulary of {wildcards.stream}"
    shell:
        "python -m shiftbench --stack light stream-words {wildcards.stream}"
        ' --config "$SHIFTBENCH_CONFIG" --raw data/raw --output {output:q}'
        " --log {log:q} --digest {params.spec[digest]}"


rule count_shard:
    input:
        raw=raw_files,
        words="<results>/streams/{stream}/words.json",
    output:
        "<results>/streams/{stream}/{shard}.zarr.zip",
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
    message:
        "Counting shard {wildcards.shard} of {wildcards.stream}"
    shell:
        "python -m shiftbench --stack light stream-part {wildcards.stream}"
        " --shard {wildcards.shard} --words {input.words:q}"
        ' --config "$SHIFTBENCH_CONFIG" --raw data/raw --output {output:q}'
        " --log {log:q} --digest {params.spec[digest]}"


rule merge_shards:
    input:
        words="<results>/streams/{stream}/words.json",
        parts=shards,
    output:
        "<results>/streams/{stream}.zarr.zip",
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
    message:
        "Merging the shards of {wildcards.stream}"
    shell:
        "python -m shiftbench --stack light stream-merge {wildcards.stream}"
        " --words {input.words:q} --parts {input.parts:q}"
        ' --config "$SHIFTBENCH_CONFIG" --output {output:q}'
        " --log {log:q} --digest {params.spec[digest]}"
