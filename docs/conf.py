"""Sphinx settings of the documentation site: `make docs` builds it into docs/_build/html.

The source folder is the whole checkout, from which only some pages are taken, so that links between
the README, the docs and the config reference work as in the repository.
"""

from __future__ import annotations

import sys
from pathlib import Path

import shiftbench

sys.path.append(str(Path(__file__).parent))

project = "shiftbench"
author = copyright = "The shiftbench developers"
version = release = shiftbench.__version__

extensions = ["sphinx.ext.autodoc", "numpydoc", "myst_nb", "site_extension"]
root_doc = "docs/index"
include_patterns = [
    "docs/*.md",
    "docs/*/*.md",
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "config/README.md",
    "examples/*/README.md",
    "perf/table.md",
    "results/README.md",
    "results/published/costs.md",
]
# Folders that Sphinx skips: environments and results have a hundred thousand files.
exclude_patterns = [".*", "docs/_*", "data", "src", "tests", "site", "wheelhouse*"]

myst_heading_anchors = 4
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 600  # seconds per cell, which only end a hang
nb_output_stderr = "remove"  # progress bars; an exception fails the build

default_role = "py:obj"
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # docstrings describe the arguments
numpydoc_show_class_members = False  # members follow, since a page documents the whole class

html_theme = "pydata_sphinx_theme"
html_title = "shiftbench"
html_static_path = ["_static"]
templates_path = ["_templates"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "shiftbench"},
    "navbar_center": ["navbar-nav", "results-link"],
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-field"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_nav_level": 2,
    "navigation_with_keys": False,
}
html_context = {"default_mode": "auto"}  # dark if the reader's system is
html_additional_pages = {"index": "start.html"}
