"""Whole pages, in both modes: people sign in, see what they may see, and change things by forms."""

import asyncio
import base64
import os
import re
import secrets
from dataclasses import dataclass

import httpx
import pytest

from ingot_contracts.testing.forms import form_of

from .deployments import ADMINISTRATOR

PASSWORD = "what everybody knows"
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>"
TOKEN = re.compile(r'name="token" value="([^"]+)"')


class Person:
    """A user with the API and a browser, which keeps cookies and follows redirects."""

    def __init__(self, url, name="", token="", session=""):
        self.name = name
        cookies = {"ingot-session": session} if session else {}
        self.browser = httpx.AsyncClient(base_url=url, timeout=60, follow_redirects=True, cookies=cookies)
        headers = {"Authorization": f"token {token}"} if token else {}
        self.api = httpx.AsyncClient(base_url=f"{url}api/v1/", timeout=60, headers=headers)

    async def sign_in(self, password=PASSWORD):
        """With the password; the session, which another client may go on with."""
        form = {"token": TOKEN.search((await self.browser.get("login")).text)[1], "query": ""}
        answer = await self.browser.post("login", data=form | {"username": self.name, "password": password})
        assert (answer.status_code, answer.url.path) == (200, "/")
        return self.browser.cookies["ingot-session"]

    async def close(self):
        await self.browser.aclose()
        await self.api.aclose()

    async def page(self, path, status=200):
        answer = await self.browser.get(path)
        assert answer.status_code == status, (path, answer.status_code, answer.text[:3000])
        return answer.text

    async def send(self, page, fields, *, to=""):
        """Send the form of ``page`` that leads ``to``, or the page itself."""
        token = TOKEN.search(await self.page(page))[1]
        return await self.browser.post(to or page, data={"token": token, **fields})

    async def submit(self, page, button, *, to="", **values):
        """Fill in the form of ``page`` with this button and target ``to``, and send it as a browser does."""
        form = form_of(await self.page(page), to, button)
        return await self.browser.post(form.action or page, data=form.press(button, **values))

    async def make(self, path, **body):
        answer = await self.api.post(path, json=body)
        assert answer.status_code in (200, 201, 204), answer.text
        return answer.json() if answer.content else None


@dataclass
class Scene:
    """ann's private repository ``home`` with everything in it; her public one is ``open``."""

    ann: Person
    reader: Person
    writer: Person
    stranger: Person
    nobody: Person
    home: str
    open: str


@pytest.fixture(scope="module")
def scenes():
    return {}


@pytest.fixture
async def scene(deployment, scenes):
    """Made once for each deployment; clients belong to the loop of a test, so they are made again."""
    if deployment.url not in scenes:
        scenes[deployment.url] = await _create_scene(deployment.url)
    people, home, public = scenes[deployment.url]
    people = [Person(deployment.url, *credentials) for credentials in (*people, ())]
    yield Scene(*people, home, public)
    for person in people:
        await person.close()


async def _create_scene(url):
    """Name, token and session of each person, and the names of the repositories."""
    mark, people = secrets.token_hex(3), []
    async with httpx.AsyncClient(base_url=f"{url}api/v1/", timeout=60) as http:
        for role in ("ann", "reader", "writer", "stranger"):
            name = f"{role}-{mark}"
            new = {"username": name, "email": f"{name}@example.org", "password": PASSWORD}
            assert (await http.post("admin/users", json=new, auth=ADMINISTRATOR)).status_code == 201
            token = await http.post(f"users/{name}/tokens", json={"name": "t"}, auth=(name, PASSWORD))
            person = Person(url, name)
            people.append((name, token.json()["sha1"], await person.sign_in()))
            await person.close()
    ann = Person(url, *people[0])
    await _fill(ann, "home", private=True)
    await ann.make("user/repos", name="open", auto_init=True)
    for (name, *_), level in ((people[1], "read"), (people[2], "write")):
        path = f"repos/{ann.name}/home/collaborators/{name}"
        assert (await ann.api.put(path, json={"permission": level})).status_code == 204
    await ann.close()
    return people, f"{ann.name}/home", f"{ann.name}/open"


