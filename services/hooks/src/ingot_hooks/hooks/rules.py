"""Settings of a hook, and its deletion."""

import json
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from ingot_chassis.clock import now
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Conflict, Invalid, NotFound
from ingot_chassis.security.principal import Principal
from ingot_chassis.security.sealing import Seal
from ingot_hooks.catalog.rules.secrets import secret_columns, valid_authorization
from ingot_hooks.catalog.store import queries as store
from ingot_hooks.catalog.store.queries import HookRow, Owner
from ingot_hooks.catalog.store.tables import ContentType, HookType
from ingot_hooks.deliveries.store import queries as deliveries
from ingot_hooks.payloads.rules import subscriptions

CHAT_KEYS = {
    HookType.SLACK: ("channel", "username", "icon_url", "color"),
    HookType.DISCORD: ("username", "icon_url"),
}
"""The keys of ``config`` that a type has in addition to its target."""
TYPES_OF_NAMES = {"forgejo": HookType.GITEA}
"""Other names of types. Deliveries have the headers of both names."""
MAX_HOOKS = 200
MAX_URL = 2048
MAX_SETTING = 500
"""Maximum number of characters of a setting."""


async def create(
    tx: Tx,
    seal: Seal,
    principal: Principal,
    owner: Owner,
    *,
    name: str,
    type_: str,
    config: Mapping[str, str],
    events: Sequence[str],
    active: bool,
    branch_filter: str,
    authorization: str,
) -> HookRow:
    """Create a hook. Raises Invalid.

    Raises Conflict if the owner already has ``MAX_HOOKS`` hooks, because each event costs a row per hook.
    """
    hook_type = _valid_type(type_)
    for key in ("url", "content_type"):
        if not config.get(key):
            raise Invalid.field(f"config.{key}", "required", "is required")
    if hook_type == HookType.SLACK and not config.get("channel", "").strip():
        raise Invalid.field("config.channel", "required", "is required for slack")
    await tx.advisory_lock(f"hooks of {owner}")
    if await store.count(tx, owner) >= MAX_HOOKS:
        raise Conflict(f"there are {MAX_HOOKS} hooks, which is the limit; delete one first")
    return await store.add(
        tx,
        owner,
        **_url_columns(config["url"]),
        name=name,
        type=hook_type,
        content_type=_valid_content_type(config["content_type"]),
        settings=json.dumps(_chat_settings(hook_type, config)),
        sealed_secret=seal.close(config.get("secret", "")),
        sealed_authorization=seal.close(valid_authorization(authorization)),
        events=json.dumps(_valid_events(events)),
        branch_filter=branch_filter,
        active=active,
        **_responsible(principal),
        disabled_reason="",
    )


async def edit(
    tx: Tx,
    seal: Seal,
    principal: Principal,
    owner: Owner,
    hook_id: int,
    fields: Mapping[str, Any],
    config: Mapping[str, str],
    *,
    rotation: timedelta,
) -> HookRow:
    """Change a hook. ``fields`` and ``config`` have the fields of the ``EditHookOption`` in the request.

    A replaced secret continues to sign for ``rotation``. A user who changes the URL or activates the hook
    becomes its responsible user. Raises NotFound or Invalid.
    """
    hook = await store.get(tx, owner, hook_id)
    if hook is None:
        raise NotFound
    columns = _config_columns(seal, hook, config, rotation)
    if "events" in fields:
        columns["events"] = json.dumps(_valid_events(fields["events"]))
    url_changed = columns.get("url", hook.url) != hook.url
    columns |= _authorization_columns(seal, fields.get("authorization_header"), url_changed=url_changed)
    columns |= {field: fields[field] for field in ("name", "branch_filter") if field in fields}
    active = fields.get("active")
    if active is not None:
        columns["active"] = active
    if url_changed or (active and not hook.active):
        columns |= _responsible(principal)
    if active:
        columns |= {"failing_since": None, "disabled_reason": ""}
    row = await store.change(tx, hook.id, **columns)
    if row is None:
        raise NotFound
    if url_changed:
        await deliveries.move_pending(tx, hook.id)
    if active is False:
        await deliveries.end_pending(tx, [hook.id], "the hook was switched off")
    return row


