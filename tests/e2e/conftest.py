"""The two deployments, with their logs next to every failure."""

import os
from collections.abc import Callable, Generator, Iterator

import pytest

from ingot_testing.plugin import BackendsInUse, bucket
from ingot_testing.servers import SessionServers
from ingot_testing.turns import take_turns

from .deployments import (
    CHEAP_PASSWORDS,
    RUNNING,
    WITH_DATABASE,
    BackingServers,
    Cluster,
    Deployment,
    Standalone,
    running,
)

STANDALONE, CLUSTER = "standalone", "cluster of two"
MAX_FILE_BYTES = 6_000_000
"""Of a file that git pushes."""
VARIABLES = CHEAP_PASSWORDS | {
    "INGOT_REPOS_MAX_FILE_BYTES": str(MAX_FILE_BYTES),
    "INGOT_REPOS_ALLOWED_REMOTES": "127.0.0.1",
    "INGOT_WEB_STYLEGUIDE": "true",
    # A refusal that comes of many wrong passwords would hide whether a deleted account still opens something.
    "INGOT_IDENTITY_FREE_SIGN_INS": "100000",
}


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "both_deployments: in one process and on a cluster, whatever is set")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With `INGOT_TEST_DEPLOYMENTS=turns` most tests run on one of the deployments, half of them on each."""
    if os.environ.get("INGOT_TEST_DEPLOYMENTS", "both") != "both":
        take_turns(config, items, (STANDALONE, CLUSTER), "both_deployments")


@pytest.fixture(scope="session")
def backing_servers(
    session_servers: SessionServers, database_backends: BackendsInUse, worker_id: str
) -> Callable[[], BackingServers]:
    """Real servers for a cluster. NATS is private: all deployments use the same names of streams."""

    def deployment() -> BackingServers:
        nats = session_servers.own_nats()
        number = 100 + int(worker_id.removeprefix("gw") if worker_id != "master" else 0)
        return BackingServers(
            database_urls={service: database_backends["postgresql"].empty() for service in WITH_DATABASE},
            nats_url=nats.url,
            redis_url=f"{session_servers.redis()}/{number}",
            nats=nats,
        )

    return deployment


@pytest.fixture(scope="session", params=[STANDALONE, CLUSTER])
def deployment(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    session_servers: SessionServers,
    backing_servers: Callable[[], BackingServers],
) -> Iterator[Deployment]:
    """Start a deployment: all in one process, or two replicas of every service.

    One process keeps its files in a folder. Replicas are behind round-robin, with files in S3-compatible
    storage. No test may depend on reaching one replica twice.
    """
    folder = tmp_path_factory.mktemp(request.param.replace(" ", "-"))
    deployment: Deployment
    if request.param == STANDALONE:
        deployment = Standalone(folder, VARIABLES)
    else:
        storage = {f"INGOT_{name.upper()}": value for name, value in bucket(session_servers).items()}
        deployment = Cluster(folder, backing_servers(), VARIABLES | storage, replicas=2)
    with running(deployment):
        yield deployment


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        for deployment in RUNNING:
            kind = type(deployment).__name__
            report.sections += [(f"log of {kind} {part}", log) for part, log in deployment.logs().items()]
    return report
