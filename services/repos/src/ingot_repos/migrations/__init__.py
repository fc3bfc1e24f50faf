"""The schema migrations of repos."""

from pathlib import Path

SCRIPTS = Path(__file__).parent
"""The folder from which Alembic reads the migrations."""
