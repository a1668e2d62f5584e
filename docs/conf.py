"""The Sphinx configuration of the documentation.

Build it with ``sphinx-build -W -b html docs docs/_build``. No page needs the network: the theme is
one that is installed, and nothing is linked by intersphinx.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from dpcp_audit import __version__

project = "dpcp-audit"
author = "The dpcp-audit developers"
project_copyright = author
release = version = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "checks",
    "command_line",
    "plain_docstrings",
    "public_names",
    "numpydoc",
    "qualified_hints",
    "results_keys",
    "site_pages",
    "typeset_formulas",
]
exclude_patterns = ["_build", "_ext"]

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_title = f"dpcp-audit {release}"
html_theme_options = {"top_of_page_buttons": []}
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False

myst_heading_anchors = 3
myst_html_meta = {"description": "Tests whether private conformal predictors keep their promises."}
myst_enable_extensions = ["dollarmath"]
myst_dmath_double_inline = True
html_math_renderer = "mathml"

autodoc_default_options = {"members": True, "show-inheritance": False}
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 88
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
