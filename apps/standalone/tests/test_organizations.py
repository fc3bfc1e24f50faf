"""``ingot export --organization`` and ``ingot import --organization``, between organizations of one Ingot."""

import hashlib
import io
import json
import stat
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from ingot_chassis.errors import CannotStart
from ingot_standalone.archives import RemoteServer

from .ingot_command import RunningIngot, ingot
from .test_archives import Server

Call = Callable[..., Any]
SCOPES = ["write:organization", "write:repository", "write:issue", "read:user", "write:admin"]


@pytest.fixture(scope="module")
def call(running: RunningIngot) -> Call:
    """Sends a request as the administrator."""

    def send(method: str, path: str, body: Any = None) -> Any:
        url = f"{running.url}api/v1/{path}"
        answer = httpx.request(method, url, auth=("root", running.password), json=body, timeout=30)
        assert answer.is_success, f"{method} {path}: {answer.text}"
        return answer.json() if answer.content else None

    return send


@pytest.fixture
def token(call: Call, request: pytest.FixtureRequest) -> str:
    new = {"name": request.node.name[:50], "scopes": SCOPES}
    return str(call("POST", "users/root/tokens", new)["sha1"])


@pytest.fixture(scope="module")
def crew(call: Call) -> str:
    """An organization with a label, two repositories, and a team that has one of them."""
    for name in ("ann", "bob", "cat"):
        new = {"username": name, "email": f"{name}@example.org", "password": f"what {name} knows"}
        call("POST", "admin/users", new)
    call("POST", "orgs", {"username": "crew", "description": "all lamps", "visibility": "limited"})
    label = call("POST", "orgs/crew/labels", {"name": "for all", "color": "#00aabb"})
    for name in ("lamps", "oil"):
        call("POST", "orgs/crew/repos", {"name": name, "auto_init": True, "private": name == "oil"})
        call("POST", f"repos/crew/{name}/issues", {"title": f"about {name}", "labels": [label["id"]]})
    team = {"name": "writers", "units_map": {"repo.code": "write", "repo.issues": "read"}}
    number = call("POST", "orgs/crew/teams", team)["id"]
    call("PUT", f"teams/{number}/repos/crew/lamps")
    for name in ("ann", "bob", "cat"):
        call("PUT", f"teams/{number}/members/{name}")
    return "crew"


def teams_of(call: Call, name: str) -> dict[str, Any]:
    """Return rights, members and repositories of teams by name."""
    return {
        team["name"]: (
            team["permission"],
            team["units_map"],
            sorted(one["login"] for one in call("GET", f"teams/{team['id']}/members")),
            sorted(one["name"] for one in call("GET", f"teams/{team['id']}/repos")),
        )
        for team in call("GET", f"orgs/{name}/teams")
    }


