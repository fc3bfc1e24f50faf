"""The command ``ingot-gateway serve``."""

from ingot_chassis.garbage import no_collection

with no_collection():
    from ingot_chassis.command import service_main
    from ingot_gateway.settings import Settings


def main() -> None:
    """Run the command line."""
    service_main("gateway", Settings, scripts=None)


if __name__ == "__main__":
    main()
