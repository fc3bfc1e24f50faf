"""Rules of forms, without HTTP."""
