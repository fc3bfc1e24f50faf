"""Rights of users: what each allows, and how it is revoked."""

import asyncio
import re
import secrets
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from html import unescape
from typing import NamedTuple

import httpx
from authlib.oauth2.rfc7636 import create_s256_code_challenge

from .deployments import Deployment
from .parts import PATIENCE

PASSWORD = "what ann knows"
VERIFIER = secrets.token_urlsafe(48)
REDIRECT = "https://ci.example.org/cb"
LIST_REFS = b"0014command=ls-refs\n0000"
OF_GIT = {"Git-Protocol": "version=2", "Content-Type": "application/x-git-upload-pack-request"}


class Use(NamedTuple):
    """An action that a right allows. ``is_allowed`` does it, and returns True if it was allowed."""

    name: str
    is_allowed: Callable[[], Awaitable[bool]]


class Right(NamedTuple):
    """URLs that were opened with a right, and its ``uses``. ``revoke`` ends it; ``others`` stay open."""

    opened: list[tuple[httpx.AsyncClient, list[str]]]
    revoke: Callable[[], Awaitable[httpx.Response]]
    others: tuple[tuple[httpx.AsyncClient, list[str]], ...] = ()
    uses: tuple[Use, ...] = ()


class People(NamedTuple):
    """Makes clients, each with a credential and cookies of its own. They are closed with the ``stack``."""

    deployment: Deployment
    stack: AsyncExitStack
    administrator: httpx.AsyncClient | None = None

    async def connect(self, **credential):
        # A connection that was idle for longer may be closed by the server at the moment of a request.
        limits = httpx.Limits(keepalive_expiry=1)
        client = httpx.AsyncClient(base_url=self.deployment.url, timeout=60, limits=limits, **credential)
        return await self.stack.enter_async_context(client)

    async def person(self, name):
        return await self.connect(auth=(await new_person(self.administrator, name), PASSWORD))

    async def two(self):
        return await self.person("ann"), await self.person("bob")


async def new_person(administrator, name):
    name = f"{name}-{secrets.token_hex(3)}"
    new = {"username": name, "email": f"{name}@example.org", "password": PASSWORD}
    assert (await administrator.post("api/v1/admin/users", json=new)).status_code == 201
    return name


async def login(client):
    return (await client.get("api/v1/user")).json()["login"]


async def new_repository(owner, path="user", *, private=True):
    """The full name of one with a file, an issue with a file, and a release with one."""
    body = {"name": "demo", "private": private, "auto_init": True, "default_branch": "main"}
    answer = await owner.post(f"api/v1/{path}/repos", json=body)
    assert answer.status_code == 201, answer.text
    full_name = answer.json()["full_name"]
    api = f"api/v1/repos/{full_name}"
    assert (await owner.post(f"{api}/issues", json={"title": "one"})).status_code == 201
    release = await owner.post(f"{api}/releases", json={"tag_name": "v1", "target_commitish": "main"})
    assert release.status_code == 201, release.text
    for of in ("issues/1", f"releases/{release.json()['id']}"):
        answer = await owner.post(f"{api}/{of}/assets", files={"attachment": ("a.txt", b"text")})
        assert answer.status_code == 201, answer.text
    return full_name


async def urls_of(owner, full_name):
    """Return the URLs that a reader of a repository opens in every service."""
    api = f"api/v1/repos/{full_name}"
    answer = await owner.get(f"{api}/issues/1/assets")
    assert answer.status_code == 200, answer.text
    (attachment,) = answer.json()
    return [
        f"{full_name}/attachments/{attachment['uuid']}",
        f"{full_name}/releases/download/v1/a.txt",
        f"{api}/raw/README.md",
        f"{api}/media/README.md",
        api,
        f"{api}/issues",
        f"{api}/issues/1",
        f"{api}/contents/README.md",
        f"{full_name}/archive/main.zip",
        f"{full_name}.git/info/refs?service=git-upload-pack",
        f"{full_name}.git/git-upload-pack",
        f"{full_name}.git/info/lfs/locks",
        f"{full_name}.git/info/lfs/objects/batch",
    ]


