"""Artefacts: figures and tables of a study, from its scores; nothing is trained here."""


rule draw_figure:
    input:
        streams=stream_stores,
        scores="<results>/studies/{study}/scores.zarr.zip",
        summary="<results>/studies/{study}/summary.csv",
    output:
        report(
            "<results>/studies/{study}/figures/{artefact}.svg",
            caption="../report/figure.rst",
            category="{study}",
            labels={"result": "{artefact}", "kind": "figure"},
        ),
        "<results>/studies/{study}/figures/{artefact}.png",
    log:
        "<logs>/studies/{study}/{artefact}.log",
    wildcard_constraints:
        artefact=artefacts_of_kind("figure"),
    priority: study_priority
    resources:
        runtime=30,
        mem_mb=study_setting("memory_mb"),
    params:
        spec=artefact_spec,
    message:
        "Drawing {wildcards.artefact} of {wildcards.study}"
    shell:
        "python -m shiftbench --stack light artefact {wildcards.study} {wildcards.artefact}"
        ' --config "$SHIFTBENCH_CONFIG" --scores {input.scores:q} --summary {input.summary:q}'
        " --streams {input.streams:q}"
        ' --output "$SHIFTBENCH_RESULTS"/studies/{wildcards.study}/figures/{wildcards.artefact}'
        " --log {log:q} --digest {params.spec[digest]}"


rule write_table:
    input:
        streams=stream_stores,
        scores="<results>/studies/{study}/scores.zarr.zip",
        summary="<results>/studies/{study}/summary.csv",
    output:
        report(
            "<results>/studies/{study}/tables/{artefact}.csv",
            caption="../report/table.rst",
            category="{study}",
            labels={"result": "{artefact}", "kind": "table"},
        ),
        "<results>/studies/{study}/tables/{artefact}.md",
    log:
        "<logs>/studies/{study}/{artefact}.log",
    wildcard_constraints:
        artefact=artefacts_of_kind("table"),
    priority: study_priority
    resources:
        runtime=30,
        mem_mb=study_setting("memory_mb"),
    params:
        spec=artefact_spec,
    message:
        "Writing table {wildcards.artefact} of {wildcards.study}"
    shell:
        "python -m shiftbench --stack light artefact {wildcards.study} {wildcards.artefact}"
        ' --config "$SHIFTBENCH_CONFIG" --scores {input.scores:q} --summary {input.summary:q}'
        " --streams {input.streams:q}"
        ' --output "$SHIFTBENCH_RESULTS"/studies/{wildcards.study}/tables/{wildcards.artefact}'
        " --log {log:q} --digest {params.spec[digest]}"
