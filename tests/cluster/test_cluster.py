"""A cluster with Ingot in use: restarts, deleted pods, scaling, drained nodes, policies.

`make cluster-test` runs these against the cluster that KUBECONFIG names; the figures that they print are in
docs/how-to/kubernetes.md.
"""

import asyncio
import itertools
import os
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from .conftest import Cluster
from .load import Load

SERVING = (
    "deployment/gateway",
    "deployment/identity",
    "deployment/issues",
    "deployment/hooks",
    "deployment/web",
)
WORKING = ("deployment/identity-work", "deployment/issues-work", "deployment/hooks-work")
SHARD = "deployment/repos-0"
DELETIONS = int(os.environ.get("INGOT_CLUSTER_DELETIONS", "30"))
SSH = os.environ.get("INGOT_CLUSTER_SSH", "")
"""The address of git over SSH for this machine, as ssh://git@host:port."""
CALM, REST = 15.0, 3.0
"""Seconds of load before what is tried, whose slowest request the figures are compared with, and after it."""


@asynccontextmanager
async def loaded(
    cluster: Cluster, folder: Path, what: str, *, may_refuse: bool = False, may_fail: bool = False
) -> AsyncIterator[Load]:
    """Run the load during the block, and print its figures. Nothing fails, and no acknowledged write is lost.

    With ``may_refuse`` a 503 with `Retry-After` is no failure. With ``may_fail`` failures are only counted,
    because running requests are cut off.
    """
    work = Load(cluster.url, cluster.administrator, folder, ssh=SSH)
    await work.prepare()
    async with work.running():
        await asyncio.sleep(CALM)
        work.end_calm()
        start = time.monotonic()
        yield work
        seconds = time.monotonic() - start
        await asyncio.sleep(REST)
    print(f"\n{what} in {seconds:.0f} s: {work.report()}")
    assert may_fail or work.failures == []
    assert may_refuse or work.refused == []
    assert await work.lost() == []


async def call(function, *arguments):
    """Run kubectl in a thread, so the load goes on."""
    return await asyncio.to_thread(function, *arguments)


async def restart(cluster: Cluster, *workloads: str) -> None:
    for workload in workloads:
        await call(cluster.kubectl, "rollout", "restart", workload)
        await call(cluster.wait_rollout, workload)


@pytest.mark.parametrize("workload", [*SERVING, *WORKING, SHARD, "deployment/ssh"])
async def test_a_rolling_restart_fails_nothing(cluster, tmp_path, workload):
    async with loaded(cluster, tmp_path, f"{workload} restarted"):
        await restart(cluster, workload)


@pytest.mark.parametrize("server", ["postgresql", "nats", "redis"])
async def test_a_server_restarts_and_what_needs_it_waits_or_says_when_to_try_again(cluster, tmp_path, server):
    (kind,) = [kind for kind in ("statefulset", "deployment") if server in names(cluster, kind)]
    async with loaded(cluster, tmp_path, f"{server} restarted", may_refuse=True):
        await restart(cluster, f"{kind}/{server}")
    assert await call(cluster.doctor) == ""


def names(cluster: Cluster, kind: str) -> list[str]:
    return [one["metadata"]["name"] for one in cluster.objects(kind)]


async def scale(cluster: Cluster, count: int, workloads: Sequence[str] = SERVING) -> None:
    for workload in workloads:
        await call(cluster.kubectl, "scale", workload, f"--replicas={count}")
    for workload in workloads:
        await call(cluster.wait_rollout, workload)


async def test_a_second_replica_comes_restarts_and_goes_and_nothing_fails(cluster, tmp_path):
    async with loaded(cluster, tmp_path, "two replicas, restarted, and one again"):
        await scale(cluster, 2)
        await restart(cluster, *SERVING)
        await scale(cluster, 1)


async def test_workers_and_ssh_scale_up_and_down_and_nothing_fails(cluster, tmp_path):
    async with loaded(cluster, tmp_path, "one replica more of workers and of SSH, and one less"):
        await scale(cluster, 2, WORKING)
        await scale(cluster, 3, ["deployment/ssh"])
        await scale(cluster, 2, ["deployment/ssh"])
        await scale(cluster, 1, WORKING)


@pytest.mark.parametrize("name", ["gateway", "identity", "issues", "hooks", "mail", "web", "repos"])
async def test_a_killed_pod_loses_nothing_that_was_acknowledged(cluster, tmp_path, name):
    """It does not finish what it has begun, so may fail."""
    killed = f"a pod of {name} killed, another one ready"
    async with loaded(cluster, tmp_path, killed, may_refuse=True, may_fail=True):
        await call(cluster.delete_pod, name, "--grace-period=0", "--force")
    assert await call(cluster.doctor) == ""


@pytest.mark.parametrize("name", ["gateway", "identity", "issues", "hooks", "mail", "web", "repos"])
async def test_a_deleted_pod_fails_nothing(cluster, tmp_path, name):
    async with loaded(cluster, tmp_path, f"a pod of {name} deleted, another one ready"):
        await call(cluster.delete_pod, name)


async def test_many_deleted_pods_lose_nothing_that_was_acknowledged(cluster, tmp_path):
    services = itertools.cycle(("repos", "issues", "gateway", "identity", "hooks", "mail", "web"))
    async with loaded(cluster, tmp_path, f"{DELETIONS} pods deleted"):
        for name in itertools.islice(services, DELETIONS):
            await call(cluster.delete_pod, name)
    assert await call(cluster.doctor) == ""