def pages_of(full_name):
    """Return the pages that a reader opens with the session of a browser."""
    return [full_name, f"{full_name}/issues/1", f"{full_name}/archive/main.zip"]


async def status_of(client, url):
    if url.endswith("/git-upload-pack"):  # what a clone that runs asks for next
        return (await client.post(url, content=LIST_REFS, headers=OF_GIT)).status_code
    if url.endswith("/objects/batch"):
        return (await client.post(url, json={"operation": "download", "objects": []})).status_code
    return (await client.get(url)).status_code


async def submit(browser, page, **fields):
    """Send the first form of a page."""
    action, content = re.findall(r'<form method="post" action="([^"]*)">(.*?)</form>', page.text, re.DOTALL)[
        0
    ]
    hidden = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)">', content)
    form = {unescape(name): unescape(value) for name, value in hidden} | fields
    return await browser.post(unescape(action), data=form)


async def sign_in(browser, name, path="login", query=None):
    page = await browser.get(path, params=query)
    answer = await submit(browser, page, username=name, password=PASSWORD)
    assert answer.status_code == 303, answer.text
    return answer


async def browser_of(people, person):
    """One in which they have signed in."""
    browser = await people.connect()
    await sign_in(browser, await login(person))
    return browser


async def granted_tokens(connect, owner, person):
    """Return tokens that an application got, and uses of its refresh tokens: each gives the next one."""
    own = "api/v1/user/applications/oauth2"
    app = (await owner.post(own, json={"name": "ci", "redirect_uris": [REDIRECT]})).json()
    query = {
        "response_type": "code",
        "client_id": app["client_id"],
        "scope": "read:user read:repository read:issue",
        "code_challenge": create_s256_code_challenge(VERIFIER),
        "code_challenge_method": "S256",
    }
    browser = await connect()
    answer = await sign_in(browser, person, "login/oauth/authorize", query)
    page = await browser.get(answer.headers["location"])
    answer = await submit(browser, page, decision="allow")
    code = httpx.URL(answer.headers["location"]).params["code"]
    form = {"grant_type": "authorization_code", "client_id": app["client_id"], "code": code}
    tokens = await browser.post("login/oauth/access_token", data=form | {"code_verifier": VERIFIER})
    assert tokens.status_code == 200, tokens.text
    newest = tokens.json()

    async def refreshes():
        nonlocal newest
        form = {"grant_type": "refresh_token", "refresh_token": newest["refresh_token"]}
        answer = await browser.post("login/oauth/access_token", data=form | {"client_id": app["client_id"]})
        newest = answer.json() if answer.is_success else newest
        return answer.is_success

    return tokens.json(), Use("refresh token", refreshes)


async def deleted_token(people):
    ann = await people.person("ann")
    name, full_name = await login(ann), await new_repository(ann)
    token = (await ann.post(f"api/v1/users/{name}/tokens", json={"name": "t"})).json()
    urls = ["api/v1/user", f"api/v1/repos/{full_name}/hooks", *await urls_of(ann, full_name)]
    by_header = await people.connect(headers={"Authorization": f"token {token['sha1']}"})
    by_password = await people.connect(auth=(name, token["sha1"]))
    return Right(
        [(by_header, urls), (by_password, urls)],
        lambda: ann.delete(f"api/v1/users/{name}/tokens/{token['id']}"),
    )


async def collaborator(people, permission):
    """Return a repository, its owner, a collaborator with ``permission``, and the call that removes the
    collaborator."""
    ann, bob = await people.two()
    full_name, name = await new_repository(ann), await login(bob)
    path = f"api/v1/repos/{full_name}/collaborators/{name}"
    assert (await ann.put(path, json={"permission": permission})).status_code == 204
    return full_name, ann, bob, lambda: ann.delete(path)


async def removed_collaborator(people):
    full_name, ann, bob, remove = await collaborator(people, "admin")
    urls = [f"api/v1/repos/{full_name}/hooks", *await urls_of(ann, full_name)]
    return Right([(bob, urls), (await browser_of(people, bob), pages_of(full_name))], remove)


