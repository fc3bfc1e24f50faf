"""axe-core looks at the main pages in the machine's Chromium: no serious fault, in light and in dark."""

import asyncio
import base64
from pathlib import Path

import httpx
import pytest

from ingot_chassis.testing.browser import chromium, open_page

from .deployments import ADMINISTRATOR

PROGRAM = chromium()
AXE = Path(__file__).parents[2] / ".tools" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa")
PAGES = (
    "", "explore/repos", "explore/users", "explore/organizations", "explore/issues", "repo/create", "org/create", "issues",
    "pulls", "notifications", "user/settings", "user/settings/keys", "user/settings/applications",
    "user/settings/two_factor", "user/settings/oauth2", "user/settings/emails", "user/settings/security",
    "user/settings/hooks", "org/lamps/settings", "org/lamps/settings/members", "org/lamps/settings/teams",
    "org/lamps/settings/teams/{team}", "org/lamps/settings/teams/{team}/edit", "org/lamps/settings/labels", "org/lamps/settings/hooks", "lamps",
    "admin/users", "admin/users/{owner}", "admin/orgs", "admin/tasks", "admin/events", "admin/audit", "admin/limits",
    "{owner}", "{repo}", "{repo}/src/branch/main/a.py", "{repo}/blame/branch/main/a.py", "{repo}/commits/branch/main",
    "{repo}/branches", "{repo}/tags", "{repo}/releases", "{repo}/releases/new", "{repo}/compare/main...topic",
    "{repo}/_edit/main/a.py", "{repo}/_upload/main", "{repo}/fork", "{repo}/issues", "{repo}/issues/new", "{repo}/issues/1",
    "{repo}/issues/1/facts", "{repo}/labels", "{repo}/milestones", "{repo}/milestones/new", "{repo}/comments/{comment}", "{repo}/releases/edit/v1", "{repo}/pulls", "{repo}/pulls/2",
    "{repo}/pulls/2/commits", "{repo}/pulls/2/files?at=1R1", "{repo}/pulls/2/files?style=split&at=1R1", "{repo}/settings",
    "{repo}/settings/collaboration", "{repo}/settings/hooks", "{repo}/settings/hooks/new", "{repo}/settings/hooks/{hook}", "{repo}/settings/hooks/{hook}/edit",
    "{repo}/settings/hooks/{hook}/deliveries/{delivery}", "{repo}/settings/keys", "{repo}/settings/branches",
    "{repo}/settings/branches/edit", "{repo}/settings/branches/edit?rule_name=main", "{repo}/settings/tags/new",
    "{repo}/settings/mirrors", "{repo}/settings/transfer", "{repo}/nothing", "login",
)  # fmt: skip
DARK = {
    "", "{repo}", "{repo}/src/branch/main/a.py", "{repo}/blame/branch/main/a.py", "{repo}/issues", "{repo}/issues/1",
    "{repo}/pulls/2", "{repo}/pulls/2/files?at=1R1", "{repo}/settings/branches/edit", "admin/audit",
    "{repo}/settings/hooks/{hook}/deliveries/{delivery}",
}  # fmt: skip
"""Pages that are looked at in dark as well: between them they have every colour."""
RUN = """axe.run(document, {runOnly: {type: 'tag', values: %s}, resultTypes: ['violations']}).then(found => {
  window.axeFound = JSON.stringify(found.violations.filter(one => ['serious', 'critical'].includes(one.impact))
    .map(one => one.id + ': ' + one.nodes.slice(0, 3).map(node => node.html.slice(0, 200)).join(' | ')))}); 1"""


@pytest.mark.skipif(PROGRAM is None, reason="needs Chromium on PATH")
@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed: make axe")
@pytest.mark.parametrize("deployment", ["standalone"], indirect=True)
async def test_pages_have_no_serious_fault(deployment, tmp_path):
    name, password = ADMINISTRATOR
    named = await _fill(deployment.url, name)
    axe, faults = AXE.read_text(), []
    async with open_page(PROGRAM, tmp_path) as page:
        await page.open(f"{deployment.url}login")
        await page.type("#username", name)
        await page.type("#password", password)
        await page.click("form button")
        await page.wait_for("location.pathname === '/' && document.readyState === 'complete'")
        for scheme in ("light", "dark"):
            await page.call(
                "Emulation.setEmulatedMedia",
                features=[
                    {"name": "prefers-color-scheme", "value": scheme},
                    {"name": "prefers-reduced-motion", "value": "reduce"},
                ],
            )
            for path in PAGES if scheme == "light" else sorted(DARK):
                await page.call("Page.navigate", url=deployment.url + path.format(**named))
                await page.wait_for("document.readyState === 'complete' && !window.axeFound")
                await page.value(axe)
                await page.value(RUN % list(RULES))
                faults_of_page = await page.wait_for("window.axeFound")
                if faults_of_page != "[]":
                    faults.append((scheme, path, faults_of_page))
    assert not faults, "\n".join(map(str, faults))


async def _fill(url, name):
    """Make what the pages show; what their paths name."""
    async with httpx.AsyncClient(base_url=f"{url}api/v1/", auth=ADMINISTRATOR, timeout=60) as http:
        base = f"repos/{name}/lit"

        async def make(path, **body):
            answer = await http.post(path, json=body)
            assert answer.status_code < 300, answer.text
            return answer.json() if answer.content else None

        await make("user/repos", name="lit", auto_init=True, description="A lamp")
        code = base64.b64encode(b"import os\n\n\ndef f():\n    return 'x' + str(1)  # why\n").decode()
        await make(f"{base}/contents/a.py", content=code, message="begin")
        await make(f"{base}/contents/b.py", content=code, message="go on", new_branch="topic")
        await make(f"{base}/labels", name="bug", color="#d73a4a")
        await make(
            f"{base}/issues", title="Dark", body="**why** `x`\n\n- [ ] one\n\n| a | b |\n|---|---|\n| 1 | 2 |"
        )
        comment = await make(f"{base}/issues/1/comments", body="> so\n\n```py\nprint(1)\n```")
        await make(f"{base}/issues/1/reactions", content="heart")
        await make(f"{base}/pulls", title="More", head="topic", base="main", body="Closes #1")
        suggestion = "hm\n\n```suggestion\nprint(2)\n```"
        line = {"path": "b.py", "new_position": 1, "body": suggestion}
        await make(f"{base}/pulls/2/reviews", event="COMMENT", body="well", comments=[line])
        await make(f"{base}/releases", tag_name="v1", name="One", body="first")
        await make(f"{base}/milestones", title="Soon", due_on="2030-01-02T00:00:00Z")
        await make(f"{base}/branch_protections", rule_name="main", enable_push=True, required_approvals=1)
        await make(f"{base}/tag_protections", name_pattern="v*", whitelist_usernames=[name])
        await make("orgs", username="lamps")
        team = await make("orgs/lamps/teams", name="crew", permission="write")
        await make("orgs/lamps/labels", name="sea", color="#2a6fdb")
        config = {"url": "http://127.0.0.1:9/", "content_type": "json"}
        hook = await make(f"{base}/hooks", type="gitea", config=config, events=["push"], active=True)
        await make(f"{base}/hooks/{hook['id']}/tests")
        path = f"{base}/hooks/{hook['id']}/deliveries"
        async with asyncio.timeout(30):
            while not (deliveries := (await http.get(path)).json()):
                await asyncio.sleep(0.1)
    named = {"owner": name, "repo": f"{name}/lit", "team": team["id"], "hook": hook["id"]}
    return named | {"delivery": deliveries[0]["id"], "comment": comment["id"]}
