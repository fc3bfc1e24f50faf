"""Repeated checks of the right to read while a response is sent."""

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from ingot_chassis.errors import ApiError, Denied, NotFound, Unauthenticated

log = structlog.get_logger()

DECIDE_AGAIN_SECONDS = 3.0
"""Seconds between two checks of access during a response. Shorter than the lifetime of a positive check."""
RenewReader = Callable[[], Awaitable[object]]
"""Checks the access again with the same credential. Raises the ApiError for which a response is refused."""


async def refusal(renew: RenewReader) -> ApiError:
    """Wait until read access has ended, and return the error that denies it.

    Access is checked every 3 s. A check that fails for another reason is repeated.
    """
    while True:
        await asyncio.sleep(DECIDE_AGAIN_SECONDS)
        try:
            await renew()
        except (NotFound, Unauthenticated, Denied) as error:
            return error
        except Exception as error:  # noqa: BLE001 - while identity or the database is away, answers go on
            log.warning("right to read not decided about again", error=repr(error))
