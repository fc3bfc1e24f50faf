"""A pull request that needs two approvals: outdated, dismissed, approved again, and merged when it may be."""

import asyncio
import secrets
from base64 import b64encode
from typing import Any

import httpx

from .deployments import ADMINISTRATOR

FILE = {"content": "YSBkcm9wCg==", "branch": "main"}
RULE = {
    "rule_name": "main",
    "required_approvals": 2,
    "dismiss_stale_approvals": True,
    "enable_status_check": True,
    "status_check_contexts": ["ci"],
}


class Forge:
    """The public API, as people who sign in by password."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http

    async def __call__(self, status: int, who: str, method: str, path: str, body: Any = None) -> Any:
        """The body of an answer that has the status."""
        auth = ADMINISTRATOR if who == ADMINISTRATOR[0] else (who, f"what {who} knows")
        answer = await self._http.request(method, path, json=body, auth=auth)
        assert answer.status_code == status, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None

    async def until(self, who: str, path: str, field: str, value: object) -> None:
        """Wait for what follows from an event."""
        async with asyncio.timeout(60):
            while (await self(200, who, "GET", path))[field] != value:
                await asyncio.sleep(0.05)


async def test_a_protected_branch_is_merged_into_when_all_that_it_demands_is_there(deployment):
    mark = secrets.token_hex(3)
    ann, bob, cat, dan = people = [f"{name}-{mark}" for name in ("ann", "bob", "cat", "dan")]
    async with httpx.AsyncClient(base_url=f"{deployment.url}api/v1/", timeout=60) as http:
        ask = Forge(http)
        for name in people:
            new = {"username": name, "email": f"{name}@example.org", "password": f"what {name} knows"}
            await ask(201, ADMINISTRATOR[0], "POST", "admin/users", new)
        await ask(
            201, ann, "POST", "user/repos", {"name": "app", "auto_init": True, "default_branch": "main"}
        )
        root = f"repos/{ann}/app"
        for name in (bob, cat, dan):
            await ask(204, ann, "PUT", f"{root}/collaborators/{name}", {"permission": "write"})
        await ask(201, ann, "POST", f"{root}/branch_protections", RULE)

        await ask(201, bob, "POST", f"{root}/contents/oil.txt", FILE | {"new_branch": "fix"})
        created = await ask(
            201, bob, "POST", f"{root}/pulls", {"title": "Oil it", "head": "fix", "base": "main"}
        )
        pull = f"{root}/pulls/{created['number']}"
        assert (created["additions"], created["changed_files"]) == (1, 1)
        first = await ask(200, cat, "POST", f"{pull}/reviews", {"event": "APPROVED"})
        assert first["official"]
        await ask(405, bob, "POST", f"{pull}/merge", {"do": "squash"})
        [refusal, other] = (await ask(200, bob, "GET", pull))["merge_refusals"]
        assert "it has 1 of 2 approvals" in refusal["reason"]
        assert "these checks have not succeeded: ci" in other["reason"]

        await ask(201, bob, "POST", f"{root}/contents/more.txt", FILE | {"branch": "fix"})
        await ask.until(cat, f"{pull}/reviews/{first['id']}", "dismissed", value=True)
        assert (await ask(200, cat, "GET", f"{pull}/reviews/{first['id']}"))["stale"]
        waiting = {"do": "squash", "merge_when_checks_succeed": True, "delete_branch_after_merge": True}
        await ask(201, bob, "POST", f"{pull}/merge", waiting)

        second = await ask(200, cat, "POST", f"{pull}/reviews", {"event": "APPROVED"})
        await ask(200, ann, "POST", f"{pull}/reviews/{second['id']}/dismissals", {"message": "look again"})
        await ask(200, dan, "POST", f"{pull}/reviews", {"event": "APPROVED"})
        await ask(200, cat, "POST", f"{pull}/reviews", {"event": "APPROVED"})
        shown = await ask(200, bob, "GET", pull)
        assert (shown["merged"], shown["changed_files"]) == (False, 2)
        await ask(
            201, ann, "POST", f"{root}/statuses/{shown['head']['sha']}", {"state": "success", "context": "ci"}
        )
        await ask.until(bob, pull, "merged", value=True)
        merged = await ask(200, bob, "GET", pull)
        assert merged["merged_by"]["login"] == bob
        tip = await ask(200, ann, "GET", f"{root}/branches/main")
        assert tip["commit"]["id"] == merged["merge_commit_sha"]
        async with asyncio.timeout(60):
            while (
                await http.get(f"{root}/branches/fix", auth=(ann, f"what {ann} knows"))
            ).status_code != 404:
                await asyncio.sleep(0.05)


async def test_a_head_that_a_force_push_replaced_is_compared_and_read_nowhere_else(deployment):
    ann = f"ann-{secrets.token_hex(3)}"
    async with httpx.AsyncClient(base_url=f"{deployment.url}api/v1/", timeout=60) as http:
        ask = Forge(http)
        person = {"username": ann, "email": f"{ann}@example.org", "password": f"what {ann} knows"}
        await ask(201, ADMINISTRATOR[0], "POST", "admin/users", person)
        await ask(
            201, ann, "POST", "user/repos", {"name": "app", "auto_init": True, "default_branch": "main"}
        )
        root, heads = f"repos/{ann}/app", []
        for branch, last in (("fix", "first"), ("again", "second")):
            text = "".join(f"{number}\n" for number in range(20)) + f"{last}\n"
            file = {"content": b64encode(text.encode()).decode(), "branch": "main", "new_branch": branch}
            answer = await ask(201, ann, "POST", f"{root}/contents/oil.txt", file | {"message": "Oil it"})
            heads.append(answer["commit"]["sha"])
        old, new = heads
        opened = await ask(
            201, ann, "POST", f"{root}/pulls", {"title": "Oil it", "head": "fix", "base": "main"}
        )
        pull = f"{root}/pulls/{opened['number']}"
        move = {"new_commit_id": new, "force": True}
        await ask(204, ann, "PUT", f"{root}/branches/fix", move)
        async with asyncio.timeout(60):
            while (await ask(200, ann, "GET", pull))["head"]["sha"] != new:
                await asyncio.sleep(0.05)
        page = f"{deployment.url}{ann}/app/pulls/{opened['number']}"
        way = f'/pulls/{opened["number"]}/range-diff?old={old}&amp;new={new}"'
        assert way in (await http.get(page)).text
        shown = await http.get(f"{page}/range-diff?old={old}&new={new}")
        assert (shown.status_code, "1 changed" in shown.text) == (200, True), shown.text
        for line in ('<span class="del">-+first', '<span class="add">++second'):
            assert line in shown.text
        await ask(404, ann, "GET", f"{root}/git/commits/{old}")
        base = await ask(200, ann, "GET", f"{root}/branches/main")
        refused = await http.get(f"{page}/range-diff?old={base['commit']['id']}&new={new}")
        assert (refused.status_code, "1 changed" in refused.text) == (404, False)
        await ask(200, ann, "PATCH", root, {"private": True})
        assert (await http.get(f"{page}/range-diff?old={old}&new={new}")).status_code == 404