async def test_a_changed_setting_of_all_reaches_the_pods_and_nothing_fails(cluster, tmp_path):
    def levels() -> set[str]:
        names = [workload.partition("/")[2] for workload in SERVING]
        return {cluster.run(name, "printenv", "INGOT_LOG_LEVEL").strip() for name in (*names, "repos")}

    async with loaded(cluster, tmp_path, "a setting of all changed and changed back"):
        with cluster.changed(settings="INGOT_LOG_LEVEL=warning\n") as overlay:
            await call(cluster.apply, overlay)
            await call(cluster.wait_ready)
            assert await call(levels) == {"warning"}
        await call(cluster.wait_ready)


async def test_an_eviction_takes_one_pod_at_a_time_and_fails_nothing(cluster, tmp_path):
    """As a drain does it, where no node takes the pods: they wait until one may be used again."""
    nodes = cluster.nodes()
    async with loaded(cluster, tmp_path, "a pod of each service evicted"):
        await scale(cluster, 2)
        try:
            await call(cluster.kubectl, "cordon", *nodes)
            for workload in SERVING:
                first, second, *_ = await call(cluster.pods, workload.partition("/")[2])
                await call(cluster.evict, first)
                with pytest.raises(AssertionError, match="disruption budget"):
                    await call(cluster.evict, second)
        finally:
            await call(cluster.kubectl, "uncordon", *nodes)
        await call(cluster.wait_ready)
        await scale(cluster, 1)


async def test_an_autoscaler_adds_a_pod_under_load_and_nothing_fails(cluster, tmp_path):
    try:
        cluster.kubectl("get", "--raw", "/apis/metrics.k8s.io/v1beta1/nodes")
    except AssertionError:
        pytest.skip("the cluster has no metrics-server")
    async with loaded(cluster, tmp_path, "the gateway scaled"), asyncio.timeout(300):
        while len(await call(cluster.pods, "gateway")) < 2:
            await asyncio.sleep(2)


async def test_a_replica_on_another_shard_answers_while_the_shard_is_away(cluster, tmp_path):
    def shards(*arguments: str, on: str = SHARD) -> str:
        return cluster.kubectl("exec", on, "-c", "serve", "--", "ingot-repos", "shards", *arguments)

    other = "deployment/repos-1"
    work = Load(cluster.url, cluster.administrator, tmp_path)
    await work.prepare()
    repository = f"{work.name}/app"
    with cluster.changed(resource="../../base/repos/shards/1") as overlay:
        try:
            await call(cluster.apply, overlay)
            await call(cluster.wait_rollout, other)
            await call(shards, "replicate", repository, "--to", "shard-1")
            async with asyncio.timeout(120):
                while f"{repository} on shard-1: is up to date" not in await call(shards, "list"):
                    await asyncio.sleep(1)
            await call(cluster.kubectl, "scale", SHARD, "--replicas=0")
            await call(
                cluster.kubectl,
                "wait",
                "--for=delete",
                "pod",
                "--selector=ingot-shard=shard-0",
                "--timeout=300s",
            )
            await work.read_repository()
        finally:
            cluster.kubectl("scale", SHARD, "--replicas=1")
            cluster.wait_rollout(SHARD)
            shards("unreplicate", repository, "--on", "shard-1")
            cluster.kubectl("delete", other, "service/repos-1")
            # Until it has gone it answers, and what is made there would go with it.
            cluster.kubectl("wait", "--for=delete", "pod", "--selector=ingot-shard=shard-1", "--timeout=300s")


async def test_a_drained_node_loses_nothing_that_was_acknowledged(cluster, tmp_path):
    """Drain the node of the shard, whose volume is on one node.

    PostgreSQL and NATS of the overlay have one pod each and no budget. If they are on that node, requests are
    refused while they move.
    """
    if len(cluster.nodes()) < 2:
        pytest.skip("a node can be drained where there is another one")
    (pod,) = cluster.pods("repos")
    node = cluster.kubectl("get", "pod", pod, "--output", "jsonpath={.spec.nodeName}")
    options = ("--ignore-daemonsets", "--delete-emptydir-data", "--timeout=300s")
    try:
        async with loaded(cluster, tmp_path, f"{node} drained", may_refuse=True):
            await call(cluster.kubectl, "drain", node, *options)
            await call(cluster.wait_ready)
    finally:
        cluster.kubectl("uncordon", node)


CONNECT = """
import socket, sys
for target in sys.argv[1:]:
    host, port = target.rsplit(":", 1)
    try:
        socket.create_connection((host, int(port)), timeout=3).close()
        print(target, "open")
    except OSError:
        print(target, "shut")
"""


@pytest.mark.parametrize(
    ("name", "is_open"),
    [
        (
            "gateway",
            {"identity:8081": True, "repos:8082": True, "postgresql:5432": False, "redis:6379": True},
        ),
        ("web", {"issues:8083": True, "postgresql:5432": False, "redis:6379": True}),
        ("hooks", {"identity:8081": True, "hooks-db-rw:5432": True, "gateway:3000": False}),
        (
            "mail",
            {"identity:8081": True, "mail-db-rw:5432": True, "hooks:8084": False, "gateway:3000": False},
        ),
    ],
)
def test_a_pod_reaches_what_its_policy_names_and_nothing_else(cluster, name, is_open):
    printed = cluster.kubectl("exec", f"deployment/{name}", "--", "python3", "-c", CONNECT, *is_open)
    assert printed.splitlines() == [
        f"{target} {'open' if is_ else 'shut'}" for target, is_ in is_open.items()
    ]
