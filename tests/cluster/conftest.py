"""The cluster that KUBECONFIG names, with the overlay `dev` on it (docs/how-to/kubernetes.md)."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

OVERLAY = Path(__file__).parents[2] / "deploy" / "k8s" / "overlays" / "dev"
READY_SECONDS = 300


class Cluster:
    """``url`` is where this machine reaches the gateway. Everything is in the namespace ``ingot``."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")

    def kubectl(self, *arguments: str, **options: Any) -> str:
        """Return the output. Raises AssertionError with the error output."""
        command = ["kubectl", "--namespace", "ingot", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
        assert done.returncode == 0, f"{' '.join(command)}: {done.stdout}{done.stderr}"
        return done.stdout

    def objects(self, kind: str, *options: str) -> list[dict[str, Any]]:
        return list(json.loads(self.kubectl("get", kind, "--output", "json", *options))["items"])

    def apply(self, overlay: Path = OVERLAY) -> None:
        """All of the overlay; the namespace first."""
        self.kubectl("apply", "--filename", str(OVERLAY.parents[1] / "base" / "platform" / "namespace.yaml"))
        self.kubectl("apply", "--kustomize", str(overlay))

    @contextmanager
    def changed(self, settings: str = "", resource: str = "") -> Iterator[Path]:
        """Yield a copy of the overlay with other shared settings or one more resource. Apply the original
        afterwards."""
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "k8s"
            shutil.copytree(OVERLAY.parents[1], copy)
            overlay = copy / "overlays" / "dev"
            with (overlay / "settings.env").open("a") as file:
                file.write(settings)
            kustomization = (overlay / "kustomization.yaml").read_text()
            if resource:
                kustomization = kustomization.replace("resources:\n", f"resources:\n  - {resource}\n", 1)
            (overlay / "kustomization.yaml").write_text(kustomization)
            try:
                yield overlay
            finally:
                self.apply()

    def pods(self, name: str) -> list[str]:
        """The pods of a service that answer and are not told to end, without those of its background work."""
        selector = f"app.kubernetes.io/name={name},app.kubernetes.io/component=serve"
        return [
            one["metadata"]["name"]
            for one in self.objects("pod", "--selector", selector)
            if "deletionTimestamp" not in one["metadata"] and is_ready(one)
        ]

    def delete_pod(self, name: str, *options: str) -> None:
        """One pod of a service; return when another one is ready in its place."""
        before = self.pods(name)
        self.kubectl("delete", "pod", before[0], "--wait=false", *options)
        deadline = time.monotonic() + READY_SECONDS
        while len(set(self.pods(name)) - {before[0]}) < len(before):
            assert time.monotonic() < deadline, f"no pod of {name} is ready in the place of {before[0]}"
            time.sleep(0.5)

    def evict(self, pod: str) -> None:
        """Evict a pod as a drain of its node does. Raises AssertionError if its budget forbids it."""
        eviction = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": pod, "namespace": "ingot"},
        }
        path = f"/api/v1/namespaces/ingot/pods/{pod}/eviction"
        self.kubectl("create", "--raw", path, "--filename", "-", input=json.dumps(eviction))

    def run(self, name: str, *command: str) -> str:
        """Return the output of a command in a pod of a service that answers."""
        return self.kubectl("exec", self.pods(name)[0], "-c", "serve", "--", *command)

    def doctor(self) -> str:
        """Return the problems that the doctors of all services report."""
        findings = ""
        for service in ("identity", "repos", "issues", "hooks", "mail"):
            try:
                self.run(service, f"ingot-{service}", "doctor")
            except AssertionError as error:
                findings += str(error)
        return findings

    def wait_ready(self) -> None:
        for kind in ("deployment", "statefulset"):
            for one in self.objects(kind):
                self.wait_rollout(f"{kind}/{one['metadata']['name']}")
        deadline = time.monotonic() + 60
        while not self.answers():
            assert time.monotonic() < deadline, f"{self.url} does not answer"
            time.sleep(0.2)

    def wait_rollout(self, workload: str) -> None:
        self.kubectl("rollout", "status", workload, f"--timeout={READY_SECONDS}s")

    def answers(self) -> bool:
        try:
            return httpx.get(f"{self.url}/readyz", timeout=5).status_code == 200
        except httpx.TransportError:
            return False

    @property
    def administrator(self) -> tuple[str, str]:
        """Name and password, from the secret that the overlay generates; the newest if there are several."""
        secrets = [
            one for one in self.objects("secret") if one["metadata"]["name"].startswith("identity-keys")
        ]
        newest = max(secrets, key=lambda one: str(one["metadata"]["creationTimestamp"]))
        return "root", base64.b64decode(newest["data"]["INGOT_IDENTITY_ADMIN_PASSWORD"]).decode()

    def nodes(self) -> list[str]:
        return [one["metadata"]["name"] for one in self.objects("node")]


def is_ready(pod: dict[str, Any]) -> bool:
    conditions = pod["status"].get("conditions", ())
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


@pytest.fixture(scope="session")
def cluster() -> Cluster:
    url = os.environ.get("INGOT_CLUSTER_URL", "")
    if not url or not os.environ.get("KUBECONFIG") or not shutil.which("kubectl"):
        pytest.skip("no cluster: KUBECONFIG, INGOT_CLUSTER_URL and kubectl are needed")
    if not (OVERLAY / "keys").is_dir():
        pytest.skip("the overlay has no keys: tools/make_keys.py deploy/k8s/overlays/dev/keys")
    cluster = Cluster(url)
    start = time.monotonic()
    cluster.apply()
    cluster.wait_ready()
    print(f"\napplied and ready after {time.monotonic() - start:.0f} s")
    if not os.environ.get("INGOT_CLUSTER_SSH"):
        print("git over SSH is not tried: INGOT_CLUSTER_SSH is not set")
    return cluster
