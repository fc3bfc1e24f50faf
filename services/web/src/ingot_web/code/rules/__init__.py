"""Rules of files, without HTTP."""
