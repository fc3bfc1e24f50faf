"""``ingot-hooks serve|work|migrate|replay|doctor``."""

from ingot_chassis.garbage import no_collection

with no_collection():
    from ingot_chassis.command import service_main
    from ingot_hooks.migrations import SCRIPTS
    from ingot_hooks.settings import Settings


def main() -> None:
    """Run the command line."""
    service_main("hooks", Settings, scripts=SCRIPTS)


if __name__ == "__main__":
    main()
