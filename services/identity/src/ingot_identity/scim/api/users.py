"""Routes for users of SCIM (RFC 7643, section 4.1): accounts that are linked with the token's source."""

from litestar import Response, delete, get, patch, post, put

from ingot_chassis.errors import NotFound
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.accounts.rules.presenter import whole_seconds
from ingot_identity.scim.api.responses import (
    OPTIONS,
    Resource,
    body_of,
    client_of,
    list_answer,
    list_query,
    resource_answer,
    source_client,
    version_of,
)
from ingot_identity.scim.rules import users
from ingot_identity.scim.rules.ids import id_of
from ingot_identity.scim.rules.patches import apply_operations
from ingot_identity.scim.rules.people import ScimPerson, read_person, values_of
from ingot_identity.scim.rules.schemas import USER
from ingot_identity.scim.store import users as store
from ingot_identity.scim.store.tables import ScimUserRow

COLLECTION, ONE = "/scim/v2/Users", "/scim/v2/Users/{user_id:str}"


def present_user(row: ScimUserRow, root: str) -> Resource:
    body: Resource = {"schemas": [USER], "id": str(row.identity_id)}
    texts = {"externalId": row.external_id, "userName": row.user_name, "displayName": row.display_name}
    body |= {name: text for name, text in texts.items() if text}
    parts = {"givenName": row.first_name, "familyName": row.family_name}
    if any(parts.values()):
        body["name"] = {name: text for name, text in parts.items() if text}
    if row.email:
        body["emails"] = [{"value": row.email, "type": "work", "primary": True}]
    return body | {
        "active": row.active,
        "profileUrl": f"{root}{row.login}",
        "meta": {
            "resourceType": "User",
            "created": whole_seconds(row.created_at),
            "lastModified": whole_seconds(row.updated_at),
            "location": f"{root}scim/v2/Users/{row.identity_id}",
            "version": f'W/"{row.version}"',
        },
    }


@get(COLLECTION, policy=source_client(), **OPTIONS)
async def list_users(request: IdentityRequest) -> Response[bytes]:
    """List users, oldest first, at most 100 at once. `filter` is `eq` joined by `and`."""
    query = list_query(request, store.FILTERS)
    async with request.db.read() as db:
        rows, total = await store.list_page(db, request.resource.id, query.range, query.conditions)
    resources = [present_user(row, request.public_url) for row in rows]
    return list_answer(request, resources, total, query.range.offset + 1)


@post(COLLECTION, status_code=201, policy=source_client(), **OPTIONS)
async def create_user(request: IdentityRequest) -> Response[bytes]:
    """Create a user. Takes over an account that is already linked with the `externalId`, and no other one."""
    row = await users.create(client_of(request), read_person(await body_of(request)))
    return resource_answer(request, present_user(row, request.public_url), status=201)


@get(ONE, policy=source_client(), **OPTIONS)
async def get_user(request: IdentityRequest, user_id: str) -> Response[bytes]:
    """Return a user of the source."""
    async with request.db.read() as db:
        row = await store.get(db, request.resource.id, id_of(user_id))
    if row is None:
        raise NotFound
    return resource_answer(request, present_user(row, request.public_url))


@put(ONE, policy=source_client(), **OPTIONS)
async def replace_user(request: IdentityRequest, user_id: str) -> Response[bytes]:
    """Replace a user."""
    person = read_person(await body_of(request))
    row = await users.replace(
        client_of(request), id_of(user_id), lambda _row: person, version=version_of(request)
    )
    return resource_answer(request, present_user(row, request.public_url))


@patch(ONE, policy=source_client(), **OPTIONS)
async def patch_user(request: IdentityRequest, user_id: str) -> Response[bytes]:
    """Change attributes of a user."""
    body = await body_of(request)

    def changed(row: ScimUserRow) -> ScimPerson:
        values = values_of(row)
        apply_operations(values, body)
        return read_person(values)

    row = await users.replace(client_of(request), id_of(user_id), changed, version=version_of(request))
    return resource_answer(request, present_user(row, request.public_url))


@delete(ONE, policy=source_client(), **OPTIONS)
async def delete_user(request: IdentityRequest, user_id: str) -> None:
    """Deactivate the account of a user, and delete the user. The account keeps its repositories."""
    await users.delete(client_of(request), id_of(user_id), version=version_of(request))


routes = [list_users, create_user, get_user, replace_user, patch_user, delete_user]