async def _fill(ann, name, *, private):
    base = f"repos/{ann.name}/{name}"
    await ann.make("user/repos", name=name, private=private, auto_init=True, description=HOSTILE)
    files = {
        "docs/guide.md": "# Guide\n\nSee [the file](../a.py).\n",
        "a.py": "print('<b>')\n",
        "data.csv": "a,b\n1,<i>2</i>\n",
        "p.png": "\0PNG",
        "<b>.txt": "x",
    }
    for path, text in files.items():
        content = base64.b64encode(text.encode()).decode()
        await ann.make(f"{base}/contents/{path}", content=content, message=f"add {HOSTILE}")
    readme = base64.b64encode(f"# Home\n\n{HOSTILE}\n\n[guide](docs/guide.md) ![p](p.png)".encode()).decode()
    sha = (await ann.api.get(f"{base}/contents/README.md")).json()["sha"]
    await ann.api.put(
        f"{base}/contents/README.md", json={"content": readme, "sha": sha, "message": "say more"}
    )
    more = base64.b64encode(b"more\n").decode()
    await ann.make(f"{base}/contents/more.txt", content=more, message="more", new_branch="topic/one")
    await ann.make(f"{base}/labels", name=HOSTILE[:40], color="#d73a4a")
    await ann.make(f"{base}/milestones", title=HOSTILE)
    await ann.make(f"{base}/issues", title=HOSTILE, body=HOSTILE)
    await ann.make(f"{base}/issues/1/comments", body=f"{HOSTILE} **bold**")
    await ann.make(f"{base}/pulls", title="More", head="topic/one", base="main", body="Closes #1")
    await ann.make(f"{base}/releases", tag_name="v1", name=HOSTILE, body=HOSTILE)
    config = {"url": "http://127.0.0.1:9/", "content_type": "json"}
    await ann.make(f"{base}/hooks", type="gitea", config=config, events=["push"], active=False)


READ = [
    "", "src/branch/main", "src/branch/main/docs", "src/branch/main/docs/guide.md", "src/branch/main/a.py",
    "src/branch/topic/one/more.txt", "src/tag/v1", "find/branch/main?q=B+T", "find/tag/v1",
    "src/branch/main/data.csv", "src/branch/main/p.png", "blame/branch/main/a.py", "blame/branch/main/p.png",
    "raw/branch/main/a.py", "raw/branch/topic/one/more.txt", "commits/branch/main",
    "commits/branch/main.atom", "commits/branch/topic/one", "commits/branch/main/docs", "branches", "tags",
    "releases", "releases/tag/v1", "releases.atom", "compare", "compare/main...topic/one", "stars",
    "watchers", "forks", "labels", "milestones", "issues", "issues?state=closed&q=x", "issues/1",
    "issues.atom", "pulls", "pulls/2", "pulls/2/commits", "pulls/2/files", "pulls/2/files?style=split&at=1R1",
    "pulls/2/range-diff", "pulls/2.diff", "issues/2",
]  # fmt: skip
SIGNED_IN = ["issues/new", "issues/1/facts", "fork", "releases/new"]
OPERATIONS = ["admin/tasks", "admin/jobs", "admin/events", "admin/audit", "admin/limits", "admin/mails"]
ADMINISTER = ["settings", "settings/collaboration", "settings/hooks", "settings/hooks/new", "settings/keys",
              "settings/teams", "settings/branches", "settings/mirrors", "settings/export",
              "settings/transfer"]  # fmt: skip


@pytest.mark.parametrize("role", ["nobody", "stranger", "reader", "writer", "ann"])
async def test_pages_hide_what_the_api_hides(scene, role):
    person = getattr(scene, role)
    api = await person.api.get(f"repos/{scene.home}")
    home = await person.page(scene.home, status=api.status_code)
    assert (f"/{scene.home}/settings" in home) is (role == "ann")
    listed = await person.page(f"{scene.ann.name}")
    assert (f'href="/{scene.home}"' in listed) is (api.status_code == 200)
    missing = await person.page(f"{scene.ann.name}/nothing", status=404)
    if api.status_code == 404:
        assert _said(home) == _said(missing), "nothing about what the caller may not see"


