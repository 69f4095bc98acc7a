include: "workflow/Snakefile"


# An included file cannot set the default target.
workflow.default_target = workflow.default_target or workflow.modifier.modify_rulename(
    "all"
)
