"""Data: tables and rows, a module of SQL for each aggregate, and values that expire."""

from pathlib import Path

SCRIPTS = Path(__file__).parent / "migrations"
"""What brings the database to a release."""