def _said(page):
    words = re.search(r"<h1>.*?</main>", page, re.DOTALL)[0].split("Request")[0]
    return re.sub(r'href="/login[^"]*"', "", words)  # from where one comes back to the page


async def test_what_people_write_is_never_html_of_the_page(scene):
    for path in (*READ, *SIGNED_IN, *ADMINISTER):
        answer = await scene.ann.browser.get(f"{scene.home}/{path}".rstrip("/"))
        assert answer.status_code == 200, (path, answer.text[:3000])
        if answer.headers["content-type"].startswith("text/html"):
            assert "<script>" not in answer.text, path
            assert not re.search(r"<[^>&]*\bonerror", answer.text), path
            assert "<i>2</i>" not in answer.text


async def test_links_to_a_line_of_a_comment_and_to_old_names_work(scene):
    comments = (await scene.ann.api.get(f"repos/{scene.home}/issues/1/comments")).json()
    anchor = comments[0]["html_url"].split("#")[1]
    assert f'id="{anchor}"' in await scene.ann.page(f"{scene.home}/issues/1")
    assert 'id="L1"' in await scene.ann.page(f"{scene.home}/src/branch/main/a.py")
    answer = await scene.ann.browser.get(f"{scene.home}/issues/2")
    assert answer.url.path == f"/{scene.home}/pulls/2"


async def test_a_readme_leads_to_its_neighbours(scene):
    page = await scene.reader.page(scene.home)
    link = re.search(r'href="([^"]+guide\.md)"[^>]*>guide</a>', page)[1]
    picture = re.search(r'<img src="([^"]+p\.png)"', page)[1]

    assert "Guide" in await scene.reader.page(link)
    shown = await scene.reader.browser.get(picture)
    assert (shown.status_code, shown.content) == (200, b"\0PNG")
    assert "sandbox" in shown.headers["content-security-policy"]


async def test_a_person_makes_a_repository_and_works_in_it_by_forms_alone(scene):
    ann, name = scene.ann, f"made-{secrets.token_hex(3)}"
    base = f"{ann.name}/{name}"
    answer = await ann.send("repo/create", {"owner": ann.name, "name": name, "auto_init": "1"})
    assert (answer.status_code, answer.url.path) == (200, f"/{base}")

    answer = await ann.send(f"{base}/issues/new", {"title": "First", "body": "**loud**"})
    assert answer.url.path == f"/{base}/issues/1"
    assert "<strong>loud</strong>" in answer.text
    edited = await ann.submit(f"{base}/issues/1", "Save", to="/issues/1/edit", title="First of all")
    assert "First of all" in edited.text
    assert "<strong>loud</strong>" in edited.text
    closed = await ann.submit(f"{base}/issues/1", "Close", to="/issues/1/comments", body="done")
    assert "<p>done</p>" in closed.text
    assert "closed this" in closed.text
    form = form_of(await ann.page(f"{base}/issues/1"), "/issues/1/comments", "Comment")
    copies = [ann.browser.post(form.action, data=form.press("Comment", body="once")) for _ in range(6)]
    assert sorted([answer.status_code for answer in await asyncio.gather(*copies)]) == [200, *[409] * 5]
    assert (await ann.page(f"{base}/issues/1")).count("<p>once</p>") == 1

    content = base64.b64encode(b"text\n").decode()
    await ann.make(f"repos/{base}/contents/b.txt", content=content, message="add b", new_branch="topic")
    answer = await ann.send(f"{base}/compare/main...topic", {"title": "Add b", "body": ""})
    assert answer.url.path == f"/{base}/pulls/2"
    await _until_mergeable(ann, base)
    head = (await ann.api.get(f"repos/{base}/pulls/2")).json()["head"]["sha"]
    merged = await ann.send(f"{base}/pulls/2", {"style": "squash", "head": head}, to=f"{base}/pulls/2/merge")
    assert "Merged" in merged.text, merged.text
    assert "b.txt" in await ann.page(base)

    await ann.send(f"{base}/releases/new", {"tag": "v1", "target": "main", "name": "One"})
    assert "One" in await ann.page(f"{base}/releases/tag/v1")
    new = f"{name}-new"
    renamed = await ann.send(f"{base}/settings", {"name": new, "description": "d"})
    assert renamed.url.path == f"/{ann.name}/{new}/settings"
    assert (await ann.browser.get(f"{base}/issues/1")).url.path == f"/{ann.name}/{new}/issues/1"
    answer = await ann.send(
        f"{ann.name}/{new}/settings", {"name": "wrong"}, to=f"{ann.name}/{new}/settings/delete"
    )
    assert answer.status_code == 422
    await ann.send(
        f"{ann.name}/{new}/settings", {"name": f"{ann.name}/{new}"}, to=f"{ann.name}/{new}/settings/delete"
    )
    await ann.page(f"{ann.name}/{new}", status=404)


