"""Events between services: written in a transaction, relayed over NATS JetStream, applied by consumers."""

from ingot_chassis.patches import nats_without_websockets  # noqa: F401 - before anything here imports nats-py
