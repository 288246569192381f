"""How Sphinx builds the site: `make docs`. Everything that the pages need is served from the build."""

import sys
from pathlib import Path

import ringlet

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "Ringlet"
author = copyright = "The Ringlet developers"
version = release = ringlet.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "command_reference",
    "native_math",
    "outside_links",
    "paper_and_code",
    "ring_pictures",
    "tidy",
]
exclude_patterns = ["_build", "_templates"]
templates_path = ["_templates"]
nitpicky = False
default_role = "py:obj"

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4

autosummary_generate = True
autodoc_member_order = "groupwise"
autodoc_typehints = "none"  # numpydoc's sections say it in words
numpydoc_show_class_members = False  # the template of a class lists them
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "jobs",
    "filename_pattern": r"/\w+\.py",
    "within_subsection_order": "job_order.place",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "parallel": 2,
    "min_reported_time": 1000,
    "remove_config_comments": True,
    "capture_repr": (),  # what is worth seeing is printed
    "matplotlib_animations": False,
    "write_computation_times": False,
    "image_srcset": [],
    "thumbnail_size": (400, 260),
}

# Jobs have no contents beside them: their code needs the room.
_FOLDERS = (
    "",
    "start/",
    "how/",
    "reference/",
    "reference/generated/",
    "evidence/",
    "results/",
    "decisions/",
    "project/",
)

html_theme = "pydata_sphinx_theme"
html_title = "Ringlet"
html_static_path = ["_static"]
html_css_files = ["ringlet.css"]
html_context = {"default_mode": "auto"}
html_domain_indices = False
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "Ringlet"},
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": {f"{folder}*": ["page-toc"] for folder in _FOLDERS} | {"jobs/*": []},
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_nav_level": 1,
    "navigation_depth": 3,
    "header_links_before_dropdown": 7,
    "pygments_light_style": "tango",
    "pygments_dark_style": "github-dark",
}
