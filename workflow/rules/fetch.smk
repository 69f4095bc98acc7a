"""Raw files: from SHIFTBENCH_MIRROR or their official address, checked against the table.

The table is src/shiftbench/data/store/raw_files.yaml.
"""

from types import SimpleNamespace


rule fetch_raw_file:
    output:
        "data/raw/{dataset}/{file}",
    log:
        "<logs>/fetch/{dataset}/{file}.log",
    wildcard_constraints:
        dataset=fetched_datasets(),
    priority: dataset_priority
    localrule: True
    resources:
        runtime=30,
        mem_mb=500,
    params:
        spec=lambda wildcards: specs.raw_file(wildcards.dataset, wildcards.file),
        job=SimpleNamespace(call=PACKAGE),
    message:
        "Fetching {wildcards.dataset}/{wildcards.file}"
    shell:
        jobs.FETCH
