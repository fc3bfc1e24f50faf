"""Routes for sources, for site administrators. Responses never contain secrets."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

import msgspec
from litestar import Response, delete, get, patch, post
from msgspec import UNSET, UnsetType

from ingot_chassis.db.driver import Executor
from ingot_chassis.errors import NotFound
from ingot_chassis.http.patch import set_fields
from ingot_chassis.http.pictures import read_picture
from ingot_chassis.http.policy import admin
from ingot_contracts.limits import Description, Name
from ingot_identity.accounts.api.fields import Text100
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.accounts.rules.presenter import whole_seconds
from ingot_identity.sources.components import SourceComponents
from ingot_identity.sources.rules import sources
from ingot_identity.sources.rules.configs import Config, ConfigFields, read_config
from ingot_identity.sources.store import sources as store
from ingot_identity.sources.store.tables import SourceRow

MOST_ICON_BYTES = 65_536
Icon = Annotated[str, msgspec.Meta(max_length=MOST_ICON_BYTES * 3 // 2)]


class CreateSourceOption(msgspec.Struct, kw_only=True):
    """A new source. `name` is a part of URLs and cannot change. `config` has the fields of its `kind`.

    `secret` is sealed and never shown. `icon` is a PNG, JPEG, GIF or WebP in base64.
    """

    name: Name
    title: Text100 = ""
    enabled: bool = True
    secret: Description = ""
    icon: Icon = ""
    config: ConfigFields


class EditSourceOption(msgspec.Struct, kw_only=True):
    """A change of a source. Absent fields keep their values, also in `config`.

    An empty `secret` or `icon` removes it.
    """

    title: Text100 | UnsetType = UNSET
    enabled: bool | UnsetType = UNSET
    secret: Description | UnsetType = UNSET
    icon: Icon | UnsetType = UNSET
    config: ConfigFields | UnsetType = UNSET


class Source(msgspec.Struct, kw_only=True):
    """A source. `from_settings`: the settings of the server declare it. It can be changed only there.

    A provider of OpenID Connect must be configured with `redirect_uri`, `backchannel_logout_uri` and
    `post_logout_redirect_uri`. A SCIM client must be configured with `scim_url`. `accounts` is the number of
    linked accounts.
    """

    id: int
    name: str
    title: str
    kind: str
    enabled: bool
    from_settings: bool
    has_secret: bool
    icon_url: str
    accounts: int
    redirect_uri: str
    backchannel_logout_uri: str
    post_logout_redirect_uri: str
    scim_url: str
    created_at: datetime
    updated_at: datetime
    config: Config


def present_source(row: SourceRow, root: str, accounts: int) -> Source:
    return Source(
        id=row.id,
        name=row.name,
        title=row.title,
        kind=row.kind,
        enabled=row.enabled,
        from_settings=row.from_settings,
        has_secret=row.sealed_secret is not None,
        icon_url=f"{root}login/sources/{row.name}/icon" if row.icon_type else "",
        accounts=accounts,
        redirect_uri=f"{root}login/oidc/{row.name}/callback",
        backchannel_logout_uri=f"{root}login/oidc/{row.name}/logout",
        post_logout_redirect_uri=root,
        scim_url=f"{root}scim/v2",
        created_at=whole_seconds(row.created_at),
        updated_at=whole_seconds(row.updated_at),
        config=read_config(row.config),
    )


@get("/api/v1/admin/auths", policy=admin("read:admin"), operation_id="adminListAuths", tags=["admin"])
async def list_sources(request: IdentityRequest) -> Response[list[Source]]:
    """List sources of accounts: other systems that sign users in.

    Source 0, which is this server, is not listed.
    """
    page = request.page()
    async with request.db.read() as db:
        rows, total = await store.list_page(db, page)
        listed = await _present(request, db, rows)
    return Response(listed, headers=request.page_headers(page, total))


@post("/api/v1/admin/auths", policy=admin(), operation_id="adminCreateAuth", tags=["admin"], status_code=201)
async def create_source(request: IdentityRequest, data: CreateSourceOption) -> Source:
    """Add a source."""
    columns = _columns(request, {"secret": data.secret, "icon": data.icon})
    async with request.db.transaction() as tx:
        row = await sources.create(
            tx, name=data.name, title=data.title, config=data.config, enabled=data.enabled, **columns
        )
        await request.audit(tx, "source.create", f"source {row.name}", id=row.id, kind=row.kind)
        return (await _present(request, tx, [row]))[0]


@get(
    "/api/v1/admin/auths/{source_id:int}",
    policy=admin("read:admin"),
    operation_id="adminGetAuth",
    tags=["admin"],
)
async def get_source(request: IdentityRequest, source_id: int) -> Source:
    """Return a source."""
    async with request.db.read() as db:
        row = await store.get(db, source_id)
        if row is None:
            raise NotFound
        return (await _present(request, db, [row]))[0]


@patch("/api/v1/admin/auths/{source_id:int}", policy=admin(), operation_id="adminEditAuth", tags=["admin"])
async def edit_source(request: IdentityRequest, source_id: int, data: EditSourceOption) -> Source:
    """Change a source. Absent fields keep their values."""
    changes = _columns(request, set_fields(data))
    async with request.db.transaction() as tx:
        row = await sources.get_source(tx, source_id)
        sources.require_editable(row)
        row = await sources.edit(tx, row, changes)
        fields = sorted({*set_fields(data)} | {f"config.{name}" for name in changes.get("config", ())})
        await request.audit(tx, "source.edit", f"source {row.name}", id=row.id, fields=fields)
        return (await _present(request, tx, [row]))[0]


@delete("/api/v1/admin/auths/{source_id:int}", policy=admin(), operation_id="adminDeleteAuth", tags=["admin"])
async def delete_source(request: IdentityRequest, source_id: int) -> None:
    """Delete a source without linked accounts."""
    async with request.db.transaction() as tx:
        row = await sources.get_source(tx, source_id)
        sources.require_editable(row)
        await sources.delete(tx, row)
        await request.audit(tx, "source.delete", f"source {row.name}", id=row.id)


def _columns(request: IdentityRequest, fields: dict[str, Any]) -> dict[str, Any]:
    """Return the columns for these fields. Seals secrets and decodes pictures. Raises Invalid."""
    columns = {name: value for name, value in fields.items() if name not in ("secret", "icon")}
    if "secret" in fields:
        columns["sealed_secret"] = request.part(SourceComponents).secrets.close(fields["secret"])
    if "icon" in fields:
        icon = read_picture(fields["icon"], MOST_ICON_BYTES, field="icon") if fields["icon"] else None
        columns["icon"] = icon.content if icon else None
        columns["icon_type"] = icon.media_type if icon else ""
    return columns


async def _present(request: IdentityRequest, db: Executor, rows: Sequence[SourceRow]) -> list[Source]:
    counts = await store.count_identities(db, [row.id for row in rows])
    return [present_source(row, request.public_url, counts.get(row.id, 0)) for row in rows]


routes = [list_sources, create_source, get_source, edit_source, delete_source]
