"""Patch of nats-py 2.16: drop unsent data when the connection is lost.

nats-py writes unsent data to the closed transport, which uvloop reports as an error with a traceback. A
caller that waits for the flush waits forever. Remove the patch when nats-py drops the data and wakes the
waiters (ADR 14).
"""

from nats.aio.client import Client


class NatsClient(Client):
    """A client that drops unsent data when its connection is lost. It does not reconnect by itself."""

    def _process_disconnect(self) -> None:
        super()._process_disconnect()
        self._pending = []
        self._pending_data_size = 0
        while self._flush_queue is not None and not self._flush_queue.empty():
            sent = self._flush_queue.get_nowait()
            if not sent.done():
                sent.set_result(None)
