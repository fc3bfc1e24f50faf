"""Changes by the API and by pages: files, branches, tags."""
