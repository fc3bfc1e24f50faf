"""Every page in the machine's Chromium: axe-core finds no serious fault, in light, in dark and on a phone.

On a phone, no page is too wide. The pages are those of the app of web, so new ones are included. Placeholders
of their paths need values here.
"""

import asyncio
import base64
import json
import re
import time
from contextlib import asynccontextmanager
from importlib.resources import files

import httpx
import pytest
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP

from ingot_chassis.errors import Unavailable
from ingot_chassis.peers.peers import Peers
from ingot_chassis.security.keys import SigningKey
from ingot_chassis.security.principal import ServiceIdentity
from ingot_contracts.testing.forms import form_of
from ingot_contracts.web import PageFrame
from ingot_gateway.error_pages import error_page
from ingot_testing.browser import chromium, open_page
from ingot_web.app import create_app
from ingot_web.settings import Settings
from ingot_web.site.api.other_names import NAMES

from .conftest import VARIABLES
from .deployments import ADMINISTRATOR, Standalone, running
from .mailboxes import link_of, serve_mailboxes, text_of

PROGRAM = chromium()
AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8")
NO_PAGES = re.compile(
    r"/(internal/.*|livez|readyz|metrics|favicon\.ico|robots\.txt|-/assets/.*|.*\.(atom|rss)|.*/(atom|rss|raw|media)/{ref}|.*/checks)"
)
"""Addresses for programs, files and feeds."""
VALUES = {
    "owner": "root", "repo": "lit", "org": "lamps", "username": "root", "index": "1", "tag": "v1",
    "basehead": "main...topic", "ref": "branch/main/a.py",
}  # fmt: skip
"""Values of placeholders, in addition to the ids that ``_fill`` gives."""
PATHS = {
    "/{owner}/{repo}/_new/{ref}": "root/lit/_new/main",
    "/{owner}/{repo}/find/{ref}": "root/lit/find/branch/main",
    "/{owner}/{repo}/_upload/{ref}": "root/lit/_upload/main",
    "/{owner}/{repo}/_edit/{ref}": "root/lit/_edit/main/a.py",
    "/{owner}/{repo}/_delete/{ref}": "root/lit/_delete/main/a.py",
    **{
        f"/org/{{org}}/teams/{{team}}{form}": f"org/lamps/teams/crew{form}"
        for form in ("", "/edit", "/repositories")
    },
    "/{owner}/{repo}/settings/teams": "lamps/charts/settings/teams",
    "/{owner}/{repo}/transfer": "ann/offer/transfer",
    "/user/invitation": "{invitation}",
    "/{owner}/{repo}/wiki/{page}": "root/lit/wiki/Home",
    "/{owner}/{repo}/wiki/_edit/{page}": "root/lit/wiki/_edit/Home",
    "/{owner}/{repo}/wiki/_history/{page}": "root/lit/wiki/_history/Home",
    "/{owner}/{repo}/issues/{index}/reviewers": "root/lit/issues/2/reviewers",
    "/{owner}/{repo}/settings/migrate": "root/brought/settings/migrate",
    "/{owner}/{repo}/pulls/{index}": "root/lit/pulls/2",
    "/{owner}/{repo}/pulls/{index}/commits": "root/lit/pulls/2/commits",
    "/{owner}/{repo}/pulls/{index}/conflicts": "root/lit/pulls/3/conflicts",
    "/{owner}/{repo}/pulls/{index}/files": "root/lit/pulls/2/files",
    "/{owner}/{repo}/pulls/{index}/range-diff": "root/lit/pulls/4/range-diff?old={old_head}&new={new_head}",
    "/{owner}/{repo}/pulls/{index}/comments/{comment_id}": "root/lit/pulls/2/comments/{on_line}",
    "/{owner}/{repo}/pulls/comments/{comment_id}": "root/lit/pulls/comments/{on_line}",
    "/{owner}/{repo}/pulls/{index}/reviews/{review_id}": "root/lit/pulls/2/reviews/{review}",
}
"""Routes that need other values."""
STATES = (
    "explore/repos?q=zzz", "lamps", "lamps?tab=members", "lamps?tab=teams", "root?tab=activity",
    "root?tab=followers", "root/empty", "root/lit/src/branch/main", "root/lit/src/branch/main/d",
    "root/lit/src/branch/main/d/b.csv", "root/lit/src/branch/main/c.md", "root/lit/pulls/2/files?at=1R1",
    "root/lit/pulls/2/files?style=split&at=1R1", "root/lit/settings/branches/edit?rule_name=main",
    "root/lit/nothing", "root/old/_new/main", "root/lit/commit/{picture}",
    "root/lit/issues?state=closed&q=zzz", "root/lit/issues?labels=bug&without=milestone",
    "root/lit/issues/edit?number=1", "root/lit/pulls/edit?number=2", "root/lit/pulls/2/range-diff",
    "login/oauth/authorize?client_id={client_id}&redirect_uri=http://127.0.0.1/&response_type=code&state=1",
)  # fmt: skip
"""Other states of pages."""
STATUSES = {"root/lit/nothing": 404, "root/old/_new/main": 403, "admin/users": 401}
"""Of pages that say what is wrong; of all others 200."""
FIRST = ("", "explore/repos", "issues", "notifications", "root")
"""For the first person of an instance without repositories."""
SIGNED_OUT = ("", "login", "root/lit/issues/1", "admin/users")
SENT = (
    ("root/lit/issues/new", "Preview", {"title": "Dark", "body": "**so**"}, 200),
    ("root/lit/issues/new", "Create issue", {"title": " "}, 422),
    ("root/lit/issues/1", "Comment", {}, 422),
    ("root/lit/issues/1/facts", "Add blocking issue", {"issue": "x"}, 422),
    ("root/lit/comments/{comment_id}", "Preview", {"body": "- [ ] so"}, 200),
    ("root/lit/pulls/2/files?at=1R1", "Comment now", {"body": " "}, 422),
    ("root/lit/compare/main...topic", "Create pull request", {}, 409),
    ("root/lit/_edit/main/a.py", "Preview", {"content": "x = 2\n"}, 200),
    ("root/lit/branches", "Create branch", {"name": "a..b", "from": "main"}, 422),
    ("root/lit/labels", "Create label", {"name": "bug", "color": "x"}, 422),
    ("root/lit/releases/new", "Publish", {"tag": "a..b"}, 422),
    ("root/lit/settings", "Delete repository", {"name": "other"}, 422),
    ("root/lit/settings/collaboration", "Save", {"login": "nobody-here"}, 422),
    ("root/lit/settings/keys", "Add key", {"title": "k", "key": "x"}, 422),
    ("root/lit/settings/hooks/new", "Create webhook", {"url": "x"}, 422),
    ("repo/create", "Create repository", {"name": "a b"}, 422),
    ("user/settings/keys", "Add key", {"title": "k", "key": "x"}, 422),
    ("user/settings/applications", "Create token", {"name": "made", "repository": "read"}, 200),
    ("user/settings/oauth2", "Register it", {"name": "app", "redirect_uris": "http://127.0.0.1/"}, 200),
)
"""A page, a button on it, the fields to fill in before the click, and the status of the response."""
IN_PLACE = (
    (
        "root/lit/issues/1",
        "form[action$='/comments'] [name=preview]",
        "form[action$='/comments'] .outcome article",
    ),
    ("root/lit/issues/1", "form[action$='/comments'] .primary", "form[action$='/comments'] .outcome .notice"),
)
"""A page, what is pressed on it, and what stands in it then."""
PASSWORD = "the lamp is lit"
GUEST = "eli@example.org"
SOURCE = {"kind": "oidc", "issuer": "https://id.example.org", "client_id": "ingot"}
PICTURES = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGPQAAAAKgApazFUcwAAAABJRU5ErkJggg==",
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGM4AQAAygDJmcpdfgAAAABJRU5ErkJggg==",
)
"""Of one grey pixel, as the API takes files."""
LIGHT, DARK = "light", "dark"
WIDE, PHONE = 1280, 360
TAGS = {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}
ALL = {"runOnly": TAGS}
COLORS = {"runOnly": {"type": "rule", "values": ["color-contrast"]}}
LAYOUT = {"runOnly": TAGS, "rules": {"color-contrast": {"enabled": False}}}
LOOKS = ((LIGHT, WIDE, ALL), (DARK, WIDE, COLORS), (LIGHT, PHONE, LAYOUT))
"""Each emulation, and the rules for what differs in it."""
RUN = """axe.run(document, {...%s, resultTypes: ['violations']}).then(found => {
  window.axeFound = JSON.stringify(found.violations
    .filter(one => ['serious', 'critical'].includes(one.impact))
    .map(one => one.id + ': '
      + one.nodes.slice(0, 3).map(node => node.html.slice(0, 200)).join(' | ')))}); 1"""
