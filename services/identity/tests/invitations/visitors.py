"""People who follow the links of invitations, and web and repos as they ask for these."""

from urllib.parse import urlencode

from ingot_chassis.security.principal import ANONYMOUS

from ..applications import Person, forms
from ..world import PASSWORD, REPOS

INVITED = "/user/invited"


async def invite(world, email="new@work.example", *, team, as_="ann"):
    path = f"/orgs/acme/teams/{team}/members"
    return await world.call("POST", path, {"email": email}, as_=as_)


async def invite_to_repository(world, email="new@work.example", *, by, repository=1, permission="write"):
    body = {"email": email, "permission": permission, "inviter_id": by}
    return await world.post_as_peer(f"/internal/repositories/{repository}/invitations", body)


async def invitation_of(world, code, peer="web"):
    """The invitation behind a link, as a peer gets it."""
    headers = REPOS.headers(ANONYMOUS, peer=peer)
    return await world.http.get(f"/internal/invitations?{urlencode({'code': code})}", headers=headers)


async def join(world, code, as_):
    """Accept an invitation to a team as web does for a person."""
    headers = REPOS.headers(ANONYMOUS, peer="web") | await world.headers_of(as_, "")
    return await world.http.post("/internal/team-invitations", json={"code": code}, headers=headers)


async def members(world, team):
    return {one["login"] for one in (await world.call("GET", f"/teams/{team}/members", as_="ann")).json()}


class Visitor(Person):
    """A browser without an account."""

    async def form(self, code):
        return await self.http.get(f"{INVITED}?{urlencode({'code': code})}")

    async def register(self, code, name, **fields):
        page = await self.form(code)
        if page.status_code != 200:
            return page
        return await self.send(page, {"username": name, "password": PASSWORD, "repeated": PASSWORD} | fields)

    async def send(self, page, fields):
        action, values = forms(page.text)[0]
        return await self.http.post(action, data=values | fields)
