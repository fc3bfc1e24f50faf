"""SQL: tables, and one module of statements per aggregate."""

from pathlib import Path

SCRIPTS = Path(__file__).parent / "migrations"
"""What brings the database to a release."""