ANSWER = "performance.getEntriesByType('navigation')[0].responseStatus + ' ' + document.contentType"
TOO_WIDE = f"document.documentElement.scrollWidth > {PHONE}"


def _pages(named):
    """The address of every page, without a slash at its beginning."""
    app = create_app(Settings(private_key=SigningKey.generate().text(), background=False))
    routes = {route.path_format for route in app.routes if "GET" in getattr(route, "methods", ())}
    routes -= {re.sub(r":\w+", "", name) for name in NAMES}
    paths = [PATHS.get(route, route).lstrip("/") for route in sorted(routes) if not NO_PAGES.fullmatch(route)]
    return [_filled(path, VALUES | named) for path in (*paths, *STATES)]


def _filled(path, values):
    of = re.match(r"(org/|user/)?", path)[0]  # hooks are of a repository, an organization or a person
    return re.sub(r"{(\w+)}", lambda name: str(values.get(of + name[1], values.get(name[1]))), path)


@pytest.fixture
def mailboxes():
    with serve_mailboxes() as mailboxes:
        yield mailboxes


@pytest.fixture
def deployment(tmp_path, mailboxes):
    """One process that sends mails. Nothing is in it."""
    deployment = Standalone(tmp_path, VARIABLES | mailboxes.variables)
    with running(deployment):
        yield deployment


