"""Rules of the administration pages, without HTTP."""