async def _until_mergeable(ann, base):
    async with asyncio.timeout(30):
        while not (await ann.api.get(f"repos/{base}/pulls/2")).json()["mergeable"]:
            await asyncio.sleep(0.1)


async def test_lines_are_commented_on_in_a_review_and_answered(scene):
    pull, reviewer = f"{scene.home}/pulls/2", scene.writer
    page = await reviewer.page(f"{pull}/files?style=split&at=1R1")
    assert 'id="write"' in page
    line, text = f"{pull}/files?style=split&at=1R1", "Why **more**?"
    preview = await reviewer.submit(line, "Preview", to="/pulls/2/comments", body=text)
    assert "<strong>more</strong>" in preview.text
    assert 'name="path" value="more.txt"' in preview.text
    added = await reviewer.submit(line, "Start review", to="/pulls/2/comments", body=text)
    assert (added.url.path, "Not sent yet" in added.text) == (f"/{pull}/files", True)
    assert "Why <strong>" not in await scene.ann.page(f"{pull}/files")
    sent = await reviewer.submit(
        f"{pull}/files", "Submit review", to="/pulls/2/reviews", body="Well *done*", event="APPROVED"
    )
    assert "Well <em>done</em>" in sent.text
    thread = re.search(r'id="thread-(\d+)"', sent.text)[1]
    assert "Approved" in sent.text
    answer = await scene.ann.send(
        pull, {"body": f"{HOSTILE} so", "back": "files"}, to=f"{pull}/comments/{thread}/replies"
    )
    assert "2 comments" in answer.text
    assert "<script>" not in answer.text
    resolved = await scene.ann.send(pull, {"do": "resolve"}, to=f"{pull}/comments/{thread}/resolve")
    assert f"resolved by {scene.ann.name}" in resolved.text
    await scene.reader.send(pull, {"do": "open"}, to=f"{pull}/comments/{thread}/resolve")
    assert f"resolved by {scene.ann.name}" in await scene.reader.page(pull)

    own = f"{pull}/comments/{thread}"
    assert f'href="/{own}?back=1&amp;style=unified"' in await reviewer.page(pull)
    await scene.reader.page(own, status=403)
    changed = await reviewer.submit(
        f"{own}?back=files&style=split", "Save comment", to=own, body="Why *less*?"
    )
    assert (changed.url.path, "Why <em>less</em>?" in changed.text) == (f"/{pull}/files", True)
    removed = await reviewer.submit(own, "Delete comment", to=f"{own}/delete")
    assert "<em>less</em>" not in removed.text
    assert f"<summary>1 comment · resolved by {scene.ann.name}" in removed.text
    await reviewer.page(own, status=404)


