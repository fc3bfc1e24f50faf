"""``ingot-identity serve|work|migrate``."""

from ingot_chassis.garbage import no_collection

with no_collection():
    from ingot_chassis.command import service_main
    from ingot_identity.migrations import SCRIPTS
    from ingot_identity.settings import Settings


def main() -> None:
    """Run the command line."""
    service_main("identity", Settings, scripts=SCRIPTS)


if __name__ == "__main__":
    main()
