"""Writing the pages of an import, and merging what changed since the last one."""