async def test_files_and_branches_are_changed_on_pages(scene):
    ann, base = scene.ann, scene.open
    new = {"path": "src/a.txt", "content": "one\r\ntwo", "to": "branch"}
    answer = await ann.send(f"{base}/_new/main/src", new)
    assert answer.url.path == f"/{base}/src/branch/main/src/a.txt"
    edit = f"{base}/_edit/main/src/a.txt"
    sha = re.search(r'name="sha" value="(\w+)"', await ann.page(edit))[1]
    change = {"path": "src/b.txt", "content": "three", "sha": sha, "to": "new", "new_branch": "patch"}
    compared = await ann.send(edit, change)
    assert compared.url.path == f"/{base}/compare/main...patch"
    assert (await ann.api.get(f"repos/{base}/raw/src/b.txt?ref=patch")).text == "three"
    stale = await ann.send(edit, change | {"sha": "1" * 40, "to": "branch"})
    assert (stale.status_code, "three" in stale.text) == (422, True)
    token = TOKEN.search(await ann.page(f"{base}/_upload/main"))[1]
    await ann.browser.post(
        f"{base}/_upload/main", data={"token": token, "path": "d"}, files={"files": ("x", b"\0")}
    )
    assert (await ann.api.get(f"repos/{base}/raw/d/x")).content == b"\0"
    gone = await ann.send(f"{base}/_delete/main/src/a.txt", {"sha": sha, "to": "branch"})
    assert gone.url.path == f"/{base}/src/branch/main/src" or gone.status_code == 404
    assert (await ann.send(f"{base}/branches", {"name": "fix/it", "from": "main"})).status_code == 200
    await ann.page(f"{base}/src/branch/fix/it/README.md")
    rule = {"rule_name": "fix/it", "enable_push": False}
    assert (await ann.api.post(f"repos/{base}/branch_protections", json=rule)).status_code == 201
    edit_protected = f"{base}/_edit/fix/it/README.md"
    assert "A rule keeps you from pushing to fix/it" in await ann.page(edit_protected)
    compared = await ann.submit(edit_protected, "Commit", content="calm", new_branch="calm")
    assert compared.url.path == f"/{base}/compare/fix/it...calm"
    await ann.send(f"{base}/settings", {"topics": "sea, light"})
    assert (await ann.api.get(f"repos/{base}/topics")).json() == {"topics": ["light", "sea"]}
    assert ">Unwatch<" in (await scene.stranger.send(base, {}, to=f"{base}/watch")).text
    await scene.stranger.page(edit, status=403)
    await scene.stranger.page(f"{base}/_new/main", status=403)
    assert (await scene.stranger.send(base, new, to=f"{base}/_new/main")).status_code == 403


async def test_people_administer_what_is_theirs_on_pages(scene):
    ann, stranger, org = scene.ann, scene.stranger, f"o{secrets.token_hex(3)}"
    answer = await ann.send("org/create", {"username": org, "visibility": "public"})
    assert answer.url.path == f"/{org}"
    base = f"org/{org}/settings"
    crew = await ann.send(f"{base}/teams", {"name": "crew", "permission": "write"})
    team = re.search(r"/teams/(\d+)\">crew", crew.text)[1]
    inside = await ann.send(f"{base}/teams/{team}", {"login": scene.reader.name})
    assert f">{scene.reader.name}</a>" in inside.text
    await ann.make(f"orgs/{org}/repos", name="boat", private=True)
    await ann.make(f"repos/{org}/boat/issues", title=f"A leak of {org}")
    for person, is_listed in ((ann, True), (scene.reader, False), (stranger, False)):
        assert (f"A leak of {org}" in await person.page("issues?filter=repositories")) is is_listed
    grant = await ann.api.put(f"teams/{team}/repos/{org}/boat")
    assert grant.status_code == 204
    assert f"A leak of {org}" in await scene.reader.page("issues?filter=repositories")
    hooks = await ann.send(f"{base}/hooks", {"url": "http://127.0.0.1:9/", "type": "gitea", "push": "1"})
    assert "http://127.0.0.1:9/" in hooks.text
    assert "sea" in (await ann.submit(f"{base}/labels", "Create label", to="/labels/new", name="sea")).text
    for part in ("", "/members", "/teams", "/labels", "/hooks"):
        await stranger.page(f"{base}{part}", status=403)
        await scene.nobody.page(f"{base}{part}", status=401)
    rules = await ann.submit(
        f"{scene.open}/settings/branches/edit",
        "Create rule",
        to="/branches/edit",
        rule_name="v/*",
        required_approvals="2",
    )
    assert "2 approvals" in rules.text
    registered = await ann.send("user/settings/oauth2", {"name": "app", "redirect_uris": "http://127.0.0.1/"})
    assert "shown only now" in registered.text
    begun = await ann.send("user/settings/two_factor", {"do": "begin", "password": PASSWORD})
    secret = re.search(r"<code>([A-Z2-7]{16,})</code>", begun.text)[1]
    refused = await ann.send("user/settings/two_factor", {"do": "confirm", "code": "x", "secret": secret})
    assert (refused.status_code, secret in refused.text) == (422, True)
    assert ann.name in await ann.page("user/settings/emails")
    hook = hooks.url.path
    await ann.send(hook, {"do": "test"})
    async with asyncio.timeout(30):
        while not (link := re.search(rf'href="({hook}/deliveries/[^"]+)"', await ann.page(hook))):
            await asyncio.sleep(0.1)
    assert "What was sent" in await ann.page(link[1])
    await stranger.page(link[1], status=403)
    for path in ("admin/users", f"admin/users/{ann.name}", "admin/orgs", *OPERATIONS):
        await ann.page(path, status=403)


