"""``ingot-mail serve|work|migrate|replay|doctor``."""

from ingot_chassis.garbage import no_collection

with no_collection():
    from ingot_chassis.command import service_main
    from ingot_mail.migrations import SCRIPTS
    from ingot_mail.settings import Settings


def main() -> None:
    """Run the command line."""
    service_main("mail", Settings, scripts=SCRIPTS)


if __name__ == "__main__":
    main()
