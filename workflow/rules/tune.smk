"""Tuning: the best of a learner's trials; the trials are a study of their own, STUDY-tuning."""


rule choose_settings:
    input:
        "<results>/studies/{study}-tuning/scores.zarr.zip",
    output:
        "<results>/studies/{study}-tuning/choices/{stream}/{learner}.json",
    log:
        "<logs>/studies/{study}-tuning/{stream}-{learner}.log",
    wildcard_constraints:
        learner=r"[a-z0-9-]+",
    priority: study_priority
    resources:
        runtime=30,
        mem_mb=2500,
    params:
        spec=choice_spec,
    message:
        "Choosing settings of {wildcards.learner} for {wildcards.study} on {wildcards.stream}"
    shell:
        "python -m shiftbench --stack light"
        " choose {wildcards.study} {wildcards.stream} {wildcards.learner}"
        ' --config "$SHIFTBENCH_CONFIG" --scores {input:q} --output {output:q}'
        " --log {log:q} --digest {params.spec[digest]}"
