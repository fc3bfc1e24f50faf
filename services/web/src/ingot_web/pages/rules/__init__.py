"""Rules of pages, without HTTP."""
