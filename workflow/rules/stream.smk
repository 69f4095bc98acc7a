"""Streams: raw files, or nothing but a seed, to one labelled store each."""


rule build_stream:
    input:
        raw_files,
    output:
        "<results>/streams/{stream}.zarr.zip",
    log:
        "<logs>/streams/{stream}.log",
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
