"""The address of every page of web, for ``pages.py --all``, and the data of these pages.

The routes come from the app of web, so new pages are included. Their placeholders need values here.
"""

import re
import time

import httpx

from ingot_chassis.security.keys import SigningKey
from ingot_web.app import create_app
from ingot_web.settings import Settings
from ingot_web.site.api.other_names import NAMES

NO_PAGES = re.compile(
    r"/(internal/.*|livez|readyz|metrics|favicon\.ico|robots\.txt|-/.*|admin|explore|explore/names|notifications/unread|user/settings/organization|.*/blob_excerpt/{sha}|.*/(raw|media)/{ref}|.*/comments/{comment_id}|.*/latest"
    r"|org/{org}/teams/{team}.*|.*/(commits|graph)|.*/milestone/{milestone_id}|.*/settings/tags|.*/pulls/{index}/(checks|reviews/{review_id}))"
)
"""Addresses for programs and files, and redirects to pages."""
VALUES = {
    "repo": "large", "org": "lamps", "index": "1", "tag": "v1", "ref": "branch/main/src/part07/module42.py",
    "basehead": "main...topic",
}  # fmt: skip
"""Values of placeholders, in addition to the ids from ``fill_rest``."""
PATHS = {
    "/{owner}/{repo}/_new/{ref}": "/{owner}/{repo}/_new/main",
    "/{owner}/{repo}/_upload/{ref}": "/{owner}/{repo}/_upload/main",
    "/{owner}/{repo}/_edit/{ref}": "/{owner}/{repo}/_edit/main/src/part07/module42.py",
    "/{owner}/{repo}/_delete/{ref}": "/{owner}/{repo}/_delete/main/src/part07/module42.py",
    "/{owner}/{repo}/find/{ref}": "/{owner}/{repo}/find/branch/main",
    "/{owner}/{repo}/settings/teams": "/{org}/charts/settings/teams",
    "/{owner}/{repo}/transfer": "/ann/offer/transfer",
    "/{owner}/{repo}/pulls/{index}": "/{owner}/{repo}/pulls/{pull}",
    "/{owner}/{repo}/pulls/{index}/commits": "/{owner}/{repo}/pulls/{pull}/commits",
    "/{owner}/{repo}/pulls/{index}/files": "/{owner}/{repo}/pulls/{pull}/files",
}
"""Routes that need other values."""
_REPOSITORY = "/{owner}/{repo}"
STATES = (
    "/explore/repos?q=large", "/explore/issues?q=flickers", "/{org}", "/{owner}?tab=activity",
    "/{owner}?tab=followers", "/{owner}?tab=stars",
    *(f"{_REPOSITORY}{path}" for path in (
        "/src/branch/main", "/src/branch/main/src", "/src/branch/main/src/part07",
        "/src/branch/main/README.md", "/commits/branch/main", "/commits/branch/main?page=60",
        "/issues?q=flickers", "/issues?state=closed", "/issues?state=all&page=40",
        "/issues?labels=kind+1", "/issues?milestone=Next", "/issues?sort=mostcomment", "/pulls?state=closed",
        "/pulls/{pull}/files?style=split", "/pulls/{pull}/files?at=1R8", "/commit/{sha}?style=split",
        "/compare/main...topic?style=split",
    )),
)  # fmt: skip
"""Other states of pages."""


def list_pages(named: dict[str, str]) -> list[tuple[str, str]]:
    """Return the route and one address of each page."""
    app = create_app(Settings(private_key=SigningKey.generate().text(), background=False))
    routes = {str(route.path_format) for route in app.routes if "GET" in getattr(route, "methods", ())}
    routes -= {re.sub(r":\w+", "", name) for name in NAMES}
    names = [name for name in sorted(routes) if not NO_PAGES.fullmatch(name)]
    values = VALUES | named
    return [(name, _filled(PATHS.get(name, name), values)) for name in (*names, *STATES)]


def _filled(path: str, values: dict[str, str]) -> str:
    of = re.match(r"/(org/|user/)?", path)
    kind = (of[1] if of else "") or ""  # hooks belong to a repository, an organization or a user
    return re.sub(r"{(\w+)}", lambda name: values.get(kind + name[1]) or values[name[1]], path.lstrip("/"))


def fill_rest(client: httpx.Client, base: str, owner: str) -> dict[str, str]:
    """Create the data of the other pages. Return the values for their paths."""

    def make(path: str, **body: object) -> dict[str, int]:
        answer = client.post(f"api/v1/{path}", json=body).raise_for_status()
        thing: dict[str, int] = answer.json() if answer.content else {}
        return thing

    hook = {
        "type": "gitea",
        "config": {"url": "http://127.0.0.1:9/", "content_type": "json"},
        "events": ["push", "issues", "repository"],
        "active": True,
    }
    values = {"owner": owner, "username": owner}
    make("orgs", username="lamps")
    hooks = {"": f"{base}/hooks", "user/": "user/hooks", "org/": "orgs/lamps/hooks"}
    for of, path in hooks.items():
        values[f"{of}hook_id"] = str(make(path, **hook)["id"])
    make("orgs/lamps/repos", name="charts", auto_init=True)
    values["team"] = str(make("orgs/lamps/teams", name="crew", permission="write")["id"])
    make("orgs/lamps/labels", name="sea", color="#2a6fdb")
    make("admin/users", username="ann", email="ann@example.org", password="the lamp is lit")
    ann = {"Sudo": "ann"}
    client.post("api/v1/user/repos", json={"name": "offer"}, headers=ann).raise_for_status()
    transfer = {"new_owner": owner}
    client.post("api/v1/repos/ann/offer/transfer", json=transfer, headers=ann).raise_for_status()
    make("user/repos", name="other", auto_init=True)
    make(f"{base}/branch_protections", rule_name="main", enable_push=True, required_approvals=1)
    values["rule_id"] = str(
        make(f"{base}/tag_protections", name_pattern="v*", whitelist_usernames=[owner])["id"]
    )
    values["milestone_id"] = "1"
    make(f"{base}/issues", title="A last one")
    for of, path in hooks.items():
        values[f"{of}delivery_id"] = _delivery(client, f"{path}/{values[f'{of}hook_id']}/deliveries")
    return values


def _delivery(client: httpx.Client, path: str) -> str:
    for _ in range(100):
        deliveries = client.get(f"api/v1/{path}").raise_for_status().json()
        if deliveries:
            return str(deliveries[0]["id"])
        time.sleep(0.2)
    raise SystemExit(f"{path} stays empty")
