"""Rules of issues, without HTTP."""
