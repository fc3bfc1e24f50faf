"""Owned by hooks: the events that it emits."""

import msgspec


class HooksForgotten(msgspec.Struct, frozen=True, kw_only=True, tag="hooks.repository.forgotten.v1"):
    """The hooks of a repository that was deleted are gone, and what waited for them has ended."""

    repository_id: int


Event = HooksForgotten
