"""``ingot-hooks serve|work|migrate|replay|doctor``."""

from ingot_chassis.command import service_main
from ingot_hooks.app import SCRIPTS, create_app
from ingot_hooks.settings import Settings


def main() -> None:
    """Run the command line."""
    service_main("hooks", Settings, create_app, scripts=SCRIPTS)


if __name__ == "__main__":
    main()
