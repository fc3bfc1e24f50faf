"""Diffs: parsed, highlighted, and shown in pages."""