def test_an_organization_comes_back_with_teams_labels_and_repositories(
    running: RunningIngot, call: Call, token: str, crew: str, tmp_path: Path
) -> None:
    file, there = tmp_path / "crew.zip", f"{running.url}{crew}"
    done = ingot("export", "--organization", there, str(file), INGOT_TOKEN=token)
    assert done.code == 0, done.out
    assert [path.name for path in tmp_path.iterdir()] == ["crew.zip"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with zipfile.ZipFile(file) as archive:
        paths = ["repositories/00001.zip", "repositories/00002.zip", "organization.json"]
        assert archive.namelist() == paths
        assert b"@" not in archive.read("organization.json")
    for name in ("lamps", "oil"):
        url = f"{running.url}api/v1/repos/crew/{name}/export"
        assert httpx.get(url, auth=("root", running.password)).status_code == 404

    was = teams_of(call, crew)
    done = ingot("import", "--organization", str(file), f"{running.url}strangers", INGOT_TOKEN=token)
    assert done.code == 0, done.out
    assert "who did not join teams: ann, bob, cat, root" in done.out
    strangers = teams_of(call, "strangers")
    assert (strangers["writers"][2], strangers["Owners"][2]) == ([], ["root"])

    arguments = ("import", "--organization", "--map-logins", str(file), f"{running.url}copy")
    done = ingot(*arguments, INGOT_TOKEN=token)
    assert done.code == 0, done.out
    assert "who did not join" not in done.out
    copy, here = call("GET", "orgs/copy"), teams_of(call, "copy")
    assert (copy["description"], copy["visibility"]) == ("all lamps", "limited")
    assert here.pop("writers") == (*was.pop("writers")[:2], ["ann", "bob", "cat"], ["lamps"])
    assert here == was
    assert [one["name"] for one in call("GET", "orgs/copy/labels")] == ["for all"]
    for name in ("lamps", "oil"):
        assert call("GET", f"repos/copy/{name}")["private"] is (name == "oil")
        [issue] = call("GET", f"repos/copy/{name}/issues")
        assert (issue["title"], [one["name"] for one in issue["labels"]]) == (f"about {name}", ["for all"])
        assert call("GET", f"repos/copy/{name}/contents/README.md")["type"] == "file"

    error = ingot("import", "--organization", str(file), f"{running.url}copy", INGOT_TOKEN=token).error_line
    assert "refuses it (422)" in error

    new = {"name": "export", "scopes": ["read:organization", "write:repository", "read:user", "read:issue"]}
    ann = httpx.post(
        f"{running.url}api/v1/users/ann/tokens", json=new, auth=("ann", "what ann knows"), timeout=30
    )
    arguments = ("export", "--organization", there, str(tmp_path / "part.zip"))
    error = ingot(*arguments, INGOT_TOKEN=ann.json()["sha1"]).error_line
    assert "only an owner of crew" in error
    assert not (tmp_path / "part.zip").exists()


def test_an_archive_of_the_api_is_imported_like_one_of_the_command(
    running: RunningIngot, call: Call, token: str, crew: str, tmp_path: Path
) -> None:
    name = "crew"
    state = call("POST", f"orgs/{name}/exports")
    path = f"orgs/{name}/exports/{state['id']}"
    deadline = time.monotonic() + 60
    while state["status"] == "running":
        assert time.monotonic() < deadline, state
        time.sleep(0.2)
        state = call("GET", path)
    assert (state["status"], state["error"], state["repositories"]["done"]) == ("done", "", 2)
    url = f"{running.url}api/v1/{path}/archive"
    file = tmp_path / "crew.zip"
    file.write_bytes(httpx.get(url, auth=("root", running.password), timeout=30).content)
    assert file.stat().st_size == state["size"]

    by_command = tmp_path / "command.zip"
    done = ingot("export", "--organization", f"{running.url}{name}", str(by_command), INGOT_TOKEN=token)
    assert done.code == 0, done.out
    manifests = [json.loads(zipfile.ZipFile(one).read("organization.json")) for one in (file, by_command)]
    for manifest in manifests:
        assert manifest.pop("created_at")
        manifest.pop("left_out", None)
        names = [one["name"] for one in manifest.pop("repositories")]
        assert sorted(names) == ["lamps", "oil"]
    assert manifests[0] == manifests[1]

    mapped = ("import", "--organization", "--map-logins", str(file), f"{running.url}again")
    done = ingot(*mapped, INGOT_TOKEN=token)
    assert done.code == 0, done.out
    was, here = teams_of(call, name), teams_of(call, "again")
    assert here == was
    assert here["writers"][2:] == (["ann", "bob", "cat"], ["lamps"])
    assert [one["name"] for one in call("GET", "orgs/again/labels")] == ["for all"]
    for repository in ("lamps", "oil"):
        [issue] = call("GET", f"repos/again/{repository}/issues")
        assert (issue["title"], [one["name"] for one in issue["labels"]]) == (
            f"about {repository}",
            ["for all"],
        )


@pytest.mark.parametrize("address", ["", "crew", "ftp://x/crew", "http://ann:secret@x/crew"])
def test_what_is_no_address_of_an_organization_is_refused(address: str, tmp_path: Path) -> None:
    error = ingot("export", "--organization", address, str(tmp_path / "a.zip")).error_line
    assert "is not the address of an organization" in error


MANIFEST = {
    "format": "ingot-organization",
    "version": 1,
    "labels": [],
    "teams": [],
    "repositories": [{"name": "lamps", "path": "repositories/00001.zip", "sha256": "0" * 64}],
}


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"manifest.json": "{}"}, "is not an archive of an organization"),
        ({"organization.json": "{"}, "is not an archive of an organization"),
        ({"organization.json": json.dumps(MANIFEST | {"version": 2})}, "another version than 1"),
        ({"organization.json": json.dumps(MANIFEST)}, "repositories/00001.zip"),
        ({"organization.json": "[" * 100_000}, "is not an archive of an organization"),
        ({"organization.json": json.dumps(MANIFEST | {"teams": [{"name": 7}]})}, "teams"),
    ],
)
def test_another_file_creates_nothing(files: dict[str, str], words: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    address = "http://127.0.0.1:1/crew"
    assert words in ingot("import", "--organization", str(tmp_path / "a.zip"), address).error_line


def test_an_import_names_what_its_file_lacks(running: RunningIngot, token: str, tmp_path: Path) -> None:
    lost = {"name": "oil\n", "error": "the repository was deleted"}
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("organization.json", json.dumps(MANIFEST | {"repositories": [], "left_out": [lost]}))
    arguments = ("import", "--organization", str(tmp_path / "a.zip"), f"{running.url}part")
    done = ingot(*arguments, INGOT_TOKEN=token)
    assert done.code == 0, done.out
    assert f"oil is not in {tmp_path / 'a.zip'}: the repository was deleted" in done.out


def test_options_that_do_not_fit_an_organization_are_refused(tmp_path: Path) -> None:
    address = "http://127.0.0.1:1/crew"
    layout = ("--organization", "--layout", "gitea", address, str(tmp_path / "a"))
    assert "no layout of Gitea" in ingot("export", *layout).error_line
    private = ("--organization", "--private", str(tmp_path / "a.zip"), address)
    assert "if they were private" in ingot("import", *private).error_line


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server(200, b"[]")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def site(server: Server) -> str:
    return f"http://127.0.0.1:{server.server_port}"


def test_a_list_of_a_server_that_ignores_pages_ends(server: Server) -> None:
    server.bodies["limit=50&page=1"] = server.bodies["limit=50&page=2"] = b'[{"id": 7}]'
    assert RemoteServer(site(server), "").all("orgs/crew/repos") == [{"id": 7}]


def test_a_list_that_changes_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def answers(*pages: list[int]) -> Callable[..., Any]:
        """Answer with these pages of ids, of a list of three."""
        left = iter(pages)

        def call(*_: Any, **__: Any) -> Any:
            body = io.BytesIO(json.dumps([{"id": one} for one in next(left)]).encode())
            body.headers = {"X-Total-Count": "3"}  # type: ignore[attr-defined]
            return body

        return call

    remote = RemoteServer("http://127.0.0.1:1", "")
    monkeypatch.setattr(RemoteServer, "call", answers([1, 2], [2], [2, 1], [3], []))
    assert [one["id"] for one in remote.all("orgs/crew/repos")] == [2, 1, 3]
    monkeypatch.setattr(RemoteServer, "call", answers(*[[1, 2], []] * 5))
    with pytest.raises(CannotStart, match="only a part of orgs/crew/repos"):
        remote.all("orgs/crew/repos")


def test_no_archive_stays_at_the_server_after_a_broken_download(server: Server, tmp_path: Path) -> None:
    server.bodies = {
        "/orgs/crew": b'{"username": "crew"}',
        "/user": b'{"login": "ann"}',
        "/permissions": b'{"is_owner": true}',
        "/repos?limit=50&page=1": b'[{"id": 7, "name": "lamps"}]',
        "/lamps/export": b'{"status": "done", "counts": {}}',
    }
    arguments = ("export", "--organization", f"{site(server)}/crew", str(tmp_path / "a.zip"))
    assert "the download broke off" in ingot(*arguments).error_line
    assert server.requests[-1][:2] == ("DELETE", "/api/v1/repos/crew/lamps/export")
    assert [*tmp_path.iterdir()] == []


def file_with_a_repository(path: Path, **entry: Any) -> Path:
    one = {"name": "lamps", "path": "repositories/00001.zip", "sha256": hashlib.sha256(b"lamps").hexdigest()}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("repositories/00001.zip", b"lamps", **entry)
        archive.writestr("organization.json", json.dumps(MANIFEST | {"repositories": [one]}))
    return path


def test_an_import_that_stops_says_what_it_left(server: Server, tmp_path: Path) -> None:
    address, file = f"{site(server)}/crew", file_with_a_repository(tmp_path / "a.zip")
    server.fails = "/migrate/archive?owner=crew&name=lamps"
    error = ingot("import", "--organization", str(file), address).error_line
    assert f"{address}/lamps: the server refuses it (500)" in error
    assert f"{address} has 0 of 1 repositories" in error
    assert "delete its repositories and the organization, and begin again" in error
    server.fails = ""
    error = ingot("import", "--organization", str(file), address).error_line
    assert "gives another answer than Ingot" in error
    assert "is not an archive" not in error
    assert [path.name for path in tmp_path.iterdir()] == ["a.zip"]


def test_a_compressed_repository_is_refused_first(server: Server, tmp_path: Path) -> None:
    file = file_with_a_repository(tmp_path / "a.zip", compress_type=zipfile.ZIP_DEFLATED)
    error = ingot("import", "--organization", str(file), f"{site(server)}/crew").error_line
    assert "repositories/00001.zip is compressed" in error
    assert server.requests == []
