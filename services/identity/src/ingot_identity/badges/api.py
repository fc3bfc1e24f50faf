"""Routes for badges of users, for site administrators. A badge has only a slug, no text or picture."""

import re
from typing import Annotated

import msgspec
from litestar import Response, delete, get, post

from ingot_chassis.errors import Invalid
from ingot_contracts.limits import Name
from ingot_identity.access.api import of_user
from ingot_identity.access.rules import SignIn
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.badges import store

MOST = 50
_SLUG = re.compile(rf"[A-Za-z0-9][A-Za-z0-9_.-]{{0,{store.SLUG_LENGTH - 1}}}")


class UserBadgeOption(msgspec.Struct, kw_only=True):
    """Badges by slug: letters, digits, `-`, `_` and `.`. A slug that no user has creates a badge."""

    badge_slugs: Annotated[list[Name], msgspec.Meta(max_length=MOST)] = []

    def slugs(self) -> set[str]:
        """Return the valid slugs of the request. Raises Invalid."""
        for slug in self.badge_slugs:
            if not _SLUG.fullmatch(slug):
                text = f"{slug!r} has other characters than letters, digits, '-', '_' and '.', or is too long"
                raise Invalid.field("badge_slugs", "format", text)
        return set(self.badge_slugs)


class Badge(msgspec.Struct):
    id: int
    slug: str
    description: str = ""
    image_url: str = ""


@get(
    "/api/v1/admin/users/{username:str}/badges",
    policy=of_user(SignIn.ADMINISTRATOR, "read:admin"),
    operation_id="adminListUserBadges",
    tags=["admin"],
    is_paged=True,
)
async def list_badges(request: IdentityRequest) -> Response[list[Badge]]:
    """List the badges of a user by slug."""
    page = request.page()
    async with request.db.read() as db:
        rows, total = await store.list_page(db, request.account.id, page)
    badges = [Badge(id=row.id, slug=row.slug) for row in rows]
    return Response(badges, headers=request.page_headers(page, total))


@post(
    "/api/v1/admin/users/{username:str}/badges",
    policy=of_user(SignIn.ADMINISTRATOR, "write:admin"),
    operation_id="adminAddUserBadges",
    tags=["admin"],
    status_code=204,
)
async def add_badges(request: IdentityRequest, data: UserBadgeOption) -> None:
    """Give badges to a user."""
    if slugs := data.slugs():
        async with request.db.transaction() as tx:
            await store.add(tx, request.account.id, slugs)


@delete(
    "/api/v1/admin/users/{username:str}/badges",
    policy=of_user(SignIn.ADMINISTRATOR, "write:admin"),
    operation_id="adminDeleteUserBadges",
    tags=["admin"],
)
async def delete_badges(request: IdentityRequest, data: UserBadgeOption) -> None:
    """Take badges from a user."""
    if slugs := data.slugs():
        async with request.db.transaction() as tx:
            await store.remove(tx, request.account.id, slugs)


routes = [list_badges, add_badges, delete_badges]
