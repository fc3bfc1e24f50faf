"""A client of SCIM as tests drive it, and sources for it."""

from typing import Any

import httpx

USER = "urn:ietf:params:scim:schemas:core:2.0:User"
GROUP = "urn:ietf:params:scim:schemas:core:2.0:Group"
PATCH = "urn:ietf:params:scim:api:messages:2.0:PatchOp"
CONFIG = {"kind": "oidc", "issuer": "https://id.example.org", "client_id": "ingot"}


class ScimClient:
    """Sends requests with a token of one source."""

    def __init__(self, http: httpx.AsyncClient, source_id: int, token: str) -> None:
        self.source_id, self.token = source_id, token
        self._http = http

    async def call(
        self, method: str, path: str, body: Any = None, *, token: str | None = None, **headers: str
    ) -> httpx.Response:
        bearer = f"Bearer {self.token if token is None else token}"
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        sent = {"authorization": bearer, "content-type": "application/scim+json", **named}
        content = {} if body is None else {"json": body}
        return await self._http.request(method, f"/scim/v2/{path}", headers=sent, **content)

    async def add_user(self, name: str = "cy", **attributes: Any) -> httpx.Response:
        """The answer that creates a user."""
        return await self.call("POST", "Users", user(name, **attributes))

    async def user(self, name: str = "cy", **attributes: Any) -> Any:
        """A new user."""
        answer = await self.add_user(name, **attributes)
        assert answer.status_code == 201, answer.text
        return answer.json()

    async def group(self, name: str, *members: Any) -> Any:
        """A new group of these users."""
        body = {"displayName": name, "members": [{"value": member["id"]} for member in members]}
        answer = await self.call("POST", "Groups", {"schemas": [GROUP], **body})
        assert answer.status_code == 201, answer.text
        return answer.json()

    async def patch(self, path: str, *operations: Any, **headers: str) -> httpx.Response:
        body = {"schemas": [PATCH], "Operations": list(operations)}
        return await self.call("PATCH", path, body, **headers)


def user(name: str, **attributes: Any) -> dict[str, Any]:
    """A user as clients write them."""
    body = {
        "schemas": [USER],
        "userName": f"{name}@corp.example",
        "externalId": f"id-{name}",
        "displayName": name.capitalize(),
        "name": {"givenName": name.capitalize(), "familyName": "Doe"},
        "emails": [{"value": f"{name}@corp.example", "type": "work", "primary": True}],
        "active": True,
    }
    return {key: value for key, value in (body | attributes).items() if value is not None}


async def make_client(world: Any, name: str = "corp", **config: Any) -> ScimClient:
    """A client of a new source."""
    fields = {"name": name, "title": name.capitalize(), "config": CONFIG | config}
    source = await world.call("POST", "/admin/auths", fields, as_="root")
    assert source.status_code == 201, source.text
    return await make_other_client(world, source.json()["id"])


async def make_other_client(world: Any, source_id: int) -> ScimClient:
    """Another client of a source."""
    path = f"/admin/auths/{source_id}/scim_tokens"
    created = await world.call("POST", path, {"name": "client"}, as_="root")
    assert created.status_code == 201, created.text
    return ScimClient(world.http, source_id, created.json()["token"])
