"""Settings of the site that `make docs-site` builds: pages of docs/ and the pages that they link to."""

project = "Ingot"
root_doc = "docs/index"
extensions = ["myst_parser"]
include_patterns = ["*.md", "docs/**", "*/*/README.md", "deploy/README.md"]
include_patterns += ["benchmarks/*.md", "tests/*.md", "tests/**/*.md"]
exclude_patterns = [".*", "data", "*/*/tests", "**/src", "**/node_modules", "**/.pytest_cache"]
myst_heading_anchors = 4
html_theme = "furo"
html_title = "Ingot"
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False