@pytest.mark.skipif(PROGRAM is None, reason="needs Chromium on PATH")
async def test_pages_have_no_serious_fault_and_fit_a_phone(deployment, mailboxes, tmp_path):
    async with open_page(PROGRAM, tmp_path / "browser") as page:
        look = Look(page, deployment.url)
        await look.sign_in(*ADMINISTRATOR, "location.pathname === '/'")
        for path in FIRST:
            await look.at(path)
        await page.call("Network.clearBrowserCookies")
        named = await _fill(deployment.url, mailboxes)
        look.addresses.clear()
        for path in (*SIGNED_OUT, named["invitation"]):
            await look.at(path)
        await _ask_for_codes(deployment.url, "ann")
        await look.sign_in("ann", PASSWORD, "document.querySelector('#code')")
        await look.here("code")
        await look.sign_in(*ADMINISTRATOR, "location.pathname === '/'")
        look.addresses.clear()
        for path in _pages(named):
            await look.at(path)
        for path, button, outcome in IN_PLACE:
            await look.in_place(path, button, outcome)
        for texts in (
            await _sent(deployment.url, named),
            await _enrolment(deployment.url),
            await _failures(deployment.url),
        ):
            for name, html in texts.items():
                await look.at_text(name, html)
    assert not look.faults, "\n".join(look.faults)


