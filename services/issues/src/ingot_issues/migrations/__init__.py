"""The changes of the schema, release by release."""

from pathlib import Path

SCRIPTS = Path(__file__).parent
"""The folder that Alembic reads."""
