"""Rules of account settings, without HTTP."""
