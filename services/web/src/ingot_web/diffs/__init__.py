"""Diffs: parsed, coloured, and shown in parts."""
