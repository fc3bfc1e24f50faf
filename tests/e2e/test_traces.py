"""One trace from the first request to its last effect, through every process that takes part."""

from collections.abc import Callable, Iterator

import pytest

from .collector import Collector, collecting
from .deployments import BackingServers, Cluster, Standalone, running
from .main_job import MainJob

PUSH = frozenset(
    {
        "POST repos",
        "repos POST /{owner}/{repo}/git-receive-pack",
        "git receive-pack",
        "INSERT push",
        "job push.read",
        "publish repos.push.received.v1",
        "consume repos.push.received.v1",
        "INSERT delivery",
        "deliver push",
    }
)
PROCESSES = {
    "standalone": {"ingot-standalone"},
    "cluster": {"ingot-gateway", "ingot-repos"},
}
FORK = frozenset({"POST repos", "INSERT repository", "INSERT job", "publish repos.fork.requested.v1"})
"""Effects of a request, by the names of the spans."""


@pytest.fixture(scope="module", params=["standalone", "cluster"])
def traced(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    backing_servers: Callable[[], BackingServers],
) -> Iterator[tuple[str, Collector, set[str]]]:
    """The URL of a deployment that tells its spans, who hears them, and which processes it must hear of."""
    folder = tmp_path_factory.mktemp(request.param)
    with collecting() as collector:
        deployment: Standalone | Cluster = (
            Standalone(folder, collector.variables)
            if request.param == "standalone"
            else Cluster(folder, backing_servers(), collector.variables)
        )
        with running(deployment):
            yield deployment.url, collector, PROCESSES[request.param]


async def test_a_push_and_a_fork_can_be_followed_to_their_ends(traced, tmp_path, receiver):
    url, collector, processes = traced
    await MainJob(url, tmp_path, receiver).run()
    for root, followed in (
        ("gateway POST /{owner}/{repo}/git-receive-pack", PUSH),
        ("gateway POST /api/v1/repos/*", FORK),
    ):
        trace = collector.trace_of(root, followed)
        names = {span.name for span in trace}
        assert followed <= names
        assert {span.parent for span in trace} <= {"", *(span.id for span in trace)}
        assert processes <= {span.process for span in trace}
