"""Artefacts: figures and tables of a study, from its scores; nothing is trained here."""


rule draw_figure:
    input:
        streams=stream_stores,
        scores="<bench>/studies/{study}/scores.zarr.zip",
        summary="<bench>/studies/{study}/summary.csv",
    output:
        report(
            "<bench>/studies/{study}/figures/{artefact}.svg",
            caption="../report/figure.rst",
            category="{study}",
            labels={"result": "{artefact}", "kind": "figure"},
        ),
        "<bench>/studies/{study}/figures/{artefact}.png",
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
        job=JOB,
    message:
        "Drawing {wildcards.artefact} of {wildcards.study}"
    shell:
        "{params.job.call} --stack light artefact {wildcards.study} {wildcards.artefact}"
        " --config {params.job.config:q} --scores {input.scores:q} --summary {input.summary:q}"
        " --streams {input.streams:q}"
        " --output {output:q}"
        " --log {log:q} --digest {params.spec[digest]}"


rule write_table:
    input:
        streams=stream_stores,
        scores="<bench>/studies/{study}/scores.zarr.zip",
        summary="<bench>/studies/{study}/summary.csv",
    output:
        report(
            "<bench>/studies/{study}/tables/{artefact}.csv",
            caption="../report/table.rst",
            category="{study}",
            labels={"result": "{artefact}", "kind": "table"},
        ),
        "<bench>/studies/{study}/tables/{artefact}.md",
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
        job=JOB,
    message:
        "Writing table {wildcards.artefact} of {wildcards.study}"
    shell:
        "{params.job.call} --stack light artefact {wildcards.study} {wildcards.artefact}"
        " --config {params.job.config:q} --scores {input.scores:q} --summary {input.summary:q}"
        " --streams {input.streams:q}"
        " --output {output:q}"
        " --log {log:q} --digest {params.spec[digest]}"
