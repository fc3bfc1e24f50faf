"""The scripts of the CronJobs for databases, run here as in their pods."""

import subprocess
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from ingot_testing.binaries import postgres_programs

from .manifests import documents

FILE = Path(__file__).parents[2] / "deploy" / "k8s" / "components" / "backup" / "shard" / "backup.yaml"
OF_A_DATABASE = ("PGDATABASE=$service", '--dbname="$service"')


def script(job: str) -> str:
    """Return the script of a CronJob in the container for the databases."""
    (cron,) = [
        one
        for one in documents(FILE.read_text())
        if (one["kind"], one["metadata"]["name"]) == ("CronJob", job)
    ]
    pod = cron["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    (container,) = [
        one for one in (*pod.get("initContainers", ()), *pod["containers"]) if one["name"] == "databases"
    ]
    return str(container["args"][0])


class BackupScripts:
    """``urls``: the database of each service, all on one server. Backups are in ``backups``."""

    def __init__(self, folder: Path, urls: Mapping[str, str]) -> None:
        self.backups, self._accounts = folder / "backup", folder / "databases"
        self.backups.mkdir()
        for service, each in urls.items():
            url = urlsplit(each)
            of_service = self._accounts / service
            of_service.mkdir(parents=True)
            (of_service / "username").write_text(unquote(url.username or "postgres"))
            (of_service / "password").write_text(unquote(url.password or "none"))
            (of_service / "database").write_text(url.path[1:])
        folders = [each for each, _ in postgres_programs(folder, None) if (each / "pg_dump").exists()]
        self._variables = {"PATH": f"{folders[0]}:/usr/bin:/bin", "HOME": str(folder)}
        self._variables |= {"DATABASE_HOST": str(url.hostname), "PGPORT": str(url.port or 5432)}

    def run(self, job: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """With folders of this machine, and the names that databases have here."""
        text = script(job)
        for part in OF_A_DATABASE:
            name, _, _ = part.partition("=")
            text = text.replace(part, f'{name}="$(cat "$of/database")"')
        text = text.replace("/backup", str(self.backups)).replace("/etc/databases", str(self._accounts))
        assert "$service" in text
        return subprocess.run(
            ["sh", "-euc", text],
            env=self._variables | variables,
            capture_output=True,
            text=True,
            check=False,
        )
