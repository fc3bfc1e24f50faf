"""SQL, and nothing else."""

from pathlib import Path

SCRIPTS = Path(__file__).parent / "migrations"
"""What brings the database to a release."""
