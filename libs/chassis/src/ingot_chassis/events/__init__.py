"""Events between services: written into a transaction, sent by a relay over NATS JetStream, applied by consumers."""

from ingot_chassis.events import nats_without_websockets  # noqa: F401 - before anything here imports nats-py
