"""Artefacts: figures and tables of a study, made from its scores without training."""


rule draw_figure:
    input:
        inputs("draw_figure"),
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
        artefact=wildcard_of("draw_figure"),
    priority: of_job("draw_figure", "priority")
    resources:
        runtime=resource("draw_figure", "minutes"),
        mem_mb=resource("draw_figure", "memory_mb"),
    params:
        spec=of_job("draw_figure", "spec"),
        job=called("draw_figure"),
    message:
        "Drawing {wildcards.artefact} of {wildcards.study}"
    shell:
        jobs.COMMAND


rule write_table:
    input:
        inputs("write_table"),
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
        artefact=wildcard_of("write_table"),
    priority: of_job("write_table", "priority")
    resources:
        runtime=resource("write_table", "minutes"),
        mem_mb=resource("write_table", "memory_mb"),
    params:
        spec=of_job("write_table", "spec"),
        job=called("write_table"),
    message:
        "Writing table {wildcards.artefact} of {wildcards.study}"
    shell:
        jobs.COMMAND
