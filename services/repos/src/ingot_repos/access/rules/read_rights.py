"""Repeated checks of the right to read while a response is sent."""

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from ingot_chassis.errors import ApiError, Denied, NotFound, Unauthenticated

log = structlog.get_logger()

DECIDE_AGAIN_SECONDS = 3.0
"""An answer that runs longer is decided about again, each time. Less than a *yes* is good for."""
RenewReader = Callable[[], Awaitable[object]]
"""Decides again, with the same credential; raises the ApiError for which an answer does not begin."""


async def refusal(renew: RenewReader) -> ApiError:
    """Wait until the right to read has ended, and return the reason. A check that fails is repeated later."""
    while True:
        await asyncio.sleep(DECIDE_AGAIN_SECONDS)
        try:
            await renew()
        except (NotFound, Unauthenticated, Denied) as error:
            return error
        except Exception as error:  # noqa: BLE001 - while identity or the database is away, answers go on
            log.warning("right to read not decided about again", error=repr(error))
