"""The rules of the interface's description, version 1.1.1, for each of its operations.

`interface.json` has the operations with ids, bodies and responses, and the bodies of validated operations.
"""

import json
import re
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import asyncssh
import httpx
import pytest

from .deployments import ADMINISTRATOR, Deployment
from .parts import PATIENCE

INTERFACE = json.loads(Path(__file__).with_name("interface.json").read_text())
OPERATIONS: list[dict[str, Any]] = INTERFACE["operations"]
VALIDATED = [
    one
    for one in OPERATIONS
    if "422" in one["responses"] and "400" not in one["responses"] and one["id"] != "adminDeleteUser"
]
"""Operations that read something which may be invalid."""
EMPTY = {one["key"] for one in OPERATIONS if "empty" in one["responses"].values()}
WRONG: dict[str, list[Any]] = {
    "string": [5, ["x"], {"x": "y"}],
    "integer": ["abc", [1], {}],
    "boolean": ["maybe", [True], {}],
}
LONGEST_MARKDOWN = 131_072
ROOT = ADMINISTRATOR[0]
ORGANIZATION_REPOSITORY = "/teams/{id}/repos/{org}/{repo}"
CREATION_BY_GET = "GET /repos/{owner}/{repo}/releases"
"""The interface creates a release by it. Here it lists them, since a GET is safe (RFC 9110, 9.2.1)."""
IDS_THAT_CANNOT_BE = {
    f"{method} {path}": "the interface gives this id to four operations"
    for method, path in (
        ("DELETE", "/teams/{id}/members/{username}"),
        ("PUT", ORGANIZATION_REPOSITORY),
        ("DELETE", ORGANIZATION_REPOSITORY),
    )
}


class World:
    """The public API as the administrator, with an organization, a repository and a pull request."""

    def __init__(self, http: httpx.Client) -> None:
        self._http = http
        mark = secrets.token_hex(4)
        self.user, self.org, self.repo = f"u-{mark}", f"o-{mark}", f"r-{mark}"
        new = {"username": self.user, "email": f"{self.user}@example.org", "password": "a long password"}
        self.do("POST", "/admin/users", new)
        self.do("POST", f"/admin/users/{ROOT}/orgs", {"username": self.org})
        self.do("POST", "/user/repos", {"name": self.repo, "auto_init": True, "default_branch": "main"})
        self.path = f"/repos/{ROOT}/{self.repo}"
        change = {"content": "YQ==", "message": "Go on", "branch": "main", "new_branch": "topic"}
        self.do("POST", f"{self.path}/contents/a.txt", change)
        self.issue = self.do("POST", f"{self.path}/issues", {"title": "It creaks"})["number"]
        pull = {"title": "Oil it", "head": "topic", "base": "main"}
        self.pull = self.do("POST", f"{self.path}/pulls", pull)["number"]

    def send(self, method: str, path: str, body: Any = None, **options: Any) -> httpx.Response:
        if body is not None:
            options["json"] = body
        return self._http.request(method, f"api/v1{path}", auth=ADMINISTRATOR, **options)

    def do(self, method: str, path: str, body: Any = None) -> Any:
        answer = self.send(method, path, body)
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None

    def valid_bodies(self) -> dict[str, dict[str, Any]]:
        """A body that each validated operation would take, by the name of the body."""
        fresh = f"fresh-{secrets.token_hex(4)}"
        return {
            "CreateUserOption": {
                "username": fresh,
                "email": f"{fresh}@example.org",
                "password": "a long password",
            },
            "EditUserOption": {"email": f"{self.user}@example.org"},
            "CreateKeyOption": {"title": fresh, "key": _key()},
            "CreateOrgOption": {"username": fresh},
            "CreateRepoOption": {"name": fresh},
            "MarkdownOption": {"Text": "*hi*"},
            "CreateGPGKeyOption": {"armored_public_key": "x"},
        }

    def fill(self, path: str) -> str:
        return path.replace("{username}", self.user).replace("{org}", self.org)


@pytest.fixture(scope="module")
def world(deployment: Deployment) -> Iterator[World]:
    with httpx.Client(base_url=deployment.url, timeout=PATIENCE) as http:
        yield World(http)


def _key() -> str:
    return asyncssh.generate_private_key("ssh-ed25519").export_public_key().decode()


def served_operations(deployment: Deployment) -> dict[str, dict[str, Any]]:
    """The operations of the served description, by method and path. Names of parameters do not count."""
    description = httpx.get(f"{deployment.url}api/v1/openapi.json", timeout=PATIENCE).json()
    return {
        _place(f"{method.upper()} {path.removeprefix('/api/v1')}"): operation
        for path, item in description["paths"].items()
        for method, operation in item.items()
    }


