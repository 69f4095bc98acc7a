"""Tuning: the best of a learner's trials; the trials are a study of their own, STUDY-tuning."""


rule choose_settings:
    input:
        "<bench>/studies/{study}-tuning/scores.zarr.zip",
    output:
        "<bench>/studies/{study}-tuning/choices/{stream}/{learner}.json",
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
        job=JOB,
    message:
        "Choosing settings of {wildcards.learner} for {wildcards.study} on {wildcards.stream}"
    shell:
        "{params.job.call} --stack light"
        " choose {wildcards.study} {wildcards.stream} {wildcards.learner}"
        " --config {params.job.config:q} --scores {input:q} --output {output:q}"
        " --log {log:q} --digest {params.spec[digest]}"