class Look:
    """Looks at pages, each loaded once, and notes what is wrong with them."""

    def __init__(self, page, url):
        self.page, self.url = page, url
        self.faults, self.addresses = [], set()

    async def sign_in(self, name, password, done):
        await self.page.open(f"{self.url}login")
        await self.page.type("#username", name)
        await self.page.type("#password", password)
        await self.page.click("form button")
        await self.page.wait_for(f"{done} && document.readyState === 'complete'")

    async def at(self, path):
        await self._show(LIGHT, WIDE)
        await self.page.call("Page.navigate", url=self.url + path)
        await self.page.wait_for(
            "document.readyState === 'complete' && !window.isOld && location.href !== 'about:blank'"
        )
        await self.page.value("window.isOld = true")
        address = await self.page.value("location.href")
        if address in self.addresses:
            return  # another name of a page
        self.addresses.add(address)
        answer = await self.page.value(ANSWER)
        if answer != f"{STATUSES.get(path, 200)} text/html":
            self.faults.append(f"{path}: {answer}")
            return
        await self.here(path)

    async def in_place(self, path, button, outcome):
        """Return the part that a script puts into a page after a button was pressed."""
        await self._show(LIGHT, WIDE)
        await self.page.open(self.url + path)
        await self.page.wait_for("document.readyState === 'complete' && !window.isOld")
        await self.page.value("window.isOld = true")
        await self.page.click(button)
        await self.page.wait_for(f'!!document.querySelector("{outcome}") && window.isOld')
        await self.here(f"{path}, {outcome}")

    async def at_text(self, name, html):
        """A page that no address leads to for certain: its text, in place of one of the site."""
        await self._show(LIGHT, WIDE)
        await self.page.open(f"{self.url}login")
        await self.page.wait_for("document.readyState === 'complete'")
        frame = (await self.page.call("Page.getFrameTree"))["frameTree"]["frame"]["id"]
        await self.page.call("Page.setDocumentContent", frameId=frame, html=html)
        await self.page.wait_for("!!document.styleSheets.length && document.readyState === 'complete'")
        await self.here(name)

    async def here(self, path):
        """The page that is there, which ``path`` names in what is said of it."""
        await self.page.value(AXE)
        for scheme, width, rules in LOOKS:
            await self._show(scheme, width)
            if width == PHONE and await self.page.value(TOO_WIDE):
                self.faults.append(f"{path}: wider than a phone")
            await self.page.value("delete window.axeFound")
            await self.page.value(RUN % json.dumps(rules))
            violations = await self.page.wait_for("window.axeFound")
            if violations != "[]":
                self.faults.append(f"{path}, {scheme}, {width}: {violations}")

    async def _show(self, scheme, width):
        features = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"}
        features = [{"name": name, "value": value} for name, value in features.items()]
        await self.page.call("Emulation.setEmulatedMedia", features=features)
        size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width == PHONE}
        await self.page.call("Emulation.setDeviceMetricsOverride", **size)


@asynccontextmanager
async def _signed_in(url, name, password):
    """A client that sends forms as a browser without JavaScript."""
    async with httpx.AsyncClient(base_url=url, timeout=60, follow_redirects=True) as http:
        form = form_of((await http.get("login")).text, "login", "Sign in")
        answer = await http.post("login", data=form.press("Sign in", username=name, password=password))
        assert (answer.status_code, answer.url.path) == (200, "/")
        yield http


async def _send(http, path, button, status, fields):
    """The page that is the answer to the form."""
    form = form_of((await http.get(path)).text, "", button)
    answer = await http.post(form.action or path, data=form.press(button, **fields))
    assert answer.status_code == status, (path, button, answer.status_code, answer.text)
    return answer.text


async def _sent(url, named):
    """Return responses to forms: previews, refusals, and values that are shown once."""
    async with _signed_in(url, *ADMINISTRATOR) as http:
        return {
            f"{path}: {button}": await _send(http, _filled(path, named), button, status, fields)
            for path, button, fields, status in SENT
        }


async def _enrolment(url):
    """The pages on the way to a second factor."""
    path, name = "user/settings/two_factor", "the second factor"
    async with _signed_in(url, "eve", PASSWORD) as http:
        begun = await _send(http, path, "Set up", 200, {"password": PASSWORD})
        form = form_of(begun, path, "Turn on")
        (secret,) = form.values["secret"]
        refused = await http.post(path, data=form.press("Turn on", code="x"))
        confirmed = await http.post(path, data=form.press("Turn on", code=_code_of(secret)))
        assert (refused.status_code, confirmed.status_code) == (422, 200), confirmed.text
        texts = {"begun": begun, "refused": refused.text, "confirmed": confirmed.text}
        texts["on"] = (await http.get(path)).text
    return {f"{name}, {state}": text for state, text in texts.items()}


def _code_of(secret):
    return TOTP(base64.b32decode(secret), 6, SHA1(), 30).generate(int(time.time())).decode()


