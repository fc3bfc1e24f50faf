"""When a hook is given up."""

from datetime import datetime, timedelta

from ingot_hooks.core.schedule import Verdict


def reason_to_switch_off(
    verdict: Verdict, error: str, *, failing_since: datetime | None, at: datetime, limit: timedelta
) -> str:
    """Why the hook must rest after a failed attempt, in words; empty when it goes on."""
    if verdict.gone:
        return "the endpoint answered 410 Gone"
    if failing_since is not None and at - failing_since >= limit:
        return f"every delivery has failed since {failing_since:%Y-%m-%d %H:%M} UTC, lastly: {error}"
    return ""
