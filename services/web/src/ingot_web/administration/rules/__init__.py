"""Decisions of the pages of administration, without HTTP."""