async def _failures(url):
    """Return pages of web while a service is down or sends nonsense, and of the gateway without web."""
    away = error_page(Unavailable("web does not answer"), "1", PageFrame("", "Ingot"))
    texts = {"the gateway's 503": away.decode()}
    for failure, status, body in ((503, 503, b"{}"), (500, 200, b"{")):
        settings = Settings(private_key=SigningKey.generate().text(), background=False, public_url=url)
        own = ServiceIdentity("web", SigningKey.read(settings.private_key))
        peers = dict.fromkeys(("identity", "repos", "issues", "hooks", "mail"), _peer(status, body))
        app = create_app(settings, peers=Peers.in_process(peers, own))
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=url) as http:
            answer = await http.get("root/lit")
        assert answer.status_code == failure, answer.text
        texts[f"web's {failure}"] = answer.text
    return texts


def _peer(status, body):
    async def answer(_scope, receive, send):
        await receive()
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": body})

    return answer


async def _ask_for_codes(url, name):
    """Turn on two-factor authentication for the account."""
    async with httpx.AsyncClient(base_url=f"{url}api/v1/user/", auth=(name, PASSWORD), timeout=60) as http:
        begun = (await http.post("two_factor")).json()
        confirmed = await http.post("two_factor/confirm", json={"code": _code_of(begun["secret"])})
        assert confirmed.status_code < 300, confirmed.text


