"""``ingot-issues serve|work|migrate``."""

from ingot_chassis.garbage import no_collection

with no_collection():
    from ingot_chassis.command import service_main
    from ingot_issues.migrations import SCRIPTS
    from ingot_issues.settings import Settings


def main() -> None:
    """Run the command line."""
    service_main("issues", Settings, scripts=SCRIPTS)


if __name__ == "__main__":
    main()