async def test_administrators_see_what_runs_and_who_did_what(deployment, scene):
    name, password = ADMINISTRATOR
    root = Person(deployment.url, name)
    await root.sign_in(password)
    ran = await root.submit("admin/tasks", "Run now", to="/admin/tasks")
    assert "was run" in ran.text
    assert "No failed events." in await root.page("admin/events")
    assert f"user {scene.ann.name}" in await root.page("admin/audit?action=user.create")
    assert "hook.create" in await root.page(f"admin/audit?actor={scene.ann.name}&service=hooks")
    await root.close()


async def test_a_suggestion_is_committed_by_who_may_push(scene):
    ann, pull = scene.ann, f"{scene.home}/pulls/2"
    text = "```suggestion\nmuch more\n```"
    line = f"{pull}/files?at=1R1"
    said = await scene.reader.submit(line, "Comment now", to="/pulls/2/comments", body=text)
    assert "Commit suggestion" not in said.text
    committed = await ann.submit(f"{pull}/files", "Commit suggestion", to="/apply")
    assert "was committed as" in committed.text
    assert (await ann.api.get(f"repos/{scene.home}/raw/more.txt?ref=topic/one")).text == "much more\n"
    async with asyncio.timeout(30):
        while "Commit suggestion" in await ann.page(f"{pull}/files"):
            await asyncio.sleep(0.1)


async def test_an_issue_gets_reactions_files_and_what_is_decided_about_it(scene):
    ann, issue = scene.ann, f"{scene.open}/issues"
    form = {"title": "Dark", "body": "*why*"}
    assert "<em>why</em>" in (await ann.send(f"{issue}/new", form | {"preview": "1"})).text
    token = TOKEN.search(await ann.page(f"{issue}/new"))[1]
    file = {"files": ("a].txt", b"night", "text/plain")}
    answer = await ann.browser.post(f"{issue}/new", data=form | {"token": token}, files=file)
    latest = (await ann.api.get(f"repos/{scene.open}/issues?limit=1")).json()[0]
    issue = f"{scene.open}/issues/{latest['number']}"
    link = re.search(r'href="([^"]+/attachments/[^"]+)"[^>]*>a\].txt<', answer.text)[1]
    assert (await ann.browser.get(link)).content == b"night"
    for fields, shown in (
        ({"content": "heart"}, 'name="remove" value="heart"'),
        ({"remove": "heart"}, 'name="content" value="heart"'),
    ):
        assert shown in (await ann.send(issue, fields, to=f"{issue}/reactions")).text
    facts = f"{issue}/facts"
    await ann.submit(f"{issue}/assignees", "Save", to="/assignees", assignees=[ann.name])
    dated = await ann.submit(f"{issue}/due", "Save", to="/due", due="2030-02-03")
    assert "2030-02-03 23:59 UTC" in dated.text
    latest = (await ann.api.get(f"repos/{issue}")).json()
    assert [one["login"] for one in latest["assignees"]] == [ann.name]
    for fields, shown in (
        ({"do": "spend", "hours": "1", "minutes": "5"}, "1 h 5 min"),
        ({"do": "hear", "hear": "no"}, "Subscribe"),
        ({"do": "lock", "lock": "yes"}, "Unlock"),
        ({"do": "block", "issue": "nine"}, "the number of an issue"),
    ):
        assert shown in (await ann.send(facts, fields)).text, fields
    removed = await ann.submit(facts, "Remove a].txt", to="/facts")
    assert "<p>The file is removed, and so are the links to it in the text.</p>" in removed.text
    assert (await ann.api.get(f"repos/{issue}")).json()["body"] == "*why*"
    assert (await ann.browser.get(link)).status_code == 404
    denied = await scene.stranger.send(facts, {"do": "lock", "lock": "no"})
    assert "Only" in denied.text or denied.status_code == 403


