"""The schema: Alembic's scripts."""

from pathlib import Path

SCRIPTS = Path(__file__).parent
"""The scripts that bring a database to this release."""
