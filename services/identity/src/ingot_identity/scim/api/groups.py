"""Routes for groups of SCIM (RFC 7643, section 4.2). A token reaches only the groups of its source."""

from litestar import Response, delete, get, patch, post, put

from ingot_chassis.db.driver import Executor
from ingot_chassis.errors import NotFound
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.accounts.rules.presenter import whole_seconds
from ingot_identity.scim.api.responses import (
    OPTIONS,
    Resource,
    body_of,
    client_of,
    is_left_out,
    list_answer,
    list_query,
    resource_answer,
    source_client,
    version_of,
)
from ingot_identity.scim.rules import groups
from ingot_identity.scim.rules.groups import ScimGroup, read_group, values_of
from ingot_identity.scim.rules.ids import id_of
from ingot_identity.scim.rules.patches import apply_operations
from ingot_identity.scim.rules.schemas import GROUP
from ingot_identity.scim.store import groups as store
from ingot_identity.scim.store.tables import ScimGroupRow, ScimMemberRow

COLLECTION, ONE = "/scim/v2/Groups", "/scim/v2/Groups/{group_id:str}"


def present_group(row: ScimGroupRow, members: list[ScimMemberRow], root: str) -> Resource:
    body: Resource = {"schemas": [GROUP], "id": str(row.id), "displayName": row.display_name}
    if row.external_id:
        body["externalId"] = row.external_id
    users = f"{root}scim/v2/Users/"
    return body | {
        "members": [
            {
                "value": str(member.identity_id),
                "$ref": f"{users}{member.identity_id}",
                "display": member.user_name,
                "type": "User",
            }
            for member in members
        ],
        "meta": {
            "resourceType": "Group",
            "created": whole_seconds(row.created_at),
            "lastModified": whole_seconds(row.updated_at),
            "location": f"{root}scim/v2/Groups/{row.id}",
            "version": f'W/"{row.version}"',
        },
    }


async def _present(request: IdentityRequest, db: Executor, rows: list[ScimGroupRow]) -> list[Resource]:
    """Return groups with their members, unless the query excludes members."""
    members: dict[int, list[ScimMemberRow]] = {row.id: [] for row in rows}
    if rows and not is_left_out(request, "members"):
        for member in await store.list_members(db, list(members)):
            members[member.group_id].append(member)
    return [present_group(row, members[row.id], request.public_url) for row in rows]


async def _one(request: IdentityRequest, row: ScimGroupRow, *, status: int = 200) -> Response[bytes]:
    async with request.db.read() as db:
        (body,) = await _present(request, db, [row])
    return resource_answer(request, body, status=status)


@get(COLLECTION, policy=source_client(), **OPTIONS)
async def list_groups(request: IdentityRequest) -> Response[bytes]:
    """List groups, oldest first, at most 100 at once. `filter` is `eq` joined by `and`."""
    query = list_query(request, store.FILTERS)
    async with request.db.read() as db:
        rows, total = await store.list_page(db, request.resource.id, query.range, query.conditions)
        resources = await _present(request, db, list(rows))
    return list_answer(request, resources, total, query.range.offset + 1)


@post(COLLECTION, status_code=201, policy=source_client(), **OPTIONS)
async def create_group(request: IdentityRequest) -> Response[bytes]:
    """Create a group. The mapping of the source gives teams to its members."""
    row = await groups.create(client_of(request), read_group(await body_of(request)))
    return await _one(request, row, status=201)


@get(ONE, policy=source_client(), **OPTIONS)
async def get_group(request: IdentityRequest, group_id: str) -> Response[bytes]:
    """Return a group of the source."""
    async with request.db.read() as db:
        row = await store.get(db, request.resource.id, id_of(group_id))
    if row is None:
        raise NotFound
    return await _one(request, row)


@put(ONE, policy=source_client(), **OPTIONS)
async def replace_group(request: IdentityRequest, group_id: str) -> Response[bytes]:
    """Replace a group."""
    group = read_group(await body_of(request))
    row = await groups.replace(
        client_of(request), id_of(group_id), lambda _row, _members: group, version=version_of(request)
    )
    return await _one(request, row)


@patch(ONE, policy=source_client(), **OPTIONS)
async def patch_group(request: IdentityRequest, group_id: str) -> Response[bytes]:
    """Change a group, such as its members."""
    body = await body_of(request)

    def changed(row: ScimGroupRow, members: list[ScimMemberRow]) -> ScimGroup:
        values = values_of(row, members)
        apply_operations(values, body)
        return read_group(values)

    row = await groups.replace(client_of(request), id_of(group_id), changed, version=version_of(request))
    return await _one(request, row)


@delete(ONE, policy=source_client(), **OPTIONS)
async def delete_group(request: IdentityRequest, group_id: str) -> None:
    """Delete a group. Rights from the group end."""
    await groups.delete(client_of(request), id_of(group_id), version=version_of(request))


routes = [list_groups, create_group, get_group, replace_group, patch_group, delete_group]
