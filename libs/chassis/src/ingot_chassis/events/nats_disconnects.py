"""A client of nats-py that forgets what it had not sent when its connection is lost, and lets nobody wait for that.

nats-py writes it to the transport all the same, which is closed: on uvloop that is an error of the program, with a
traceback. Who waits until it is sent, since much waits before, waits for ever (docs/adr/0014).
"""

from nats.aio.client import Client


class NatsClient(Client):
    """For connections that are not made again by the client itself."""

    def _process_disconnect(self) -> None:
        super()._process_disconnect()
        self._pending = []
        self._pending_data_size = 0
        while self._flush_queue is not None and not self._flush_queue.empty():
            sent = self._flush_queue.get_nowait()
            if not sent.done():
                sent.set_result(None)
