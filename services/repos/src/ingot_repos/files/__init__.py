"""Files: contents, archives, editorconfig, issue forms."""