async def _fill(url, mailboxes):
    """Make what the pages show; the ids in their paths."""
    async with httpx.AsyncClient(base_url=f"{url}api/v1/", auth=ADMINISTRATOR, timeout=60) as http:
        owner, base = ADMINISTRATOR[0], f"repos/{ADMINISTRATOR[0]}/lit"

        async def make(path, *, by=owner, **body):
            answer = await http.post(path, json=body, headers={"Sudo": by})
            assert answer.status_code < 300, answer.text
            return answer.json() if answer.content else None

        async def delivery(hooks, hook):
            async with asyncio.timeout(30):
                while not (deliveries := (await http.get(f"{hooks}/{hook}/deliveries")).json()):
                    await asyncio.sleep(0.1)
            return deliveries[0]["id"]

        def content(text):
            return base64.b64encode(text.encode()).decode()

        config = {"url": "http://127.0.0.1:9/", "content_type": "json"}
        hook = {"type": "gitea", "config": config, "events": ["push", "repository"], "active": True}
        own_hook = (await make("user/hooks", **hook))["id"]
        source_id = (await make("admin/auths", name="corp", config=SOURCE))["id"]
        await make(f"admin/auths/{source_id}/scim_tokens", name="client")
        await make("orgs", username="lamps")
        org_hook = (await make("orgs/lamps/hooks", **hook))["id"]
        await make("orgs/lamps/repos", name="charts")
        team = (await make("orgs/lamps/teams", name="crew", permission="write"))["id"]
        await make("orgs/lamps/labels", name="sea", color="#2a6fdb")
        await make("admin/users", username="ann", email="ann@example.org", password=PASSWORD)
        await make("admin/users", username="eve", email="eve@example.org", password=PASSWORD)
        await make("user/repos", by="ann", name="offer", auto_init=True)
        await make("repos/ann/offer/transfer", by="ann", new_owner=owner)
        await make("user/repos", name="empty")
        await make("user/repos", name="old", auto_init=True)
        archived = await http.patch(f"repos/{owner}/old", json={"archived": True})
        assert archived.status_code == 200, archived.text
        await make("user/repos", name="lit", auto_init=True, description="A lamp")
        code = content("import os\n\n\ndef f():\n    return 'x' + str(1)  # why\n")
        text = (
            "# So\n\n**why** `x`\n\n- [ ] one\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n> so\n\n```py\nprint(1)\n"
            "```"
        )
        for path, file in (("a.py", code), ("c.md", content(text)), ("d/b.csv", content("a,b\n1,2\n"))):
            commit = await make(f"{base}/contents/{path}", content=file, message=f"Add {path}")
        first = await make(f"{base}/contents/p.png", content=PICTURES[0], message="Draw")
        drawn = {"content": PICTURES[1], "sha": first["content"]["sha"], "message": "Draw again"}
        picture = (await http.put(f"{base}/contents/p.png", json=drawn)).json()["commit"]["sha"]
        await make(f"{base}/contents/b.py", content=code, message="go on", new_branch="topic")
        await make(f"{base}/wiki/new", title="Home", content_base64=content(text))
        await make(f"{base}/labels", name="bug", color="#d73a4a")
        await make(f"{base}/issues", title="Dark", body=text)
        comment = await make(f"{base}/issues/1/comments", body=text)
        await make(f"{base}/issues/1/reactions", content="heart")
        for of in ("issues/1", f"issues/comments/{comment['id']}"):
            file = await http.post(f"{base}/{of}/assets", files={"attachment": ("oil.txt", b"a drop")})
            assert file.status_code == 201, file.text
        await make(f"{base}/pulls", title="More", head="topic", base="main", body="Closes #1")
        await make(f"{base}/statuses/topic", state="failure", context="ci", description="it burns")
        clash = f"{base}/contents/clash.txt"
        await make(clash, content=content("one\n"), message="Say one", new_branch="clash")
        await make(clash, content=content("two\n"), message="Say two")
        await make(f"{base}/pulls", title="Clash", head="clash", base="main")
        suggestion = "hm\n\n```suggestion\nprint(2)\n```"
        line = {"path": "b.py", "new_position": 1, "body": suggestion}
        review = await make(f"{base}/pulls/2/reviews", event="COMMENT", body="well", comments=[line])
        on_line = (await http.get(f"{base}/pulls/2/comments")).json()[0]["id"]
        heads = []
        for name in ("again", "anew"):
            said = content("".join(f"{number}\n" for number in range(30)) + f"{name}\n")
            answer = await make(f"{base}/contents/e.txt", content=said, message="Say it", new_branch=name)
            heads.append(answer["commit"]["sha"])
        await make(f"{base}/pulls", title="Again", head="again", base="main")
        moved = {"new_commit_id": heads[1], "force": True}
        assert (await http.put(f"{base}/branches/again", json=moved)).status_code == 204
        while (await http.get(f"{base}/pulls/4")).json()["head"]["sha"] != heads[1]:
            await asyncio.sleep(0.1)
        await make(f"{base}/releases", tag_name="v1", name="One", body="first")
        milestone = await make(f"{base}/milestones", title="Soon", due_on="2030-01-02T00:00:00Z")
        await make(f"{base}/branch_protections", rule_name="main", enable_push=True, required_approvals=1)
        rule = await make(f"{base}/tag_protections", name_pattern="v*", whitelist_usernames=[owner])
        of_repository = (await make(f"{base}/hooks", **hook))["id"]
        await make(f"{base}/hooks/{of_repository}/tests")
        own = {"service": "gitea", "auth_username": owner, "auth_password": ADMINISTRATOR[1]}
        await make("repos/migrate", clone_addr=f"{url}{owner}/lit.git", repo_name="brought", **own)
        organization = {"address": url, "source": "lamps", "organization": "oils"}
        import_id = (await make("admin/imports", **own, **organization))["id"]
        await make(f"orgs/lamps/teams/{team}/members", email=GUEST)
        link = link_of(text_of(await mailboxes.find(GUEST, "")))
        application = {"name": "app", "redirect_uris": ["http://127.0.0.1/"], "confidential_client": True}
        client_id = (await make("user/applications/oauth2", **application))["client_id"]
        return {
            "hook_id": of_repository, "user/hook_id": own_hook, "org/hook_id": org_hook, "team": team,
            "rule_id": rule["id"], "delivery_id": await delivery(f"{base}/hooks", of_repository),
            "comment_id": comment["id"], "on_line": on_line, "review": review["id"],
            "old_head": heads[0], "new_head": heads[1],
            "user/delivery_id": await delivery("user/hooks", own_hook), "sha": commit["commit"]["sha"],
            "org/delivery_id": await delivery("orgs/lamps/hooks", org_hook), "client_id": client_id,
            "picture": picture, "milestone_id": milestone["id"], "source_id": source_id,
            "import_id": import_id, "invitation": link.lstrip("/"),
        }  # fmt: skip
