"""Rules of reviews, without HTTP."""
