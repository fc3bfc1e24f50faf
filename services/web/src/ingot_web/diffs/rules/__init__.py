"""Rules of diffs, without HTTP."""
