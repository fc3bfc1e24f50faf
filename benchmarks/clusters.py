"""A cluster with servers of its own, and its files in the given folder."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from backing import empty_servers
from tests.e2e.deployments import WITH_DATABASE, BackingServers, Cluster, running


@contextmanager
def cluster_in(
    folder: Path, variables: Mapping[str, str] | None = None, *, separate_work: bool = False
) -> Iterator[Cluster]:
    """Start six services as processes with their own PostgreSQL, Redis and NATS.

    With ``separate_work`` background work has its own processes.
    """
    with empty_servers() as (servers, databases):
        backing = BackingServers(
            database_urls={service: databases.empty() for service in WITH_DATABASE},
            nats_url=servers.nats(),
            redis_url=f"{servers.redis()}/0",
        )
        deployment = Cluster(folder, backing, variables, separate_work=separate_work)
        with running(deployment):
            yield deployment
