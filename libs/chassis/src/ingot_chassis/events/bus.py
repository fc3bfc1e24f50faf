"""JetStream: transport of events between services. The database is the source of truth; a stream can be lost.

One stream per service (``INGOT_<SERVICE>``), and one durable pull consumer per pair of consuming and emitting
service. The first process that needs a stream or consumer creates it here, always with the same
configuration.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from datetime import datetime

import nats
import nats.errors
import nats.js.errors
import structlog
from nats.aio.msg import Msg
from nats.js import JetStreamContext
from nats.js.api import (
    AckPolicy,
    ConsumerConfig,
    ConsumerInfo,
    DeliverPolicy,
    RetentionPolicy,
    StorageType,
    StreamConfig,
)

from ingot_chassis.events.envelope import stream_of
from ingot_chassis.patches.nats_disconnects import NatsClient

log = structlog.get_logger()

KEEP_SECONDS = 7 * 24 * 3600
DUPLICATE_WINDOW = 600
ACK_WAIT = 5.0
"""Seconds until an unacknowledged message is redelivered, because its consumer is dead."""
FETCH_SECONDS = 30
"""Seconds to wait for a message. A lost connection ends the wait at once."""
REDELIVERY_SECONDS = 5
"""Seconds to wait for a message that NATS is known to have."""
CONNECT_SECONDS = 3
PUBLISH_SECONDS = 5
HEADER_BYTES = 200
"""Maximum bytes of the headers of a message. nats-server counts them as part of the message."""


class BusUnavailable(Exception):
    """NATS is unreachable. Unsent events stay in the outbox."""


class Bus:
    """A connection to NATS, reopened whenever it is lost."""

    def __init__(self, url: str, *, name: str, stream_replicas: int = 1, ack_wait: float = ACK_WAIT) -> None:
        self._url, self._name, self._replicas = url, name, stream_replicas
        self.ack_wait = ack_wait
        self._client: NatsClient | None = None
        self._connecting = asyncio.Lock()

    @property
    def is_connected(self) -> bool:
        return self._client is not None and self._client.is_connected

    async def connect(self) -> JetStreamContext:
        """Return the JetStream of the live connection. Raises BusUnavailable."""
        async with self._connecting:
            if self._client is None or not self._client.is_connected:
                await self._open()
        return self._live().jetstream(timeout=PUBLISH_SECONDS)

    def _live(self) -> NatsClient:
        if self._client is None or not self._client.is_connected:
            raise BusUnavailable("not connected")
        return self._client

    async def _open(self) -> None:
        await self.close()
        client = NatsClient()
        try:
            # nats-py would retry the first connection for ever, too. Here the caller decides how long to
            # wait.
            async with asyncio.timeout(CONNECT_SECONDS):
                await client.connect(
                    self._url,
                    name=self._name,
                    # nats-py's own reconnect would send the rest of a batch before the batch is repeated. It
                    # would also fetch new messages before the redelivered ones: out of order.
                    allow_reconnect=False,
                    connect_timeout=2,
                    ping_interval=10,
                    error_cb=_log_error,
                )
        except (OSError, TimeoutError, nats.errors.Error) as error:
            await self._quietly_closed(client)
            raise BusUnavailable(str(error)) from error
        self._client = client

    async def close(self) -> None:
        if self._client is not None:
            await self._quietly_closed(self._client)

    @staticmethod
    async def _quietly_closed(client: NatsClient) -> None:
        try:
            # A stopped nats-server does not read data that is still unsent.
            async with asyncio.timeout(CONNECT_SECONDS):
                await client.close()
        except (OSError, AssertionError, nats.errors.Error) as error:
            # nats-py asserts on a client whose first connection attempt failed. There is nothing to close
            # then.
            log.debug("closing a connection to NATS", error=repr(error))

    async def ensure_stream(self, service: str) -> datetime | None:
        """Create the stream of ``service`` if it is missing. Return its creation time in NATS."""
        js = await self.connect()
        name = stream_of(service)
        try:
            info = await js.stream_info(name)
        except nats.js.errors.NotFoundError:
            info = await js.add_stream(
                StreamConfig(
                    name=name,
                    subjects=[f"ingot.{service}.>"],
                    retention=RetentionPolicy.LIMITS,
                    storage=StorageType.FILE,
                    max_age=KEEP_SECONDS,
                    duplicate_window=DUPLICATE_WINDOW,
                    num_replicas=self._replicas,
                )
            )
        return info.created

    async def ensure_consumer(
        self, *, consumer: str, emitter: str, subjects: Iterable[str]
    ) -> JetStreamContext.PullSubscription:
        """Return ``consumer``'s durable subscription to events of ``emitter``.

        It is created or updated if necessary.
        """
        await self.ensure_stream(emitter)
        js = await self.connect()
        await js.add_consumer(
            stream_of(emitter),
            ConsumerConfig(
                durable_name=consumer,
                ack_policy=AckPolicy.EXPLICIT,
                ack_wait=self.ack_wait,
                max_ack_pending=1000,
                filter_subjects=sorted(subjects),
            ),
        )
        return await js.pull_subscribe_bind(durable=consumer, stream=stream_of(emitter))

    async def unacknowledged(self, consumer: ConsumerInfo, *, batch: int) -> AsyncGenerator[list[Msg]]:
        """Yield deliveries to ``consumer`` in order, from its first unacknowledged message on.

        They include later messages that are acknowledged, and may include new messages. A separate consumer
        reads them, because the durable consumer redelivers only after ``ack_wait``, and after newer messages.
        Raises TimeoutError.
        """
        if not (consumer.num_ack_pending and consumer.ack_floor and consumer.delivered):
            return
        js = await self.connect()
        own = await js.add_consumer(
            consumer.stream_name,
            ConsumerConfig(
                ack_policy=AckPolicy.NONE,
                deliver_policy=DeliverPolicy.BY_START_SEQUENCE,
                opt_start_seq=consumer.ack_floor.stream_seq + 1,
                filter_subjects=consumer.config.filter_subjects,
                inactive_threshold=REDELIVERY_SECONDS * 2,
                mem_storage=True,
            ),
        )
        subscription = await js.pull_subscribe_bind(consumer=own.name, stream=own.stream_name)
        try:
            is_more = bool(own.num_pending)
            while is_more:
                messages = await subscription.fetch(batch, timeout=REDELIVERY_SECONDS)
                yield messages
                last = messages[-1].metadata
                is_more = last.num_pending > 0 and last.sequence.stream < consumer.delivered.stream_seq
        finally:
            if self.is_connected:
                await subscription.unsubscribe()

    async def largest_body(self) -> int:
        """Return the maximum size of a message's body in bytes. Raises BusUnavailable."""
        await self.connect()
        return self._live().max_payload - HEADER_BYTES

    async def publish(self, messages: list[tuple[str, str, bytes]]) -> None:
        """Publish ``(subject, id, body)`` in order and wait until JetStream has stored all of them.

        Raises BusUnavailable.
        """
        js = await self.connect()
        try:
            acks = [
                await js.publish_async(topic, body, wait_stall=PUBLISH_SECONDS, headers={"Nats-Msg-Id": id_})
                for topic, id_, body in messages
            ]
            async with asyncio.timeout(PUBLISH_SECONDS):
                await asyncio.gather(*acks)
        except (TimeoutError, OSError, nats.errors.Error) as error:
            raise BusUnavailable(repr(error)) from error

    async def signal(self, topic: str) -> None:
        """Set the flags of all processes that call `wake` for ``topic``. Raises BusUnavailable."""
        await self.connect()
        try:
            await self._live().publish(topic)
            await self._live().flush(PUBLISH_SECONDS)
        except (TimeoutError, OSError, nats.errors.Error) as error:
            raise BusUnavailable(repr(error)) from error

    async def listen(
        self,
        topic: str,
        on_message: Callable[[bytes], Awaitable[None]],
        *,
        on_subscription: Callable[[], None] | None = None,
    ) -> None:
        """Pass every message on ``topic`` to ``on_message``, at most once, in every replica.

        This is for wake-ups and caches. Runs until cancelled, and subscribes again after each reconnect.
        ``on_subscription`` is called after each subscription, because earlier messages may be lost.
        """
        while True:
            await self.connect()
            client = self._live()
            subscription = await client.subscribe(topic)
            if on_subscription is not None:
                on_subscription()
            try:
                while client is self._client and not client.is_closed:
                    try:
                        message: Msg = await subscription.next_msg(timeout=FETCH_SECONDS)
                    except (TimeoutError, nats.errors.TimeoutError):
                        continue
                    await on_message(message.data)
            finally:
                if not client.is_closed:
                    await subscription.unsubscribe()

    async def wake(self, topic: str, waiting: asyncio.Event) -> None:
        """Set ``waiting`` at every message on ``topic``, and at each subscription. Runs until cancelled."""

        async def set_waiting(_message: bytes) -> None:
            waiting.set()

        await self.listen(topic, set_waiting, on_subscription=waiting.set)


async def _log_error(error: Exception) -> None:
    log.debug("nats", error=repr(error))
