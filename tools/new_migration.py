"""Write a migration of one service from the difference between its tables and its history.

Usage: python tools/new_migration.py <service> <message>
"""

import sys
import tempfile
from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine

ROOT = Path(__file__).parent.parent


def main(service: str, message: str) -> None:
    """Replay the history into an empty database, compare it with the tables, write the next revision."""
    package = f"ingot_{service}"
    (scripts,) = (ROOT / "services" / service / "src" / package).rglob("migrations")
    (scripts / "versions").mkdir(exist_ok=True)
    config = Config()
    config.set_main_option("script_location", str(scripts))
    with tempfile.TemporaryDirectory() as folder:
        engine = create_engine(f"sqlite:///{folder}/history.db")
        with engine.connect() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
            # Numbers may have gaps.
            number = 1 + max((int(file.name[:4]) for file in (scripts / "versions").glob("0*.py")), default=0)
            command.revision(config, message=message, autogenerate=True, rev_id=f"{number:04d}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
