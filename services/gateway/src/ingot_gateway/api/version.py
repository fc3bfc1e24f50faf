"""The route ``/version``, which clients use to decide which operations they may call."""

from functools import partial
from importlib.metadata import version

import msgspec
from litestar import get

from ingot_chassis.http.openapi import operation_ids
from ingot_chassis.http.policy import anyone
from ingot_gateway.api.request import GatewayRequest
from ingot_gateway.interface_version import served_version
from ingot_gateway.served_operations import ServedOperations

OWN = version("ingot-gateway")


class ServerVersion(msgspec.Struct, frozen=True):
    """The version of the API, a plus sign, and the version of Ingot."""

    version: str


async def current(request: GatewayRequest) -> str:
    """Return the version of this server, derived from the operations that the services serve."""
    operations = await request.part(ServedOperations).ids(partial(operation_ids, request.app))
    return f"{served_version(operations)}+ingot-{OWN}"


@get("/api/v1/version", policy=anyone(), operation_id="getVersion", tags=["miscellaneous"])
async def show_version(request: GatewayRequest) -> ServerVersion:
    """Get the version of this server."""
    return ServerVersion(await current(request))


# The official client of 2017 sends the prefix twice.
@get("/api/v1/api/v1/version", policy=anyone(), include_in_schema=False)
async def show_version_at_doubled_prefix(request: GatewayRequest) -> ServerVersion:
    """Get the version at a path with a doubled prefix (`/api/v1/api/v1`)."""
    return ServerVersion(await current(request))


routes = [show_version, show_version_at_doubled_prefix]