def _place(key: str) -> str:
    return re.sub(r"{[^}]*}", "{}", key).rstrip("/")


def _body_name(operation: dict[str, Any]) -> str:
    [schema] = {json.dumps(each["schema"]) for each in operation["requestBody"]["content"].values()}
    schema = json.loads(schema)
    return schema["$ref"].rsplit("/", 1)[1] if "$ref" in schema else schema["type"]


def test_the_description_has_ids_bodies_and_errors_of_the_interface(deployment):
    served, wrong = served_operations(deployment), []
    for expected in OPERATIONS:
        key = expected["key"]
        operation = served[_place(key)]
        if operation["operationId"] != expected["id"] and key not in IDS_THAT_CANNOT_BE:
            wrong.append(f"{key}: the id is {operation['operationId']}, not {expected['id']}")
        if key == CREATION_BY_GET:
            assert "requestBody" not in operation
        elif expected["body"] and _body_name(operation) != expected["body"]:
            wrong.append(f"{key}: the body is {_body_name(operation)}, not {expected['body']}")
        errors = {code for code in expected["responses"] if code.startswith("4")}
        if missing := errors - operation["responses"].keys():
            wrong.append(f"{key}: {sorted(missing)} are not described")

    assert not wrong, "\n".join(wrong)


def test_invalid_input_of_a_validated_operation_is_422(world):
    wrong = []

    def refused(key: str, sent: Any, answer: httpx.Response) -> None:
        if answer.status_code != 422 or not answer.json()["message"]:
            wrong.append(f"{key} {str(sent)[:80]}: {answer.status_code} {answer.text[:200]}")

    as_json = {"content-type": "application/json"}
    with_bodies = [one for one in VALIDATED if one["body"] in INTERFACE["bodies"]]
    for operation in with_bodies:
        key, (method, path) = operation["key"], operation["key"].split()
        path = world.fill(path)
        for content in (b"{", b"[]", b'"x"', b"5", b"\xff\xfe", b'{"x": "\xff"}', b"[" * 5_000):
            refused(key, content, world.send(method, path, content=content, headers=as_json))
        for field, kind in INTERFACE["bodies"][operation["body"]].items():
            for value in WRONG[kind]:
                body = world.valid_bodies()[operation["body"]] | {field: value}
                refused(key, body, world.send(method, path, body))
    for query in (
        "uid=abc",
        "uid=1.5",
        "page=x",
        "limit=y",
        "exclusive=maybe",
        "mode=unknown",
        "q=%00",
        f"uid={10**30}",
    ):
        refused("GET /repos/search", query, world.send("GET", f"/repos/search?{query}"))
    assert len(with_bodies) + 2 == len(VALIDATED)  # a search and a text
    assert not wrong, "\n".join(wrong)


