"""The sockets of a process: HTTP, and metrics on a port of their own."""

import contextlib

import httpx
import pytest
from structlog.testing import capture_logs

from ingot_chassis.errors import CannotStart
from ingot_chassis.http.server import (
    METRICS_DISTANCE,
    bound_socket,
    metrics_served,
    metrics_socket,
)
from ingot_chassis.settings import ServiceSettings

LOOPBACK = "127.0.0.1"


def free_pair() -> int:
    """A port that is free, and so is the one of its metrics."""
    while True:
        with contextlib.closing(bound_socket(LOOPBACK, 0)) as listener:
            port = listener.getsockname()[1]
            with (
                contextlib.suppress(CannotStart),
                contextlib.closing(bound_socket(LOOPBACK, port + METRICS_DISTANCE)),
            ):
                return int(port)


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/metrics", 200), ("HEAD", "/metrics", 200), ("GET", "/", 404)]
)
async def test_metrics_are_all_that_their_port_has(method, path, status):
    listener = bound_socket(LOOPBACK, 0)
    async with metrics_served(listener, public_url="http://ingot.test/"), httpx.AsyncClient() as client:
        answer = await client.request(method, f"http://{LOOPBACK}:{listener.getsockname()[1]}{path}")

    assert answer.status_code == status
    assert ("process_cpu_seconds_total" in answer.text) == (status == 200 and method == "GET")


async def test_the_port_of_metrics_is_that_of_http_plus_a_thousand():
    port = free_pair()
    with contextlib.closing(bound_socket(LOOPBACK, port)) as listener:
        metrics = metrics_socket(ServiceSettings(port=port), listener)
        assert metrics is not None
        with contextlib.closing(metrics):
            assert metrics.getsockname()[:2] == (LOOPBACK, port + METRICS_DISTANCE)


async def test_a_port_that_nobody_chose_may_be_taken():
    port = free_pair()
    with (
        contextlib.closing(bound_socket(LOOPBACK, port)) as listener,
        contextlib.closing(bound_socket(LOOPBACK, port + METRICS_DISTANCE)),
        capture_logs() as lines,
    ):
        metrics = metrics_socket(ServiceSettings(port=port), listener)
        async with metrics_served(metrics, public_url="http://ingot.test/"):
            assert metrics is None
    assert [line["event"] for line in lines] == ["no metrics"]


async def test_a_port_of_the_settings_must_be_free():
    with (
        contextlib.closing(bound_socket(LOOPBACK, 0)) as listener,
        contextlib.closing(bound_socket(LOOPBACK, 0)) as other,
        pytest.raises(CannotStart),
    ):
        metrics_socket(ServiceSettings(metrics_port=other.getsockname()[1]), listener)
