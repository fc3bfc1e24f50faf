"""Events between services: written into a transaction, sent by a relay over NATS JetStream, applied by consumers."""

import sys

if "aiohttp" not in sys.modules:
    # nats-py imports it in case NATS is reached over a websocket, and does without it where it is not installed. It is
    # an eighth of the time in which a service starts that does not use it (docs/adr/0014).
    sys.modules["aiohttp"] = None  # type: ignore[assignment]
    import nats.aio.transport  # noqa: F401

    del sys.modules["aiohttp"]