def test_markdown_that_is_too_long_or_not_utf_8_is_422(world):
    text = {"content-type": "text/plain"}
    for content in (b"a" * (LONGEST_MARKDOWN + 1), b"a" * 5_000_000, b"\xff", b"a\xc3"):
        answer = world.send("POST", "/markdown/raw", content=content, headers=text)
        assert answer.status_code == 422, content[:10]
    for length in (LONGEST_MARKDOWN + 1, 5_000_000):
        assert world.send("POST", "/markdown", {"Text": "a" * length}).status_code == 422
    longest = world.send("POST", "/markdown", {"Text": "\U0001f600 " * (LONGEST_MARKDOWN // 2)})
    assert longest.status_code == 200


def test_invalid_input_of_tracked_time_is_400_as_it_alone_declares(world):
    path = f"{world.path}/issues/{world.issue}/times"
    assert [one["id"] for one in OPERATIONS if "400" in one["responses"]] == ["issueAddTime"]
    as_json = {"content-type": "application/json"}
    for content in (b"{", b"[]", b"\xff", b"{}", b'{"time": 0}', b'{"time": "abc"}', b'{"time": [1]}'):
        answer = world.send("POST", path, content=content, headers=as_json)
        assert (answer.status_code, "message" in answer.json()) == (400, True), content


def test_a_check_that_answers_no_is_404_without_a_body(deployment, world):
    """Every GET operation whose success is 204 is a check."""
    description = httpx.get(f"{deployment.url}api/v1/openapi.json", timeout=PATIENCE).json()
    checks = {
        _place(f"GET {path.removeprefix('/api/v1')}"): path.removeprefix("/api/v1")
        for path, item in description["paths"].items()
        if "204" in item.get("get", {}).get("responses", {})
    }
    expected = {
        one["key"] for one in OPERATIONS if one["key"].startswith("GET ") and "204" in one["responses"]
    }
    assert {_place(key) for key in expected} <= checks.keys()
    assert len(checks) > len(expected)
    real = {"{org}": world.org, "{owner}": ROOT, "{repo}": world.repo, "{index}": str(world.pull)}
    absent = {"{index}": "999999"}
    for path in checks.values():
        for values in (real, absent):
            filled = path
            for name in re.findall(r"{[^}]*}", path):
                filled = filled.replace(name, values.get(name, "absent"))
            answer = world.send("GET", filled)
            assert (answer.status_code, answer.content) == (404, b""), (filled, answer.text)
            assert "content-type" not in answer.headers, filled


def test_a_check_with_a_token_that_lacks_the_scope_says_so(world):
    token = world.do("POST", f"/users/{ROOT}/tokens", {"name": world.repo, "scopes": ["read:misc"]})["sha1"]
    answer = httpx.get(
        f"{world._http.base_url}api/v1/orgs/{world.org}/members/{ROOT}",
        headers={"authorization": f"token {token}"},
        timeout=PATIENCE,
    )
    assert (answer.status_code, "scope" in answer.json()["message"]) == (403, True)


def test_a_merge_that_is_not_allowed_is_405_without_a_body_and_its_reason_stays(world):
    merge, pull = f"{world.path}/pulls/{world.pull}/merge", f"{world.path}/pulls/{world.pull}"

    def refused(reason: str, body: Any = None) -> None:
        answer = world.send("POST", merge, body or {"Do": "merge"})
        assert (answer.status_code, answer.content) == (405, b""), answer.text
        assert "content-type" not in answer.headers
        assert reason in answer.headers["x-error-message"]

    def reasons() -> list[str]:
        return [one["reason"] for one in world.do("GET", pull)["merge_refusals"]]

    assert reasons() == []
    world.do("PATCH", pull, {"title": "WIP: Oil it"})
    refused("work in progress")
    assert reasons() == ["the title says that it is work in progress"]
    world.do("PATCH", pull, {"title": "Oil it"})

    rule = {"rule_name": "main", "required_approvals": 1}
    world.do("POST", f"{world.path}/branch_protections", rule)
    refused("approval")
    assert ["approval" in reason for reason in reasons()] == [True]
    world.do("DELETE", f"{world.path}/branch_protections/main")

    world.do("PATCH", world.path, {"allow_squash_merge": False})
    refused("squash", {"Do": "squash"})
    refused("manually-merged", {"Do": "manually-merged", "merge_commit_id": "1" * 40})

    world.do("PATCH", pull, {"state": "closed"})
    refused("closed")
    assert reasons() == ["the pull request is closed"]
    world.do("PATCH", pull, {"state": "open"})


def test_an_empty_answer_has_no_content_type(deployment, world):
    """Every operation of the interface that declares an empty answer gives it."""
    done: set[str] = set()

    def empty(key: str, path: str, body: Any = None, status: int = 204) -> None:
        answer = world.send(key.split(maxsplit=1)[0], path, body)
        assert (answer.status_code, answer.content) == (status, b""), f"{key}: {answer.text}"
        assert "content-type" not in answer.headers, key
        done.add(key)

    user, org, root = world.user, world.org, world.path
    repo, team = (
        "{owner}/{repo}",
        world.do("POST", f"/orgs/{org}/teams", {"name": "crew", "permission": "read"}),
    )
    hook = {"type": "gitea", "config": {"url": "http://127.0.0.1:9/", "content_type": "json"}}
    below = f"/teams/{team['id']}"
    world.do("POST", f"/orgs/{org}/repos", {"name": "inner"})

    empty("PUT /teams/{id}/members/{username}", f"{below}/members/{user}")
    empty("PUT /teams/{id}/repos/{org}/{repo}", f"{below}/repos/{org}/inner")
    empty("DELETE /teams/{id}/repos/{org}/{repo}", f"{below}/repos/{org}/inner")
    empty("GET /orgs/{org}/members/{username}", f"/orgs/{org}/members/{user}")
    empty("PUT /orgs/{org}/public_members/{username}", f"/orgs/{org}/public_members/{ROOT}")
    empty("GET /orgs/{org}/public_members/{username}", f"/orgs/{org}/public_members/{ROOT}")
    empty("DELETE /orgs/{org}/public_members/{username}", f"/orgs/{org}/public_members/{ROOT}")
    empty("DELETE /teams/{id}/members/{username}", f"{below}/members/{user}")
    empty("DELETE /orgs/{org}/members/{username}", f"/orgs/{org}/members/{user}")
    empty("DELETE /teams/{id}", below)
    hook_id = world.do("POST", f"/orgs/{org}/hooks", hook)["id"]
    empty("DELETE /orgs/{org}/hooks/{id}", f"/orgs/{org}/hooks/{hook_id}")

    one = "/repos/{owner}/{repo}/collaborators/{collaborator}"
    empty(f"PUT {one}", f"{root}/collaborators/{user}", {"permission": "read"})
    empty(f"GET {one}", f"{root}/collaborators/{user}")
    empty(f"DELETE {one}", f"{root}/collaborators/{user}")
    label = world.do("POST", f"{root}/labels", {"name": "bug", "color": "#ee0701"})["id"]
    world.do("POST", f"{root}/issues/{world.issue}/labels", {"labels": [label]})
    issue = f"{root}/issue/{world.issue}"
    empty(f"DELETE /repos/{repo}/issue/{{index}}/labels/{{id}}", f"{issue}/labels/{label}")
    empty(f"DELETE /repos/{repo}/issue/{{index}}/labels", f"{issue}/labels")
    empty(f"DELETE /repos/{repo}/labels/{{id}}", f"{root}/labels/{label}")
    for place in ("issues/comments/{id}", "issues/{index}/comments/{id}"):
        comment = world.do("POST", f"{root}/issues/{world.issue}/comments", {"body": "I hear"})["id"]
        path = place.replace("{index}", str(world.issue)).replace("{id}", str(comment))
        empty(f"DELETE /repos/{repo}/{place}", f"{root}/{path}")
    milestone = world.do("POST", f"{root}/milestones", {"title": "first"})["id"]
    empty(f"DELETE /repos/{repo}/milestones/{{id}}", f"{root}/milestones/{milestone}")
    key = world.do("POST", f"{root}/keys", {"title": "robot", "key": _key()})["id"]
    empty(f"DELETE /repos/{repo}/keys/{{id}}", f"{root}/keys/{key}")
    hook_id = world.do("POST", f"{root}/hooks", hook)["id"]
    empty("DELETE /repos/{user}/{repo}/hooks/{id}", f"{root}/hooks/{hook_id}")
    release = world.do("POST", f"{root}/releases", {"tag_name": "v1"})["id"]
    empty(f"DELETE /repos/{repo}/releases/{{id}}", f"{root}/releases/{release}")
    world.do("PUT", f"{root}/subscription")
    empty(f"DELETE /repos/{repo}/subscription", f"{root}/subscription")

    other = world.do(
        "POST", "/user/repos", {"name": f"{world.repo}-2", "auto_init": True, "default_branch": "main"}
    )
    change = {"content": "YQ==", "message": "Go on", "branch": "main", "new_branch": "topic"}
    path = f"/repos/{other['full_name']}"
    world.do("POST", f"{path}/contents/a.txt", change)
    world.do("POST", f"{path}/pulls", {"title": "Oil it", "head": "topic", "base": "main"})
    empty(f"POST /repos/{repo}/pulls/{{index}}/merge", f"{path}/pulls/1/merge", {"Do": "merge"}, 200)
    empty(f"GET /repos/{repo}/pulls/{{index}}/merge", f"{path}/pulls/1/merge")
    copy = {
        "clone_addr": f"{deployment.url}{other['full_name']}.git",
        "repo_name": f"{world.repo}-3",
        "mirror": True,
    }
    world.do("POST", "/repos/migrate", copy)
    empty(f"POST /repos/{repo}/mirror-sync", f"/repos/{ROOT}/{world.repo}-3/mirror-sync", status=200)
    empty(f"DELETE /repos/{repo}", f"/repos/{ROOT}/{world.repo}-3")

    follow, star = f"/user/following/{user}", f"/user/starred/{ROOT}/{world.repo}"
    empty("PUT /user/following/{username}", follow)
    empty("GET /user/following/{followee}", follow)
    empty("GET /users/{follower}/following/{followee}", f"/users/{ROOT}/following/{user}")
    empty("DELETE /user/following/{username}", follow)
    for method in ("PUT", "GET", "DELETE"):
        empty(f"{method} /user/starred/{repo}", star)
    emails = {"emails": [f"{world.repo}@example.org"]}
    world.do("POST", "/user/emails", emails)
    empty("DELETE /user/emails", "/user/emails", emails)
    key = world.do("POST", "/user/keys", {"title": world.repo, "key": _key()})["id"]
    empty("DELETE /user/keys/{id}", f"/user/keys/{key}")
    empty("DELETE /user/gpg_keys/{id}", "/user/gpg_keys/999999")
    empty("DELETE /admin/users/{username}", f"/admin/users/{user}")

    assert world.send("POST", "/markdown", {"Text": ""}).headers.get("content-type") is None
    assert done == EMPTY
