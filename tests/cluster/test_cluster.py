"""What a cluster does with Ingot while people use it: restarts, deleted pods, scaling, drained nodes, policies.

`make cluster-test` runs these against the cluster that KUBECONFIG names; the figures that they print are in
docs/kubernetes.md.
"""

import asyncio
import itertools
import os
import time
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
SHARD = "deployment/repos-0"
DELETIONS = int(os.environ.get("INGOT_CLUSTER_DELETIONS", "30"))
CALM = 3.0
"""Seconds of load before and after what is tried."""


async def load(cluster: Cluster, folder: Path) -> Load:
    work = Load(cluster.url, cluster.administrator, folder)
    await work.prepare()
    return work


async def call(function, *arguments):
    """kubectl waits; the load goes on meanwhile."""
    return await asyncio.to_thread(function, *arguments)


async def restart(cluster: Cluster, *workloads: str) -> None:
    for workload in workloads:
        await call(cluster.kubectl, "rollout", "restart", workload)
        await call(cluster.wait_rollout, workload)


@pytest.mark.parametrize("workload", [*SERVING, SHARD, "deployment/ssh"])
async def test_a_rolling_restart_fails_nothing(cluster, tmp_path, workload):
    work = await load(cluster, tmp_path)
    async with work.running():
        await asyncio.sleep(CALM)
        start = time.monotonic()
        await restart(cluster, workload)
        seconds = time.monotonic() - start
        await asyncio.sleep(CALM)
    print(f"\n{workload} restarted in {seconds:.0f} s: {work.report()}")
    assert work.failures == []


async def scale(cluster: Cluster, count: int) -> None:
    for workload in SERVING:
        await call(cluster.kubectl, "scale", workload, f"--replicas={count}")
    for workload in SERVING:
        await call(cluster.wait_rollout, workload)


async def test_a_second_replica_comes_restarts_and_goes_and_nothing_fails(cluster, tmp_path):
    work = await load(cluster, tmp_path)
    async with work.running():
        await asyncio.sleep(CALM)
        await scale(cluster, 2)
        await restart(cluster, *SERVING)
        await scale(cluster, 1)
        await asyncio.sleep(CALM)
    print(f"\ntwo replicas, restarted, and one again: {work.report()}")
    assert work.failures == []


@pytest.mark.parametrize("name", ["gateway", "identity", "issues", "hooks", "web", "repos"])
async def test_a_deleted_pod_fails_nothing(cluster, tmp_path, name):
    work = await load(cluster, tmp_path)
    async with work.running():
        await asyncio.sleep(CALM)
        start = time.monotonic()
        await call(cluster.delete_pod, name)
        seconds = time.monotonic() - start
        await asyncio.sleep(CALM)
    print(f"\na pod of {name} deleted, another one ready after {seconds:.0f} s: {work.report()}")
    assert work.failures == []


async def test_many_deleted_pods_lose_nothing_that_was_acknowledged(cluster, tmp_path):
    work = await load(cluster, tmp_path)
    names = itertools.cycle(("repos", "issues", "gateway", "identity", "hooks", "web"))
    start = time.monotonic()
    async with work.running():
        for name in itertools.islice(names, DELETIONS):
            await call(cluster.delete_pod, name)
    seconds = time.monotonic() - start
    print(f"\n{DELETIONS} pods deleted in {seconds:.0f} s: {work.report()}")
    assert await work.lost() == []
    assert work.failures == []
    assert await call(cluster.doctor) == ""


async def test_a_changed_setting_of_all_reaches_the_pods_and_nothing_fails(cluster, tmp_path):
    def levels() -> set[str]:
        names = [workload.partition("/")[2] for workload in SERVING]
        return {cluster.run(name, "printenv", "INGOT_LOG_LEVEL").strip() for name in (*names, "repos")}

    work = await load(cluster, tmp_path)
    async with work.running():
        with cluster.changed(settings="INGOT_LOG_LEVEL=warning\n") as overlay:
            await call(cluster.apply, overlay)
            await call(cluster.wait_ready)
            assert await call(levels) == {"warning"}
        await call(cluster.wait_ready)
    print(f"\na setting of all changed and changed back: {work.report()}")
    assert work.failures == []


async def test_an_eviction_takes_one_pod_at_a_time_and_fails_nothing(cluster, tmp_path):
    """As a drain does it, where no other node takes the pods: they wait until this one may be used again."""
    (node, *_) = cluster.nodes()
    work = await load(cluster, tmp_path)
    async with work.running():
        await scale(cluster, 2)
        try:
            await call(cluster.kubectl, "cordon", node)
            for workload in SERVING:
                first, second, *_ = await call(cluster.pods, workload.partition("/")[2])
                await call(cluster.evict, first)
                with pytest.raises(AssertionError, match="disruption budget"):
                    await call(cluster.evict, second)
        finally:
            await call(cluster.kubectl, "uncordon", node)
        await call(cluster.wait_ready)
        await scale(cluster, 1)
    print(f"\na pod of each service evicted: {work.report()}")
    assert work.failures == []


async def test_an_autoscaler_adds_a_pod_under_load_and_nothing_fails(cluster, tmp_path):
    try:
        cluster.kubectl("get", "--raw", "/apis/metrics.k8s.io/v1beta1/nodes")
    except AssertionError:
        pytest.skip("the cluster has no metrics-server")
    work = await load(cluster, tmp_path)
    async with work.running(), asyncio.timeout(300):
        while len(await call(cluster.pods, "gateway")) < 2:
            await asyncio.sleep(2)
    print(f"\nthe gateway scaled: {work.report()}")
    assert work.failures == []


async def test_a_replica_on_another_shard_answers_while_the_shard_is_away(cluster, tmp_path):
    def shards(*arguments: str, on: str = SHARD) -> str:
        return cluster.kubectl("exec", on, "-c", "serve", "--", "ingot-repos", "shards", *arguments)

    other = "deployment/repos-1"
    work = await load(cluster, tmp_path)
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
            cluster.kubectl("delete", other, "service/repos-1", "--wait=false")


async def test_a_drained_node_loses_nothing_that_was_acknowledged(cluster, tmp_path):
    nodes = cluster.nodes()
    if len(nodes) < 2:
        pytest.skip("a node can be drained where there is another one")
    work = await load(cluster, tmp_path)
    options = ("--ignore-daemonsets", "--delete-emptydir-data", "--timeout=300s")
    try:
        async with work.running():
            await asyncio.sleep(CALM)
            await call(cluster.kubectl, "drain", nodes[0], *options)
            await call(cluster.wait_ready)
            await asyncio.sleep(CALM)
    finally:
        cluster.kubectl("uncordon", nodes[0])
    print(f"\n{nodes[0]} drained: {work.report()}")
    assert work.failures == []


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
        ("web", {"issues:8083": True, "postgresql:5432": False, "redis:6379": False}),
        ("hooks", {"identity:8081": True, "hooks-db-rw:5432": True, "gateway:3000": False}),
    ],
)
def test_a_pod_reaches_what_its_policy_names_and_nothing_else(cluster, name, is_open):
    printed = cluster.kubectl("exec", f"deployment/{name}", "--", "python3", "-c", CONNECT, *is_open)
    assert printed.splitlines() == [
        f"{target} {'open' if is_ else 'shut'}" for target, is_ in is_open.items()
    ]
