"""Ingot as people run it: one process on SQLite, or six on PostgreSQL, NATS and Redis."""

import json
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ingot_contracts.topology import SERVICES
from ingot_testing.processes import free_port
from ingot_testing.servers import NatsServer

from .cluster_settings import shard_variables, url_of, variables_of
from .parts import Part

ADMINISTRATOR = ("root", "the password of root")
CHEAP_PASSWORDS = {"INGOT_IDENTITY_PASSWORD_MEMORY_KIB": "64", "INGOT_IDENTITY_PASSWORD_ROUNDS": "1"}
"""For tests that sign in often: a hash that is safe to store takes 100 ms of the processor."""
WITH_DATABASE = ("identity", "repos", "issues", "hooks", "mail")


class Deployment(Protocol):
    """A whole Ingot; ``parts`` are the processes that can be killed alone."""

    url: str
    parts: tuple[str, ...]
    folder: Path
    """Has all of its files."""

    def start(self) -> None:
        """Start everything; returns when it answers."""

    def kill(self, part: str) -> None:
        """End one process as a power cut would, and none of its children."""

    def begin(self, part: str) -> None:
        """Start a killed process again without waiting for it."""

    def restart(self, part: str) -> None:
        """Start a killed process again; returns when it answers."""

    def stop_part(self, part: str) -> None:
        """Stop one process gracefully, as an update does. Raises AssertionError if its exit is not clean."""

    def halt(self, part: str) -> None:
        """Stop one process with SIGSTOP: its connections stay open, and nothing answers."""

    def resume(self, part: str) -> None:
        """Let a halted process go on."""

    def nats_url(self) -> str:
        """Return the present URL of its NATS."""

    def stop_nats(self) -> None:
        """Stop NATS from answering."""

    def start_nats(self) -> None:
        """Let it answer again."""

    def limit_files(self, part: str, *, full: bool) -> None:
        """Let one process, and those that it starts, write to no file, or to every file again."""

    def serve_ssh(self) -> int:
        """Start git over SSH, and return its port."""

    def processes(self) -> Mapping[str, int]:
        """The ids of all that runs now, by name."""

    def stop(self) -> None:
        """End everything in order; raises AssertionError if something does not end well."""

    def end(self) -> None:
        """Leave no process behind, whatever has happened."""

    def logs(self) -> Mapping[str, str]:
        """The end of what each process has written."""


class Standalone:
    """`ingot up`."""

    parts = ("ingot",)

    def __init__(
        self, folder: Path, variables: Mapping[str, str] | None = None, *, host: str = "127.0.0.1"
    ) -> None:
        """Prepare the process. ``host`` is a name of this machine, for its public URL."""
        port = free_port()
        self.url = f"http://{host}:{port}/"
        self._ssh_port = free_port()
        self.folder, self._data = folder, folder / "data"
        name, password = ADMINISTRATOR
        self._ingot = Part(
            [
                str(Path(sys.executable).with_name("ingot")),
                *("up", "--port", str(port), "--data", str(self._data)),
                *("--ssh-port", str(self._ssh_port)),
            ],
            {
                "INGOT_PUBLIC_URL": self.url,
                "INGOT_ADMIN_USERNAME": name,
                "INGOT_ADMIN_PASSWORD": password,
                "INGOT_LOG_LEVEL": "info",
                "INGOT_HOOKS_ALLOWED_TARGETS": "127.0.0.0/8",
                **(variables or {}),
            },
            url=self.url,
            log=folder / "ingot.log",
        )

    def start(self) -> None:
        self._ingot.begin()
        self._ingot.wait_ready()

    def kill(self, _part: str) -> None:
        self._ingot.kill()

    def begin(self, _part: str) -> None:
        self._ingot.begin()

    def restart(self, _part: str) -> None:
        self.start()

    def stop_part(self, _part: str) -> None:
        self.stop()

    def halt(self, _part: str) -> None:
        self._ingot.send_signal(signal.SIGSTOP)

    def resume(self, _part: str) -> None:
        self._ingot.send_signal(signal.SIGCONT)

    def limit_files(self, _part: str, *, full: bool) -> None:
        self._ingot.limit_files(full=full)

    def stop_nats(self) -> None:
        os.kill(self.nats_process(), signal.SIGSTOP)

    def start_nats(self) -> None:
        os.kill(self.nats_process(), signal.SIGCONT)

    def nats_url(self) -> str:
        return str(self._nats()["url"])

    def nats_process(self) -> int:
        """The id of its NATS now."""
        return int(self._nats()["pid"])

    def _nats(self) -> dict[str, Any]:
        """Return the record of Ingot about the NATS that it started."""
        noted: dict[str, Any] = json.loads((self._data / "nats" / "running.json").read_bytes())
        return noted

    def serve_ssh(self) -> int:
        return self._ssh_port

    def processes(self) -> Mapping[str, int]:
        return {"ingot": self._ingot.process}

    def stop(self) -> None:
        assert self._ingot.stop() == 0

    def end(self) -> None:
        self._ingot.kill()

    def logs(self) -> Mapping[str, str]:
        return {"ingot": self._ingot.log_end()}


