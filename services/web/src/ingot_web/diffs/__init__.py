"""Diffs: parsed, highlighted, and shown in parts."""
