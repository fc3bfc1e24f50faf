"""Events of hooks."""

import msgspec


class HooksForgotten(msgspec.Struct, frozen=True, kw_only=True, tag="hooks.repository.forgotten.v1"):
    """The hooks of a deleted repository are deleted, and its pending deliveries are cancelled."""

    repository_id: int


class DeliveryRequested(msgspec.Struct, frozen=True, kw_only=True, tag="hooks.delivery.requested.v1"):
    """A person sends deliveries of a hook again, or a test. Wakes the workers."""

    hook_id: int


Event = HooksForgotten | DeliveryRequested
