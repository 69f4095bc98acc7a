"""Sphinx extension of the documentation site: links to pages of results, and generated lists.

`shiftbench site` makes the pages of results, in a folder of the same site.
"""

from __future__ import annotations

import os
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from pygments.lexers.python import PythonLexer
from sphinx import addnodes
from sphinx.application import Sphinx

from shiftbench import adapters
from shiftbench.config import catalogue
from shiftbench.config.library import OURS, Library
from shiftbench.publish.site import pages

ROOT = Path(__file__).parents[1]
PUBLISHED = ROOT / "results" / "published"
PAGES = "benchmark"
"""The folder of the pages of results within the site."""
STUDY_FILE = re.compile(r"results/published/(\w+)/studies/([\w-]+)/")
INSTEAD = {"results/published/ledger": "papers.html"}
"""Published files that the site replaces by a page of results."""
OF_SKLEARN = re.compile(r"set_\w+_request")
"""Methods that scikit-learn generates for metadata routing."""


def place(document: str, page: str) -> str:
    """Return the address of a page of results from a page of the documentation."""
    return "../" * document.count("/") + f"{PAGES}/{page}"


def link_results(app: Sphinx, doctree: nodes.document) -> None:
    """Redirect links to published files to the page of their study, which shows them."""
    document = app.env.current_document.docname
    for node in [*doctree.findall(addnodes.download_reference), *_links_to_pages(doctree)]:
        target = node["reftarget"]
        if isinstance(node, addnodes.download_reference):
            target = os.path.relpath((ROOT / document).parent / target, ROOT)
        study = STUDY_FILE.match(target)
        page = f"studies/{study[1]}/{study[2]}.html" if study else INSTEAD.get(target)
        if page:
            address = place(document, page)
            node.replace_self(nodes.reference("", "", *node.children, refuri=address))


def _links_to_pages(doctree: nodes.document) -> Iterator[nodes.Element]:
    """Yield links to Markdown files."""
    for node in doctree.findall(addnodes.pending_xref):
        if node["refdomain"] == "doc":
            yield node


def leave_out_badges(app: Sphinx, doctree: nodes.document) -> None:
    """Remove images that a browser would fetch from a network."""
    for node in list(doctree.findall(nodes.image)):
        if "://" in node["uri"]:
            around = node.parent if isinstance(node.parent, nodes.reference) else node
            around.parent.remove(around)


def complete(app: Sphinx, document: str, source: list[str]) -> None:
    """Add generated lists to pages, and a title to the page of costs."""
    if document in LISTS:
        source[0] += "\n" + "\n".join(LISTS[document]())
    if document == "results/published/costs":
        source[0] = f"# What the studies cost\n\n{source[0]}"


def _adapters() -> Iterator[str]:
    """Yield the reference of every adapter."""
    for _, name, _ in pkgutil.iter_modules(adapters.__path__, "shiftbench.adapters."):
        yield f"## {name.rpartition('.')[2]}\n"
        yield f"```{{eval-rst}}\n.. automodule:: {name}\n   :members:\n```\n"


def _methods() -> Iterator[str]:
    """Yield a line for each method, with a link to its page of results."""
    for name, text in catalogue.methods(Library(OURS)).items():
        address = place("docs/reference/methods", f"methods/{name}.html")
        yield f'- <a href="{address}"><code>{name}</code></a>: {text.replace(chr(10), " ")}'


LISTS = {"docs/reference/adapters": _adapters, "docs/reference/methods": _methods}


def leave_out_of_sklearn(
    app: Sphinx, what: str, name: str, member: Any, skip: bool, options: Any
) -> bool | None:
    """Leave generated methods of scikit-learn out of the reference."""
    return True if OF_SKLEARN.fullmatch(name) else None


def write_results(app: Sphinx, error: Exception | None) -> None:
    """Write the pages of the published results into the site."""
    if error is None and app.builder.format == "html":
        back = f"../{app.config.root_doc}.html"
        pages.write(PUBLISHED, Path(app.outdir, PAGES), documentation=back)


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the extension with Sphinx."""
    app.connect("source-read", complete)
    # before Sphinx copies linked files and collects images
    app.connect("doctree-read", link_results, priority=100)
    app.connect("doctree-read", leave_out_badges, priority=100)
    app.connect("autodoc-skip-member", leave_out_of_sklearn)
    app.connect("build-finished", write_results)
    app.add_lexer("snakemake", PythonLexer)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
