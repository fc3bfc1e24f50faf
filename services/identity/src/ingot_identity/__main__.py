"""``ingot-identity serve|work|migrate``."""

from ingot_chassis.command import service_main
from ingot_identity.app import SCRIPTS, create_app
from ingot_identity.settings import Settings


def main() -> None:
    """Run the command line."""
    service_main("identity", Settings, create_app, scripts=SCRIPTS)


if __name__ == "__main__":
    main()
