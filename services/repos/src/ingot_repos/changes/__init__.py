"""Changes by API and pages: files, branches, tags."""
