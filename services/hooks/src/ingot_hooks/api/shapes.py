"""Requests and answers that hooks of repositories and of organizations have in common."""

import json
from datetime import datetime
from typing import Annotated

import msgspec

from ingot_hooks.store.hooks import HookRow

Filter = Annotated[str, msgspec.Meta(max_length=255)]
Names = Annotated[list[str], msgspec.Meta(max_length=100)]
Authorization = Annotated[str, msgspec.Meta(max_length=2000)]
Config = Annotated[dict[str, str | None], msgspec.Meta(max_length=50)]


class CreateHook(msgspec.Struct, kw_only=True):
    """`config` needs `url` and `content_type` (json or form).

    `secret` and `authorization_header` are optional and never shown again; the latter is sent as `Authorization`.
    """

    type: str
    config: Config
    events: Names = []
    active: bool = False
    branch_filter: Filter = ""
    authorization_header: Authorization = ""


class EditHook(msgspec.Struct, kw_only=True):
    """What is absent stays. An empty list of `events` means push alone.

    A secret that is replaced goes on signing beside the new one for a while. `authorization_header` is dropped when
    `config.url` changes and none is given.
    """

    config: Config = {}
    events: Names | None = None
    active: bool | None = None
    branch_filter: Filter | None = None
    authorization_header: Authorization | None = None


class Hook(msgspec.Struct, kw_only=True):
    """`disabled_reason` says why the server switched the hook off, and is empty otherwise."""

    id: int
    type: str
    config: dict[str, str]
    events: list[str]
    active: bool
    updated_at: datetime
    created_at: datetime
    branch_filter: str
    disabled_reason: str


def view(row: HookRow) -> Hook:
    shown = json.loads(row.settings) if row.type == "slack" else {}
    return Hook(
        id=row.id,
        type=row.type,
        config={"url": row.url, "content_type": row.content_type, **shown},
        events=json.loads(row.events),
        active=row.active,
        updated_at=row.updated_at,
        created_at=row.created_at,
        branch_filter=row.branch_filter,
        disabled_reason=row.disabled_reason,
    )


def given(config: dict[str, str | None]) -> dict[str, str]:
    """The keys that hold something."""
    return {key: value for key, value in config.items() if value is not None}
