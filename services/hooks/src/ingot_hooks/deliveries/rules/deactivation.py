"""The rule that switches a hook off because its endpoint fails.

The hook's pending deliveries then fail, and can be sent again.
"""

from datetime import datetime, timedelta
from urllib.parse import urlsplit

from ingot_chassis.db.transaction import Tx
from ingot_contracts.hooks.events import HookDeactivated
from ingot_hooks.catalog.rules.access import LOST_PERMISSIONS
from ingot_hooks.catalog.store.queries import HookRow
from ingot_hooks.deliveries.rules.schedule import AttemptResult
from ingot_hooks.deliveries.store.tables import DeliveryState


def deactivation_reason(
    result: AttemptResult, error: str, *, failing_since: datetime | None, at: datetime, limit: timedelta
) -> str:
    """Return the reason to switch the hook off after a failed attempt; empty if it stays active.

    A long failure counts only after the last attempt of a delivery. Before that, the attempt may have been
    the first in a long time.
    """
    if result.endpoint_removed:
        return "the endpoint answered 410 Gone"
    failed_for_good = result.state == DeliveryState.FAILED
    if failed_for_good and failing_since is not None and at - failing_since >= limit:
        return f"every delivery has failed since {failing_since:%Y-%m-%d %H:%M} UTC, lastly: {error}"
    return ""


def is_endpoint_failure(disabled_reason: str) -> bool:
    """True if a hook was switched off because of its endpoint, not by a user or a lost permission."""
    return disabled_reason not in ("", *LOST_PERMISSIONS)


def announce_deactivation(tx: Tx, hook: HookRow, reason: str) -> None:
    """Announce that a hook was switched off, for its responsible user."""
    event = HookDeactivated(
        hook_id=hook.id,
        creator_id=hook.creator_id,
        reason=reason,
        repository_id=hook.repository_id,
        owner_id=hook.organization_id,
        host=urlsplit(hook.url).hostname or "",
    )
    tx.emit(event, key=hook.id)
