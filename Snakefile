include: "workflow/Snakefile"


# An included file cannot set the default target; that of a module is its parent's.
if not workflow.modifier.namespace:
    workflow.default_target = "all"
