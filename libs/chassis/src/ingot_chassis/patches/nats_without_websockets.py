"""Patch of nats-py 2.16: import it without aiohttp.

nats-py imports aiohttp in case NATS is reached over a websocket, and works without it. That import is an
eighth of the start of a service that does not use aiohttp itself. `INGOT_NATS_URL` cannot be `ws://` while
this patch exists. Remove it when nats-py imports aiohttp on first use (ADR 14).
"""

import sys

if "aiohttp" not in sys.modules:
    sys.modules["aiohttp"] = None  # type: ignore[assignment]
    import nats.aio.transport  # noqa: F401

    del sys.modules["aiohttp"]
