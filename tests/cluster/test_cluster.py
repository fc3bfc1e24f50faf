"""What a cluster does with Ingot while people use it: restarts, deleted pods, scaling, drained nodes, policies.

`make cluster-test` runs these against the cluster that KUBECONFIG names; the figures that they print are in
docs/kubernetes.md.
"""

import asyncio
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


async def test_a_second_replica_comes_and_goes_and_nothing_fails(cluster, tmp_path):
    work = await load(cluster, tmp_path)
    async with work.running():
        await asyncio.sleep(CALM)
        for count in ("2", "1"):
            for workload in SERVING:
                await call(cluster.kubectl, "scale", workload, f"--replicas={count}")
            for workload in SERVING:
                await call(cluster.wait_rollout, workload)
            await asyncio.sleep(CALM)
    print(f"\ntwo replicas and one again: {work.report()}")
    assert work.failures == []


@pytest.mark.parametrize("name", ["gateway", "identity", "issues", "hooks", "web", "repos"])
async def test_a_deleted_pod_loses_nothing_that_was_acknowledged(cluster, tmp_path, name):
    work = await load(cluster, tmp_path)
    async with work.running():
        await asyncio.sleep(CALM)
        selector = f"app.kubernetes.io/name={name}"
        [pod, *_] = await call(
            cluster.objects, "pod", "--selector", selector, "--field-selector=status.phase=Running"
        )
        await call(cluster.kubectl, "delete", "pod", pod["metadata"]["name"])
        await call(cluster.wait_ready)
        await asyncio.sleep(CALM)
    print(f"\na pod of {name} deleted: {work.report()}")
    assert work.failures == []


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