async def remove(tx: Tx, owner: Owner, hook_id: int) -> None:
    """Delete a hook and cancel its pending deliveries. Raises NotFound."""
    removed = await store.remove(tx, owner, hook_id)
    if not removed:
        raise NotFound
    await deliveries.end_pending(tx, removed, "the hook was deleted")


async def remove_all(tx: Tx, owner: Owner, reason: str) -> None:
    """Delete every hook of a deleted owner, and cancel their pending deliveries with ``reason``."""
    await deliveries.end_pending(tx, await store.remove(tx, owner), reason)


def _responsible(principal: Principal) -> dict[str, Any]:
    """Return the columns that make the caller, whose permission was just checked, the responsible user."""
    return {"creator_id": principal.id, "doubted_at": None}


def _config_columns(
    seal: Seal, hook: HookRow, config: Mapping[str, str], rotation: timedelta
) -> dict[str, Any]:
    """Return the columns that ``config`` changes. ``channel`` replaces all chat settings. Raises Invalid."""
    columns: dict[str, Any] = {}
    if "url" in config:
        columns |= _url_columns(config["url"])
    if "content_type" in config:
        columns["content_type"] = _valid_content_type(config["content_type"])
    if "secret" in config:
        columns |= secret_columns(seal, hook, config["secret"], former_until=now() + rotation)
    if "channel" in config:
        columns["settings"] = json.dumps(_chat_settings(hook.type, config))
    return columns


def _authorization_columns(seal: Seal, header: str | None, *, url_changed: bool) -> dict[str, Any]:
    """Return the column of a new ``header``. Without a new header, a new URL removes the header.

    Raises Invalid.
    """
    if header is not None:
        return {"sealed_authorization": seal.close(valid_authorization(header))}
    # Otherwise a writer could have the header sent to an endpoint of their own, and read it there.
    return {"sealed_authorization": None} if url_changed else {}


def _url_columns(url: str) -> dict[str, str]:
    """Return the columns of the URL and of its endpoint (host and port). Raises Invalid."""
    try:
        parts = urlsplit(url)
        port, host = parts.port, parts.hostname or ""
    except ValueError as error:
        raise Invalid.field("config.url", "invalid", f"is not a URL: {error}") from error
    unusable = any(char.isspace() or ord(char) < 32 for char in url)
    if parts.scheme not in ("http", "https") or not host or unusable:
        raise Invalid.field("config.url", "invalid", "is not a URL of http or https")
    if port == 0:
        raise Invalid.field("config.url", "invalid", "names port 0, where nothing can listen")
    if port is None:
        port = 443 if parts.scheme == "https" else 80
    return {"url": url, "endpoint": f"{host}:{port}"[:300]}


def _valid_events(names: Sequence[str]) -> list[str]:
    """Return the events that ``names`` subscribe to.

    Raises Invalid if there are none, because the hook would never fire.
    """
    events = subscriptions.subscribed_events(names)
    if not events:
        raise Invalid.field("events", "unknown", "names no event that exists")
    return events


def _valid_type(name: str) -> HookType:
    """Return the type with that name. Raises Invalid."""
    try:
        return HookType(TYPES_OF_NAMES.get(name, name))
    except ValueError:
        raise Invalid.field("type", "unsupported", f"{name!r} is not one of {', '.join(HookType)}") from None


def _valid_content_type(name: str) -> ContentType:
    """Return the content type with that name. Raises Invalid."""
    try:
        return ContentType(name)
    except ValueError:
        raise Invalid.field("config.content_type", "invalid", f"{name!r} is neither json nor form") from None


def _chat_settings(hook_type: HookType, config: Mapping[str, str]) -> dict[str, str]:
    """Return the chat settings in ``config``. Raises Invalid."""
    settings = {key: config.get(key, "").strip() for key in CHAT_KEYS.get(hook_type, ())}
    for key, value in settings.items():
        if len(value) > MAX_SETTING:
            raise Invalid.field(f"config.{key}", "too_long", f"is longer than {MAX_SETTING} characters")
    return settings