@dataclass(frozen=True, kw_only=True)
class BackingServers:
    """The servers that a cluster stands on. Every service has a database of its own."""

    database_urls: Mapping[str, str]
    nats_url: str
    redis_url: str
    nats: NatsServer | None = None
    """For who stops it."""


class Cluster:
    """`ingot-<service> serve`, each in a process of its own, or in ``replicas`` behind a balancer.

    A part is a service with all of its replicas. Those of repos are shards with files of their own.
    ``fronts`` has the addresses of services if the caller has its own balancers. With ``separate_work``,
    `serve` runs without background work, and the last replica of each service is a process of `work`.
    """

    parts = SERVICES

    def __init__(
        self,
        folder: Path,
        backing_servers: BackingServers,
        variables: Mapping[str, str] | None = None,
        *,
        replicas: int = 1,
        fronts: Mapping[str, int] | None = None,
        separate_work: bool = False,
    ) -> None:
        self.backing_servers, self.folder = backing_servers, folder
        ports = {service: [free_port() for _ in range(replicas)] for service in SERVICES}
        fronts = fronts or {name: free_port() if replicas > 1 else ports[name][0] for name in SERVICES}
        urls = {service: url_of(port) for service, port in fronts.items()}
        self.url = urls["gateway"]
        shared, private = variables_of(backing_servers, urls, ADMINISTRATOR)
        self._ssh_port, self._serves_ssh = free_port(), False
        private["repos"] |= {"INGOT_REPOS_SSH_HOST": "127.0.0.1", "INGOT_REPOS_SSH_PORT": str(self._ssh_port)}
        shared |= variables or {}
        self._balancer = _balancer(fronts, ports, folder) if replicas > 1 else None
        self._parts = {
            service: [
                Part(
                    [sys.executable, "-m", f"ingot_{service}", "serve"],
                    shared
                    | private[service]
                    | {f"INGOT_{service.upper()}_PORT": str(port)}
                    | (shard_variables(port, ports[service], folder) if service == "repos" else {}),
                    url=url_of(port),
                    log=folder / f"{service}.log",
                )
                for port in ports[service]
            ]
            for service in SERVICES
        }
        for service in WITH_DATABASE if separate_work else ():
            [serving], prefix, port = self._parts[service], f"INGOT_{service.upper()}", free_port()
            work = serving.beside({f"{prefix}_PORT": str(port)}, url=url_of(port), command="work")
            http_alone = serving.beside({f"{prefix}_BACKGROUND": "false"}, url=serving.url)
            self._parts[service] = [http_alone, work]
        self._ssh = Part(
            [sys.executable, "-m", "ingot_repos", "ssh"],
            shared
            | {name: value for name, value in private["repos"].items() if name == "INGOT_REPOS_PRIVATE_KEY"}
            | {"INGOT_REPOS_SSH_UPSTREAM": urls["repos"]}
            | {"INGOT_REPOS_SSH_LISTEN_PORT": str(self._ssh_port)},
            url="",
            log=folder / "ssh.log",
        )
        self._migrations = {
            service: Part(
                [sys.executable, "-m", f"ingot_{service}", "migrate"],
                shared | private[service],
                url="",
                log=folder / f"{service}.log",
            )
            for service in WITH_DATABASE
        }

    def start(self) -> None:
        if self._balancer is not None:
            self._balancer.begin()
        for migration in self._migrations.values():
            migration.begin()
        for replicas in self._parts.values():
            for replica in replicas:
                replica.begin()  # they wait for their databases to be migrated
        for migration in self._migrations.values():
            migration.wait_done()
        for replicas in self._parts.values():
            for replica in replicas:
                replica.wait_ready()

    def kill(self, part: str) -> None:
        for replica in self._parts[part]:
            replica.kill()

    def begin(self, part: str) -> None:
        for replica in self._parts[part]:
            replica.begin()

    def restart(self, part: str) -> None:
        self.begin(part)
        for replica in self._parts[part]:
            replica.wait_ready()

    def stop_part(self, part: str) -> None:
        assert [replica.stop() for replica in self._parts[part]] == [0 for _ in self._parts[part]], part

    def migrate(self, part: str, variables: Mapping[str, str]) -> None:
        """Bring the database of a service to another release."""
        self._migrations[part] = migration = self._migrations[part].beside(variables, url="")
        migration.begin()
        migration.wait_done()

    def replicas(self, part: str) -> list[Part]:
        """Return the processes of a service. A process added to the list is stopped with the others."""
        return self._parts[part]

    def halt(self, part: str) -> None:
        for replica in self._parts[part]:
            replica.send_signal(signal.SIGSTOP)

    def resume(self, part: str) -> None:
        for replica in self._parts[part]:
            replica.send_signal(signal.SIGCONT)

    def limit_files(self, part: str, *, full: bool) -> None:
        for replica in self._parts[part]:
            replica.limit_files(full=full)

    def nats_url(self) -> str:
        return self.backing_servers.nats_url

    def stop_nats(self) -> None:
        assert self.backing_servers.nats is not None
        self.backing_servers.nats.kill()

    def start_nats(self) -> None:
        assert self.backing_servers.nats is not None
        self.backing_servers.nats.start()

    def shard_of(self, repository_id: int) -> str:
        """The shard that has the files of a repository."""
        (path,) = self.folder.glob(f"shard-*/repositories/*/*/{repository_id}.git")
        return path.relative_to(self.folder).parts[0]

    def shards(self, *arguments: str) -> str:
        """Return the output of `ingot-repos shards`."""
        return self._parts["repos"][0].output_of("shards", *arguments)

    def serve_ssh(self) -> int:
        if not self._serves_ssh:
            self._ssh.begin()
            self._serves_ssh = True
        return self._ssh_port

    def processes(self) -> Mapping[str, int]:
        replicas = {
            f"{name} {number}": one for name, all_ in self._parts.items() for number, one in enumerate(all_)
        }
        ssh = {"ssh": self._ssh} if self._serves_ssh else {}
        return {name: one.process for name, one in (replicas | ssh).items()}

    def stop(self) -> None:
        self._ssh.stop()
        for replicas in reversed(self._parts.values()):
            for replica in replicas:
                replica.stop()

    def end(self) -> None:
        for part in self.parts:
            self.kill(part)
        for process in (self._ssh, *self._migrations.values(), *([self._balancer] if self._balancer else [])):
            process.kill()

    def logs(self) -> Mapping[str, str]:
        logs = {service: replicas[0].log_end() for service, replicas in self._parts.items()}
        return logs | ({"ssh": self._ssh.log_end()} if self._serves_ssh else {})


def _balancer(fronts: Mapping[str, int], ports: Mapping[str, list[int]], folder: Path) -> Part:
    """The process that shares the requests to each service out among its replicas."""
    arguments = [f"{fronts[service]}={','.join(map(url_of, ports[service]))}" for service in SERVICES]
    program = str(Path(__file__).with_name("balancer.py"))
    return Part(
        [sys.executable, program, *arguments], {}, url=url_of(fronts["gateway"]), log=folder / "balancer.log"
    )


RUNNING: list[Deployment] = []
"""Deployments that run now, for the report of a failure."""


@contextmanager
def running(deployment: Deployment) -> Iterator[None]:
    """Start it, stop it, and leave no process behind whatever happens. A failure inside shows the logs."""
    RUNNING.append(deployment)
    try:
        deployment.start()
        yield
        deployment.stop()
    except BaseException:
        for part, log in deployment.logs().items():
            print(f"log of {part}:\n{log}")
        raise
    finally:
        deployment.end()
        RUNNING.remove(deployment)