async def test_what_is_ticked_is_what_the_page_shows(scene):
    plain = "```\n```js\n- [ ] code\n```\n- [ ] shown\n- - [x] *both*"
    hidden = "<!--\n- [ ] hidden\n-->\n\n- <input type=checkbox> shown"
    for text, number, names, after in (
        (plain, 0, ["shown", "both"], plain.replace("[ ] shown", "[x] shown")),
        (plain, 1, ["shown", "both"], plain.replace("[x]", "[ ]")),
        (hidden, 0, ["shown"], hidden),
    ):
        issue = await scene.ann.make(f"repos/{scene.open}/issues", title="Tasks", body=text)
        page = f"{scene.open}/issues/{issue['number']}"
        assert re.findall('name="task"[^>]* aria-label="([^"]*)"', await scene.ann.page(page)) == names
        form = {"task": number, "version": issue["content_version"]}
        answer = await scene.ann.send(page, form, to=f"{page}/tasks")
        assert answer.status_code == (422 if after == text else 200)
        assert (await scene.ann.api.get(f"repos/{page}")).json()["body"] == after


async def test_a_webhook_is_made_and_a_delivery_is_sent_again(scene):
    ann, hooks = scene.ann, f"{scene.open}/settings/hooks"
    answer = await ann.send(
        f"{hooks}/new", {"url": "http://127.0.0.1:9/x", "content_type": "json", "push": "1", "active": "1"}
    )
    hook = answer.url.path
    assert "127.0.0.1:9/x" in answer.text
    await ann.send(hook, {"do": "test"})
    async with asyncio.timeout(30):
        while not (link := re.search(rf'href="({hook}/deliveries/[^"]+)"', await ann.page(hook))):
            await asyncio.sleep(0.1)
    assert "What was sent" in await ann.page(link[1])
    assert "Off" in (await ann.send(hook, {"do": "off"})).text
    assert (await ann.send(hook, {"do": "delete"})).url.path == f"/{hooks}"


async def test_a_token_is_shown_once_and_can_be_taken_back(scene):
    ann, page = scene.ann, "user/settings/applications"
    answer = await ann.send(page, {"name": "cli", "days": "30", "repository": "read"})
    secret = re.search(r"<code>([0-9a-f]{40})</code>", answer.text)[1]
    assert secret not in await ann.page(page)
    own = httpx.AsyncClient(base_url=ann.api.base_url, headers={"Authorization": f"token {secret}"})
    async with own:
        assert (await own.get(f"repos/{scene.home}")).status_code == 200
        assert (await own.post("user/repos", json={"name": "x"})).status_code == 403
    number = re.search(r'value="(\d+)">Delete cli<', await ann.page(page))[1]
    assert "Delete cli" not in (await ann.send(page, {"remove": number})).text


async def test_what_the_api_refuses_is_said_on_the_page_of_the_form(scene):
    refused = await scene.ann.send("repo/create", {"owner": scene.ann.name, "name": "open"})
    assert refused.status_code == 422
    assert 'id="name-fault"' in refused.text
    bad = await scene.ann.send("user/settings/keys", {"title": "k", "key": "no key"})
    assert bad.status_code == 422
    assert "no key" in bad.text
    denied = await scene.reader.send(f"{scene.home}/issues/1", {"title": "x"}, to=f"{scene.home}/settings")
    assert denied.status_code == 403


