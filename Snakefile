include: "workflow/Snakefile"


# An included file cannot set the default target.
workflow.default_target = "all"
