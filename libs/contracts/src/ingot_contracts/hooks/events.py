"""Events of hooks."""

import msgspec


class HooksForgotten(msgspec.Struct, frozen=True, kw_only=True, tag="hooks.repository.forgotten.v1"):
    """The hooks of a deleted repository are deleted, and its pending deliveries are cancelled."""

    repository_id: int


class DeliveryRequested(msgspec.Struct, frozen=True, kw_only=True, tag="hooks.delivery.requested.v1"):
    """A person requested another delivery of a hook, or a test. Wakes the workers."""

    hook_id: int


class HookDeactivated(msgspec.Struct, frozen=True, kw_only=True, tag="hooks.hook.deactivated.v1"):
    """A hook was switched off because of its endpoint or a lost permission, not by a person.

    The hook belongs to a repository or an account. Without either it belongs to the server. ``host`` is the
    host of its endpoint. The URL is omitted, because it may contain a secret.
    """

    hook_id: int
    creator_id: int
    reason: str
    repository_id: int | None = None
    owner_id: int | None = None
    host: str = ""


Event = HooksForgotten | DeliveryRequested | HookDeactivated
