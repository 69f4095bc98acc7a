"""Tuning: the best of a method's trials; the trials are a study of their own, STUDY-tuning."""


rule choose_settings:
    input:
        inputs("choose_settings"),
    output:
        "<bench>/studies/{study}-tuning/choices/{stream}/{method}.json",
    log:
        "<logs>/studies/{study}-tuning/{stream}/{method}.log",
    priority: of_job("choose_settings", "priority")
    resources:
        runtime=resource("choose_settings", "minutes"),
        mem_mb=resource("choose_settings", "memory_mb"),
    params:
        spec=of_job("choose_settings", "spec"),
        job=called("choose_settings"),
    message:
        "Choosing settings of {wildcards.method} for {wildcards.study} on {wildcards.stream}"
    shell:
        jobs.COMMAND
