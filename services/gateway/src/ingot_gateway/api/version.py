"""``/version``: what clients look at to learn what they may ask for."""

from importlib.metadata import version

import msgspec
from litestar import get

from ingot_chassis.policy import anyone

INTERFACE = "1.11.0"
"""Current clients refuse less. It rises when the operations behind it exist."""


class ServerVersion(msgspec.Struct, frozen=True):
    """The version of the interface, and behind the plus that of Ingot."""

    version: str


CURRENT = ServerVersion(f"{INTERFACE}+ingot-{version('ingot-gateway')}")


@get("/api/v1/version", policy=anyone(), operation_id="getVersion", tags=["miscellaneous"])
async def show_version() -> ServerVersion:
    """Show the version of this server."""
    return CURRENT


# The official client of 2017 doubles the prefix.
@get("/api/v1/api/v1/version", policy=anyone(), include_in_schema=False)
async def show_version_at_doubled_prefix() -> ServerVersion:
    """The same."""
    return CURRENT


routes = [show_version, show_version_at_doubled_prefix]
