"""The schema migrations of identity."""

from pathlib import Path

SCRIPTS = Path(__file__).parent
"""The folder from which Alembic reads the migrations."""
