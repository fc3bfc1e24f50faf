"""Rules that write the pages of an import, and that merge changes since its last run."""
