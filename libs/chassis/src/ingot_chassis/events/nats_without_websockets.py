"""Lets nats-py find no aiohttp: it imports it in case NATS is reached over a websocket, and does without it.

That import is an eighth of the time in which a service starts that does not use it itself (docs/adr/0014).
"""

import sys

if "aiohttp" not in sys.modules:
    sys.modules["aiohttp"] = None  # type: ignore[assignment]
    import nats.aio.transport  # noqa: F401

    del sys.modules["aiohttp"]