async def lowered_collaborator(people):
    full_name, ann, bob, _ = await collaborator(people, "write")
    api = f"api/v1/repos/{full_name}"
    urls = [f"{api}/{what}" for what in ("collaborators", "branch_protections", "tag_protections")]
    member = f"{api}/collaborators/{await login(bob)}"
    lower = partial(ann.put, member, json={"permission": "read"})
    return Right([(bob, urls)], lower, ((bob, await urls_of(ann, full_name)),))


async def private_repository(people):
    """Let a user read a repository that is public at first."""
    ann, bob = await people.two()
    full_name = await new_repository(ann, private=False)
    make_private = partial(ann.patch, f"api/v1/repos/{full_name}", json={"private": True})
    browser, nobody = await browser_of(people, bob), await people.connect()
    urls = await urls_of(ann, full_name)
    return Right([(bob, urls), (browser, pages_of(full_name)), (nobody, pages_of(full_name))], make_private)


async def urls_of_watch(full_name, owner, person):
    """Let a user watch a repository and be notified. Return the URLs that the notification opens."""
    repository = f"api/v1/repos/{full_name}"
    assert (await person.put(f"{repository}/subscription")).status_code == 200
    assert (await owner.post(f"{repository}/issues", json={"title": "two"})).status_code == 201
    end = time.monotonic() + PATIENCE
    while not (threads := (await person.get("api/v1/notifications")).json()):
        assert time.monotonic() < end
        await asyncio.sleep(0.05)
    return [
        f"{repository}/subscription",
        f"{repository}/notifications",
        f"api/v1/notifications/threads/{threads[0]['id']}",
    ]


async def watch(people):
    full_name, ann, bob, remove = await collaborator(people, "read")
    return Right([(bob, await urls_of_watch(full_name, ann, bob))], remove)


async def pull_request(people):
    """Open a pull request from a fork. The fork stays, like a clone."""
    full_name, _, bob, remove = await collaborator(people, "read")
    name = await login(bob)
    assert (await bob.post(f"api/v1/repos/{full_name}/forks", json={})).status_code == 202
    fork = f"api/v1/repos/{name}/{full_name.partition('/')[2]}"
    end = time.monotonic() + PATIENCE
    while await status_of(bob, f"{fork}/branches") != 200:
        assert time.monotonic() < end
        await asyncio.sleep(0.05)
    file = {"content": "YQ==", "message": "Add a", "branch": "main", "new_branch": "topic"}
    assert (await bob.post(f"{fork}/contents/a.txt", json=file)).status_code == 201
    pull = {"title": "Add a", "head": f"{name}:topic", "base": "main"}
    answer = await bob.post(f"api/v1/repos/{full_name}/pulls", json=pull)
    assert answer.status_code == 201, answer.text
    url = f"api/v1/repos/{full_name}/pulls/{answer.json()['number']}"
    return Right([(bob, [url, f"{url}.diff", f"{url}/files", f"{url}/commits"])], remove, ((bob, [fork]),))


async def team_with_repository(people, permission):
    """Return the owner, the member of the team, the name of the repository, and the path of the team."""
    ann, bob = await people.two()
    org = f"acme-{secrets.token_hex(3)}"
    assert (await ann.post("api/v1/orgs", json={"username": org})).status_code == 201
    full_name = await new_repository(ann, f"orgs/{org}")
    body = {"name": "devs", "permission": permission}
    team = (await ann.post(f"api/v1/orgs/{org}/teams", json=body)).json()["id"]
    path = f"api/v1/teams/{team}"
    assert (await ann.put(f"{path}/repos/{full_name}")).status_code == 204
    assert (await ann.put(f"{path}/members/{await login(bob)}")).status_code == 204
    return ann, bob, full_name, path


async def left_team(people):
    ann, bob, full_name, team = await team_with_repository(people, "write")
    member = f"{team}/members/{await login(bob)}"
    return Right([(bob, await urls_of(ann, full_name))], lambda: ann.delete(member))


async def left_organization(people):
    ann, bob, full_name, _ = await team_with_repository(people, "write")
    member = f"api/v1/orgs/{full_name.partition('/')[0]}/members/{await login(bob)}"
    opened = [
        (bob, await urls_of(ann, full_name)),
        (await browser_of(people, bob), pages_of(full_name)),
    ]
    return Right(opened, lambda: ann.delete(member))


