"""What may be set on a hook, and the ends of hooks."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from ingot_chassis.database import Tx
from ingot_chassis.errors import Conflict, Invalid, NotFound
from ingot_chassis.principal import Principal
from ingot_chassis.sealing import Seal, Unreadable
from ingot_chassis.tables import now
from ingot_hooks.core import subscriptions
from ingot_hooks.core.bodies import TYPES
from ingot_hooks.core.signing import CONTENT_TYPES
from ingot_hooks.store import deliveries
from ingot_hooks.store import hooks as store
from ingot_hooks.store.deliveries import DeliveryRow
from ingot_hooks.store.hooks import HookRow, Owner

SLACK_KEYS = ("channel", "username", "icon_url", "color")
MOST_HOOKS = 200
MOST_URL = 2048
MOST_SECRET = 255
MOST_SETTING = 500
MOST_AUTHORIZATION = 1000
"""Characters."""


async def create(
    tx: Tx,
    seal: Seal,
    who: Principal,
    owner: Owner,
    *,
    type_: str,
    config: Mapping[str, str],
    events: Sequence[str],
    active: bool,
    branch_filter: str,
    authorization: str,
) -> HookRow:
    """Create a hook. Raises Invalid, or Conflict when there are too many: each event is written once per hook."""
    if type_ not in TYPES:
        raise Invalid.field("type", "unsupported", f"{type_!r} is not one of {', '.join(TYPES)}")
    for key in ("url", "content_type"):
        if not config.get(key):
            raise Invalid.field(f"config.{key}", "required", "is required")
    if type_ == "slack" and not config.get("channel", "").strip():
        raise Invalid.field("config.channel", "required", "is required for slack")
    await tx.alone_with(f"hooks of {owner}")
    if await store.count(tx, owner) >= MOST_HOOKS:
        raise Conflict(f"there are {MOST_HOOKS} hooks, and no more than that may be")
    return await store.add(
        tx,
        owner,
        **target(config["url"]),
        type=type_,
        content_type=known_content_type(config["content_type"]),
        settings=json.dumps(chat_settings(type_, config)),
        sealed_secret=seal.close(checked_secret(config.get("secret", ""))),
        sealed_authorization=seal.close(checked_authorization(authorization)),
        events=json.dumps(known_events(events)),
        branch_filter=branch_filter,
        active=active,
        **_answering(who),
        disabled_reason="",
    )


async def edit(
    tx: Tx,
    seal: Seal,
    who: Principal,
    owner: Owner,
    hook_id: int,
    *,
    config: Mapping[str, str],
    events: Sequence[str] | None,
    active: bool | None,
    branch_filter: str | None,
    authorization: str | None,
    rotation: timedelta,
) -> HookRow:
    """Change a hook: what is None stays, as its type does.

    A replaced secret goes on signing for ``rotation``. Whoever aims the hook elsewhere or switches it on answers
    for it from then on. Raises NotFound or Invalid.
    """
    hook = await store.get(tx, owner, hook_id)
    if hook is None:
        raise NotFound
    values = _changed_config(seal, hook, config, now() + rotation)
    if events is not None:
        values["events"] = json.dumps(known_events(events))
    aimed_elsewhere = values.get("url", hook.url) != hook.url
    values |= _changed_authorization(seal, authorization, aimed_elsewhere=aimed_elsewhere)
    if aimed_elsewhere or (active and not hook.active):
        values |= _answering(who)
    if branch_filter is not None:
        values["branch_filter"] = branch_filter
    if active is not None:
        values["active"] = active
    if active:
        values |= {"failing_since": None, "disabled_reason": ""}
    changed = await store.change(tx, hook.id, **values)
    if changed is None:
        raise NotFound
    if aimed_elsewhere:
        await deliveries.aim_pending(tx, hook.id)
    if active is False:
        await deliveries.end_pending(tx, [hook.id], "the hook was switched off")
    return changed


def _answering(who: Principal) -> dict[str, Any]:
    """The columns that say who answers for a hook, freshly allowed to."""
    return {"creator_id": who.id, "doubted_at": None}


def _changed_config(
    seal: Seal, hook: HookRow, config: Mapping[str, str], former_until: datetime
) -> dict[str, Any]:
    """The columns that ``config`` changes; the settings of a chat are written together. Raises Invalid."""
    values: dict[str, Any] = {}
    if "url" in config:
        values |= target(config["url"])
    if "content_type" in config:
        values["content_type"] = known_content_type(config["content_type"])
    if "secret" in config:
        values |= _changed_secret(seal, hook, checked_secret(config["secret"]), former_until)
    if "channel" in config:
        values["settings"] = json.dumps(chat_settings(hook.type, config))
    return values


def _changed_authorization(seal: Seal, header: str | None, *, aimed_elsewhere: bool) -> dict[str, Any]:
    """The column of the header. Raises Invalid."""
    if header is not None:
        return {"sealed_authorization": seal.close(checked_authorization(header))}
    # Otherwise somebody could learn the header, which nobody is shown, by having it sent to themselves.
    return {"sealed_authorization": None} if aimed_elsewhere else {}


def _changed_secret(seal: Seal, hook: HookRow, secret: str, former_until: datetime) -> dict[str, Any]:
    """The columns of a new secret; the one before stays valid until then, unless secrets are given up."""
    try:
        if secret and secret == seal.open(hook.sealed_secret):
            return {}
    except Unreadable:
        return {"sealed_secret": seal.close(secret), "sealed_former_secret": None, "former_until": None}
    former = hook.sealed_secret if secret else None
    return {
        "sealed_secret": seal.close(secret),
        "sealed_former_secret": former,
        "former_until": former_until if former else None,
    }


def valid_secrets(seal: Seal, hook: HookRow, at: datetime) -> list[str]:
    """The secrets that sign at that time, newest first. Raises Unreadable."""
    secrets = [seal.open(hook.sealed_secret)]
    if hook.former_until is not None and at < hook.former_until:
        secrets.append(seal.open(hook.sealed_former_secret))
    return [secret for secret in secrets if secret]


async def remove(tx: Tx, owner: Owner, hook_id: int) -> None:
    """Delete a hook; what waits for it is cancelled. Raises NotFound."""
    removed = await store.remove(tx, owner, hook_id)
    if not removed:
        raise NotFound
    await deliveries.end_pending(tx, removed, "the hook was deleted")


async def remove_all(tx: Tx, owner: Owner, reason: str) -> None:
    """Delete every hook of an owner that is gone."""
    await deliveries.end_pending(tx, await store.remove(tx, owner), reason)


async def redeliver(tx: Tx, hook_id: int, delivery_id: str) -> DeliveryRow:
    """Send an ended delivery once more, under its id. Raises NotFound, or Conflict while it is under way."""
    if await deliveries.get(tx, hook_id, delivery_id) is None:
        raise NotFound
    row = await deliveries.again(tx, hook_id, delivery_id)
    if row is None:
        raise Conflict("the delivery is still under way")
    return row


def target(url: str) -> dict[str, str]:
    """The columns of a target: the URL, and the host and port that its deliveries share with others. Raises Invalid."""
    try:
        parts = urlsplit(url)
        port, host = parts.port, parts.hostname or ""
    except ValueError as error:
        raise Invalid.field("config.url", "invalid", f"is not a URL: {error}") from error
    unusable = len(url) > MOST_URL or any(char.isspace() or ord(char) < 32 for char in url)
    if parts.scheme not in ("http", "https") or not host or unusable:
        raise Invalid.field("config.url", "invalid", "is not a URL of http or https")
    if port == 0:
        raise Invalid.field("config.url", "invalid", "names port 0, where nothing can listen")
    if port is None:
        port = 443 if parts.scheme == "https" else 80
    return {"url": url, "endpoint": f"{host}:{port}"[:300]}


def known_events(names: Sequence[str]) -> list[str]:
    """What naming ``names`` subscribes to. Raises Invalid when none of them is known: such a hook would never fire."""
    selected = subscriptions.selected(names)
    if not selected:
        raise Invalid.field("events", "unknown", "names no event that exists")
    return selected


def known_content_type(name: str) -> str:
    """Raises Invalid."""
    if name not in CONTENT_TYPES:
        raise Invalid.field("config.content_type", "invalid", f"{name!r} is neither json nor form")
    return name


def checked_secret(secret: str) -> str:
    """Raises Invalid."""
    if len(secret) > MOST_SECRET:
        raise Invalid.field("config.secret", "too_long", f"is longer than {MOST_SECRET} characters")
    return secret


def checked_authorization(header: str) -> str:
    """Raises Invalid."""
    value = header.strip()
    if len(value) > MOST_AUTHORIZATION:
        raise Invalid.field(
            "authorization_header", "too_long", f"is longer than {MOST_AUTHORIZATION} characters"
        )
    if not value.isascii() or not value.isprintable():
        raise Invalid.field("authorization_header", "invalid", "holds a character that no header can")
    return value


def chat_settings(type_: str, config: Mapping[str, str]) -> dict[str, str]:
    """What a kind of hook keeps beside its target: the four keys of slack, the name and picture of discord."""
    keys = {"slack": SLACK_KEYS, "discord": ("username", "icon_url")}.get(type_, ())
    kept = {key: config.get(key, "").strip() for key in keys}
    for key, value in kept.items():
        if len(value) > MOST_SETTING:
            raise Invalid.field(f"config.{key}", "too_long", f"is longer than {MOST_SETTING} characters")
    return kept