async def test_a_form_of_another_person_or_site_changes_nothing(scene):
    path = f"{scene.open}/issues/new"
    token = TOKEN.search(await scene.stranger.page(path))[1]
    before = (await scene.ann.api.get(f"repos/{scene.open}/issues?state=all")).headers["x-total-count"]
    for person, form, headers in (
        (scene.ann, {"token": token}, {}),
        (scene.ann, {}, {}),
        (scene.nobody, {"token": token}, {}),
        (scene.stranger, {"token": token}, {"Origin": "http://evil.example"}),
        (scene.stranger, {"token": token}, {"Sec-Fetch-Site": "cross-site"}),
    ):
        answer = await person.browser.post(path, data={"title": "forged", **form}, headers=headers)
        assert answer.status_code in (401, 403)
    after = (await scene.ann.api.get(f"repos/{scene.open}/issues?state=all")).headers["x-total-count"]
    assert after == before


async def test_the_pages_of_everybody_are_there(scene):
    for path in (
        "",
        "explore",
        "explore/repos?q=open",
        "explore/users",
        "explore/organizations",
        "explore/issues?q=x",
    ):
        await scene.nobody.page(path)
    for path in (
        "",
        "issues",
        "pulls?filter=review",
        "notifications",
        "user/settings",
        "user/settings/security",
    ):
        await scene.ann.page(path)
    assert "This one" in await scene.ann.page("user/settings/security")
    assert scene.home not in await scene.nobody.page("explore/repos")


async def test_a_wiki_is_written_on_pages_over_the_api_and_by_git(scene, tmp_path):
    ann, name = scene.ann, f"wiki-{secrets.token_hex(3)}"
    base = f"{ann.name}/{name}"
    await ann.make("user/repos", name=name)
    assert "does not exist yet" in await ann.page(f"{base}/wiki")
    text = "Go to [[Second / page]] or [there](a%2Fb). ![p](img/p.png)"
    created = await ann.submit(f"{base}/wiki/_new?title=Home", "Create page", content=text)
    assert created.url.path == f"/{base}/wiki/Home"

    await ann.make(
        f"repos/{base}/wiki/new", title="a/b", content_base64=base64.b64encode(b"slashed").decode()
    )
    link = re.search(r'href="([^"]+a%2Fb)"[^>]*>there', await ann.page(f"{base}/wiki"))[1]
    assert "slashed" in await ann.page(link)
    page = (await ann.api.get(f"repos/{base}/wiki/page/a%2Fb")).json()
    assert (page["title"], page["html_url"].rsplit("/", 1)[1]) == ("a/b", "a%2Fb")

    work, remote = tmp_path / "work", f"{ann.browser.base_url}{base}.wiki.git"
    await _git("clone", "-q", remote, str(work), cwd=tmp_path)
    (work / "img").mkdir()
    (work / "img/p.png").write_bytes(b"\0PNG")
    (work / "_Sidebar.md").write_text("in the sidebar")
    await _git("add", ".", cwd=work)
    await _git("-c", "user.name=Ann", "-c", "user.email=a@b.c", "commit", "-q", "-m", "more", cwd=work)
    token = ann.api.headers["authorization"]
    await _git("-c", f"http.extraHeader=Authorization: {token}", "push", "-q", cwd=work)
    shown = await scene.stranger.page(f"{base}/wiki")
    assert "in the sidebar" in shown
    picture = re.search(r'<img src="([^"]+p\.png)"', shown)[1]
    assert (await scene.stranger.browser.get(picture)).content == b"\0PNG"
    assert "a%2Fb" in await scene.stranger.page(f"{base}/wiki/_pages?q=slashed")
    edited = await ann.submit(f"{base}/wiki/_edit/a%2Fb", "Save page", title="c", content="changed")
    assert edited.url.path == f"/{base}/wiki/c"
    assert "2 revisions" in edited.text or "1 revision" in edited.text


async def _git(*words, cwd):
    process = await asyncio.create_subprocess_exec(
        "git", *words, cwd=cwd, env=os.environ | {"GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_GLOBAL": os.devnull}
    )
    assert await process.wait() == 0, words
