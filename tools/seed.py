"""Fill a running instance: users, an organization, repositories, issues, pull requests and a release.

``python tools/seed.py [--url URL]``. It signs in as the first administrator (INGOT_ADMIN_USERNAME,
INGOT_ADMIN_PASSWORD). Everything is created through the API and pushed by git.
A filled instance stays as it is.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

URL = "http://127.0.0.1:3000/"
PASSWORD = "for development only"
"""Of the first administrator of `make dev`, and of all users."""
USERS = ("ann", "bob", "eve")
ORGANIZATION, REPOSITORY, FORK = "lighthouse", "lighthouse/lamp", "bob/lamp"
COMMITS = 40
FILES = ("README.md", "src/lamp.py", "src/lens.py", "docs/keeper.md", "Makefile")
BRANCHES = {"faster": "src/lamp.py", "typo": "README.md", "red": "docs/paint.md"}
"""Branches of pull requests, and the file that each of them changes."""
ISSUES = (
    (
        "The lamp flickers at dusk",
        "bug",
        "It starts when the *fog signal* is on:\n\n```\nlamp: voltage 11.2\n```",
    ),
    ("Say how the lens is cleaned", "documentation", "- [ ] cloth\n- [ ] alcohol\n- [x] patience"),
    ("Turn faster in a storm", "feature", "Ships ask for it. @bob, can the motor do it?"),
    ("The door does not close", "bug", ""),
    ("Paint the tower", "feature", "Red and white, as on the [old picture](https://example.org/tower)."),
    ("Log each change of the bulb", "feature", "See #1."),
)
SECONDS = 60.0
"""Limit of each wait for work that the instance does after a response."""


def administrator() -> tuple[str, str]:
    """Return the name and the password of the first administrator, from the environment of `make dev`."""
    name = os.environ.get("INGOT_ADMIN_USERNAME") or "root"
    return name, os.environ.get("INGOT_ADMIN_PASSWORD") or PASSWORD


class SeedError(Exception):
    """The instance refused a request, or did not do in time what it was asked for."""


class Caller:
    """One user of the API. Raises SeedError with the answer if a request is refused."""

    def __init__(self, url: str, name: str, password: str = PASSWORD) -> None:
        self.name = name
        self._client = httpx.Client(base_url=f"{url}api/v1/", auth=(name, password), timeout=SECONDS)

    def exists(self, path: str) -> bool:
        return self._client.get(path).status_code == 200

    def ask(self, method: str, path: str, **body: Any) -> Any:
        answer = self._client.request(method, path, json=body or None)
        if answer.is_error:
            raise SeedError(f"{self.name}: {method} {path} is {answer.status_code}: {answer.text}")
        return answer.json() if answer.content else None

    def wait_for(self, path: str, field: str, value: object) -> None:
        deadline = time.monotonic() + SECONDS
        while self.ask("GET", path)[field] != value:
            if time.monotonic() > deadline:
                raise SeedError(f"{path}: {field} does not become {value!r} in {SECONDS:g} s")
            time.sleep(0.1)


def seed(url: str = URL, credentials: tuple[str, str] | None = None) -> bool:
    """Fill the instance at ``url``; False if it is filled already."""
    root = Caller(url, *(credentials or administrator()))
    if root.exists(f"users/{USERS[0]}"):
        return False
    for name in USERS:
        root.ask("POST", "admin/users", username=name, email=f"{name}@example.org", password=PASSWORD)
    ann, bob, eve = (Caller(url, name) for name in USERS)
    ann.ask("POST", "orgs", username=ORGANIZATION, full_name="Lighthouse keepers")
    team = ann.ask("POST", f"orgs/{ORGANIZATION}/teams", name="keepers", permission="write")["id"]
    ann.ask("PUT", f"teams/{team}/members/{bob.name}")
    ann.ask("POST", f"orgs/{ORGANIZATION}/repos", name="lamp", description="The lamp and its lens")
    ann.ask("PUT", f"teams/{team}/repos/{REPOSITORY}")
    ann.ask("POST", "user/repos", name="notes", private=True, auto_init=True)
    _push_history(url, ann)
    _issues(ann, bob, eve)
    _pull_requests(ann, bob, eve)
    ann.ask("POST", f"repos/{REPOSITORY}/releases", tag_name="v1.0", name="First light", body="It shines.")
    eve.ask("PUT", f"user/starred/{REPOSITORY}")
    return True


def _push_history(url: str, owner: Caller) -> None:
    """Push the branches and the tag."""
    token = owner.ask("POST", f"users/{owner.name}/tokens", name="seed", scopes=["write:repository"])["sha1"]
    environment = {
        "PATH": os.environ["PATH"], "HOME": os.devnull, "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "http.extraHeader",
        "GIT_CONFIG_VALUE_0": f"Authorization: token {token}",
    }  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="ingot-seed-") as folder:
        for arguments, stream in (
            (["init", "-q", "--bare", "-b", "main"], b""),
            (["fast-import", "--quiet"], b"".join(history())),
            (["push", "-q", "--all", f"{url}{REPOSITORY}.git"], b""),
            (["push", "-q", "--tags", f"{url}{REPOSITORY}.git"], b""),
        ):
            subprocess.run(["git", *arguments], cwd=Path(folder), env=environment, input=stream, check=True)


def history() -> Iterator[bytes]:
    """Make a stream for `git fast-import`: `COMMITS` commits of main, two of each branch, and a tag."""
    contents: dict[str, str] = {}
    clock = 1_750_000_000

    def commit(ref: str, author: str, file: str, message: str, start: str = "") -> bytes:
        nonlocal clock
        clock += 7200
        contents[file] = contents.get(file, f"# {file}\n") + f"# {message.lower()}\n"
        lines = [
            f"commit refs/heads/{ref}", f"committer {author} <{author}@example.org> {clock} +0100",
            f"data {len(message)}", message,
        ]  # fmt: skip
        lines += [f"from {start}"] if start else []
        lines += [f"M 100644 inline {file}", f"data {len(contents[file])}", contents[file]]
        return "\n".join(lines).encode() + b"\n"

    for number in range(COMMITS):
        file, author = FILES[number % len(FILES)], USERS[number % len(USERS)]
        yield commit("main", author, file, f"Improve {file}, step {number + 1}")
    yield b"reset refs/tags/v1.0\nfrom refs/heads/main\n\n"
    for branch, file in BRANCHES.items():
        yield commit(branch, "bob", file, f"Begin {branch}", start="refs/heads/main")
        yield commit(branch, "bob", file, f"Finish {branch}")


def _issues(ann: Caller, bob: Caller, eve: Caller) -> None:
    """Open issues with labels, a milestone and comments, and close one of them."""
    path = f"repos/{REPOSITORY}"
    colors = {"bug": "#ee0701", "documentation": "#0075ca", "feature": "#a2eeef"}
    labels = {
        name: ann.ask("POST", f"{path}/labels", name=name, color=color)["id"]
        for name, color in colors.items()
    }
    milestone = ann.ask("POST", f"{path}/milestones", title="1.1", due_on="2030-01-01T00:00:00Z")["id"]
    for number, (title, label, body) in enumerate(ISSUES, 1):
        author = (eve, bob)[number % 2]
        author.ask("POST", f"{path}/issues", title=title, body=body)
        ann.ask("POST", f"{path}/issues/{number}/labels", labels=[labels[label]])
        ann.ask("POST", f"{path}/issues/{number}/comments", body=f"Thank you, @{author.name}.")
    ann.ask("PATCH", f"{path}/issues/1", milestone=milestone, assignees=[bob.name])
    ann.ask("PATCH", f"{path}/issues/{len(ISSUES)}", state="closed")


def _pull_requests(ann: Caller, bob: Caller, eve: Caller) -> None:
    """Open one pull request for each branch and one from a fork; review one, merge one, and close one."""
    path = f"repos/{REPOSITORY}"
    numbers = {
        branch: bob.ask(
            "POST", f"{path}/pulls", title=f"Merge {branch}", head=branch, base="main",
            body=f"Changes `{file}`.",
        )["number"]
        for branch, file in BRANCHES.items()
    }  # fmt: skip
    remark = {"path": BRANCHES["faster"], "body": "Is the motor strong enough?", "new_position": 1}
    eve.ask("POST", f"{path}/pulls/{numbers['faster']}/reviews", event="COMMENT", comments=[remark])
    ann.wait_for(f"{path}/pulls/{numbers['typo']}", "mergeable", value=True)
    ann.ask("POST", f"{path}/pulls/{numbers['typo']}/merge", Do="merge")
    ann.ask("PATCH", f"{path}/pulls/{numbers['red']}", state="closed")
    bob.ask("POST", f"{path}/forks")
    bob.wait_for(f"repos/{FORK}", "empty", value=False)
    change = {"content": "SGFuZGxlIHdpdGggY2FyZS4K", "message": "Add a warning", "new_branch": "warning"}
    bob.ask("POST", f"repos/{FORK}/contents/WARNING.md", **change)
    bob.ask("POST", f"{path}/pulls", title="Add a warning", head="bob:warning", base="main")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--url", default=os.environ.get("INGOT_URL") or URL, help="root URL of the instance (INGOT_URL)"
    )
    url = f"{parser.parse_args().url.rstrip('/')}/"
    try:
        filled = seed(url)
    except httpx.TransportError as error:
        sys.exit(f"{url} does not answer ({error}); `make dev` starts an instance")
    except SeedError as error:
        sys.exit(str(error))
    people = ", ".join(USERS)
    print(f"{url} {'is filled' if filled else 'was filled before'}: {people}; their password is {PASSWORD!r}")


if __name__ == "__main__":
    main()
