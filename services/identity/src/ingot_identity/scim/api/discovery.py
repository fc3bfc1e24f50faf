"""Routes that describe this server for SCIM clients (RFC 7644, section 4)."""

from litestar import Response, get

from ingot_chassis.errors import NotFound
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.scim.api.responses import (
    MOST_RESULTS,
    OPTIONS,
    Resource,
    answer,
    list_answer,
    source_client,
)
from ingot_identity.scim.rules.schemas import provider_config, resource_types, schemas


@get("/scim/v2/ServiceProviderConfig", policy=source_client(), **OPTIONS)
async def get_provider_config(request: IdentityRequest) -> Response[bytes]:
    """Return the features of this server."""
    return answer(provider_config(request.public_url, MOST_RESULTS))


@get("/scim/v2/ResourceTypes", policy=source_client(), **OPTIONS)
async def list_resource_types(request: IdentityRequest) -> Response[bytes]:
    """Return the resource types User and Group."""
    return _all(request, resource_types(request.public_url))


@get("/scim/v2/ResourceTypes/{name:str}", policy=source_client(), **OPTIONS)
async def get_resource_type(request: IdentityRequest, name: str) -> Response[bytes]:
    """Return one resource type."""
    return _one(resource_types(request.public_url), name)


@get("/scim/v2/Schemas", policy=source_client(), **OPTIONS)
async def list_schemas(request: IdentityRequest) -> Response[bytes]:
    """Return the attributes of users and groups that this server uses."""
    return _all(request, schemas(request.public_url))


@get("/scim/v2/Schemas/{name:str}", policy=source_client(), **OPTIONS)
async def get_schema(request: IdentityRequest, name: str) -> Response[bytes]:
    """Return the attributes of users or of groups."""
    return _one(schemas(request.public_url), name)


def _all(request: IdentityRequest, resources: list[Resource]) -> Response[bytes]:
    return list_answer(request, resources, len(resources), 1)


def _one(resources: list[Resource], name: str) -> Response[bytes]:
    for resource in resources:
        if resource["id"].lower() == name.lower():
            return answer(resource)
    raise NotFound


routes = [get_provider_config, list_resource_types, get_resource_type, list_schemas, get_schema]
