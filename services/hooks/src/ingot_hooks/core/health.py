"""When a hook is given up for its endpoint's sake. What waits for it then has failed, and can be sent again."""

from datetime import datetime, timedelta

from ingot_hooks.core import rights
from ingot_hooks.core.schedule import Verdict


def reason_to_switch_off(
    verdict: Verdict, error: str, *, failing_since: datetime | None, at: datetime, limit: timedelta
) -> str:
    """Why the hook must rest after a failed attempt, in words; empty when it goes on.

    Long failure counts where the schedule of a delivery has ended: before that, the attempt may have been the first
    in a long time.
    """
    if verdict.gone:
        return "the endpoint answered 410 Gone"
    if verdict.state == "failed" and failing_since is not None and at - failing_since >= limit:
        return f"every delivery has failed since {failing_since:%Y-%m-%d %H:%M} UTC, lastly: {error}"
    return ""


def was_given_up(disabled_reason: str) -> bool:
    """Whether that is why a hook is off: no right was lost, and nobody switched it off."""
    return disabled_reason not in ("", rights.LOST_REPOSITORY, rights.LOST_ORGANIZATION)
