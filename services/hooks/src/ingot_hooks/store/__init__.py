"""Tables of hooks, their rows, and the SQL that reads and writes them."""

from pathlib import Path

SCRIPTS = Path(__file__).parent / "migrations"
"""What brings the database to a release."""