async def repository_of_a_team(people):
    ann, bob, full_name, team = await team_with_repository(people, "write")
    return Right([(bob, await urls_of(ann, full_name))], lambda: ann.delete(f"{team}/repos/{full_name}"))


async def lowered_team(people):
    ann, bob, full_name, team = await team_with_repository(people, "admin")
    urls = [f"api/v1/repos/{full_name}/{what}" for what in ("hooks", "keys", "push_mirrors")]
    change = {"permission": "read"}
    return Right([(bob, urls)], lambda: ann.patch(team, json=change), ((bob, await urls_of(ann, full_name)),))


async def team_of_all_repositories(people):
    ann, bob = await people.two()
    org, name = f"acme-{secrets.token_hex(3)}", await login(bob)
    assert (await ann.post("api/v1/orgs", json={"username": org})).status_code == 201
    body = {"name": "all", "permission": "read", "includes_all_repositories": True}
    team = (await ann.post(f"api/v1/orgs/{org}/teams", json=body)).json()["id"]
    assert (await ann.put(f"api/v1/teams/{team}/members/{name}")).status_code == 204
    urls = await urls_of(ann, await new_repository(ann, f"orgs/{org}"))
    change = {"includes_all_repositories": False}
    return Right([(bob, urls)], lambda: ann.patch(f"api/v1/teams/{team}", json=change))


async def ended_session(people):
    ann = await people.person("ann")
    name, full_name = await login(ann), await new_repository(ann)
    pages = pages_of(full_name)
    ended, other = await people.connect(), await people.connect()
    for browser in (other, ended):
        await sign_in(browser, name)
    sessions = (await ann.get("api/v1/user/sessions")).json()
    assert len(sessions) == 2
    return Right(
        [(ended, pages)],
        lambda: ann.delete(f"api/v1/user/sessions/{sessions[0]['id']}"),
        ((other, pages),),
    )


async def grant(people):
    """The tokens of an application."""
    ann, bob = await people.two()
    full_name = await new_repository(bob)
    tokens, refreshes = await granted_tokens(people.connect, ann, await login(bob))
    client = await people.connect(headers={"Authorization": f"Bearer {tokens['access_token']}"})
    (one,) = (await bob.get("api/v1/user/oauth2_grants")).json()
    return Right(
        [(client, ["api/v1/user", *await urls_of(bob, full_name)])],
        lambda: bob.delete(f"api/v1/user/oauth2_grants/{one['id']}"),
        uses=(refreshes,),
    )


async def replaced_password(people):
    ann, bob = await people.two()
    name, full_name = await login(bob), await new_repository(bob)
    browser = await people.connect()
    await sign_in(browser, name)
    tokens, refreshes = await granted_tokens(people.connect, ann, name)
    client = await people.connect(headers={"Authorization": f"Bearer {tokens['access_token']}"})
    urls = ["api/v1/user", *await urls_of(bob, full_name)]
    body = {"password": "another password"}
    return Right(
        [(bob, urls), (client, urls), (browser, pages_of(full_name))],
        lambda: people.administrator.patch(f"api/v1/admin/users/{name}", json=body),
        uses=(refreshes,),
    )


async def account_without_sign_in(people):
    bob = await people.person("bob")
    name, full_name = await login(bob), await new_repository(bob)
    token = (await bob.post(f"api/v1/users/{name}/tokens", json={"name": "t"})).json()["sha1"]
    client = await people.connect(headers={"Authorization": f"token {token}"})
    body = {"prohibit_login": True}
    return Right(
        [(client, ["api/v1/user", *await urls_of(bob, full_name)])],
        lambda: people.administrator.patch(f"api/v1/admin/users/{name}", json=body),
    )


RIGHTS = [
    deleted_token,
    removed_collaborator,
    lowered_collaborator,
    private_repository,
    watch,
    pull_request,
    left_team,
    left_organization,
    repository_of_a_team,
    lowered_team,
    team_of_all_repositories,
    ended_session,
    grant,
    replaced_password,
    account_without_sign_in,
]
