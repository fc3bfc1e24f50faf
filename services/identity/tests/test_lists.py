"""Lists cost the same number of statements however long they are, and come in pages."""

import re
from datetime import timedelta

import pytest
from sqlalchemy import insert

from ingot_chassis.clock import now
from ingot_identity.access.store.memberships import membership
from ingot_identity.access.store.teams import team, team_member
from ingot_identity.accounts.store.follows import follow
from ingot_identity.accounts.store.tables import account, metadata
from ingot_identity.actions.store import action_variable
from ingot_identity.badges.store import badge, user_badge
from ingot_identity.blocks.store import block
from ingot_identity.emails.store import email
from ingot_identity.invitations.store import invitation
from ingot_identity.keys.store.tables import gpg_key, ssh_key
from ingot_identity.messages.components import MessageComponents
from ingot_identity.oauth2.store.tables import oauth2_application, oauth2_grant
from ingot_identity.registrations.store import registration
from ingot_identity.repositories.store import owned_repository
from ingot_identity.scim.store.tables import scim_token
from ingot_identity.sessions.store import browser_session
from ingot_identity.sources.store.tables import SourceKind, auth_source
from ingot_identity.tokens.store import access_token, token_repository

from .matrix import shape

pytestmark = pytest.mark.both_databases

LISTS = {
    "/users/search": "root",
    "/admin/users": "root",
    "/admin/orgs": "root",
    "/admin/emails": "root",
    "/admin/auths": "root",
    "/admin/registrations": "root",
    "/admin/auths/101/scim_tokens": "root",
    "/admin/users/ann/badges": "root",
    "/user/external_accounts": "ann",
    "/admin/emails/search": "root",
    "/orgs": "",
    "/user/blocks": "ann",
    "/orgs/acme/blocks": "ann",
    "/user/actions/variables": "ann",
    "/orgs/acme/actions/variables": "ann",
    "/user/teams": "ann",
    "/user/applications/oauth2": "ann",
    "/user/oauth2_grants": "ann",
    "/user/sessions": "ann",
    "/orgs/acme/teams/search": "ann",
    "/user/orgs": "ann",
    "/users/ann/orgs": "root",
    "/user/emails": "ann",
    "/user/keys": "ann",
    "/users/ann/keys": "root",
    "/user/gpg_keys": "ann",
    "/users/ann/gpg_keys": "root",
    "/user/followers": "ann",
    "/user/following": "ann",
    "/users/ann/followers": "root",
    "/users/ann/following": "root",
    "/orgs/acme/members": "ann",
    "/orgs/acme/public_members": "",
    "/orgs/acme/teams": "ann",
    "/orgs/acme/teams/1/invitations": "ann",
    "/teams/1/members": "ann",
    "/users/ann/tokens": "ann",
}

SMALL = ("list_count", "auth_source", "registration")
TABLES = sorted(name for name in metadata.tables if name not in SMALL)


async def fill(world, numbers):
    """Give ann one more of everything for each number."""
    ids = {"ann": 2, "acme": 3}
    db, sealed = world.database, world.part(MessageComponents).messages.seal("x@x.io")
    async with db.transaction() as tx:
        for kind, base in (("user", 10_000), ("organization", 20_000)):
            rows = [
                {
                    "id": base + n,
                    "kind": kind,
                    "login": f"{kind}{n}",
                    "lower_login": f"{kind}{n}",
                    "created_at": now(),
                    "updated_at": now(),
                }
                for n in numbers
            ]
            await tx.execute(insert(account), rows)
        for table, make in (
            (email, lambda n: {"account_id": ids["ann"], "address": f"{n}@x.io"}),
            (follow, lambda n: {"follower_id": ids["ann"], "followed_id": 10_000 + n}),
            (follow, lambda n: {"followed_id": ids["ann"], "follower_id": 10_000 + n}),
            (membership, lambda n: {"organization_id": ids["acme"], "user_id": 10_000 + n, "public": True}),
            (membership, lambda n: {"organization_id": 20_000 + n, "user_id": ids["ann"], "public": True}),
            (team_member, lambda n: {"team_id": 1, "user_id": 10_000 + n}),
            (
                team,
                lambda n: {
                    "id": 1000 + n,
                    "organization_id": ids["acme"],
                    "name": f"t{n}",
                    "lower_name": f"t{n}",
                    "permission": "read",
                },
            ),
            (team_member, lambda n: {"team_id": 1000 + n, "user_id": ids["ann"]}),
            (block, lambda n: {"blocker_id": ids["ann"], "blocked_id": 10_000 + n, "created_at": now()}),
            (block, lambda n: {"blocker_id": ids["acme"], "blocked_id": 10_000 + n, "created_at": now()}),
            (
                action_variable,
                lambda n: {"account_id": ids["ann"], "name": f"V{n}", "value": "v", "description": ""},
            ),
            (
                action_variable,
                lambda n: {"account_id": ids["acme"], "name": f"V{n}", "value": "v", "description": ""},
            ),
            (
                gpg_key,
                lambda n: {
                    "account_id": ids["ann"],
                    "primary_key_id": "",
                    "key_id": f"{n:016X}",
                    "content": "x",
                    "addresses": "ann@example.com",
                    "can_sign": True,
                    "can_encrypt_comms": False,
                    "can_encrypt_storage": False,
                    "can_certify": True,
                    "created_at": now(),
                },
            ),
            (
                ssh_key,
                lambda n: {
                    "account_id": ids["ann"],
                    "title": f"k{n}",
                    "content": "x",
                    "fingerprint": f"f{n}",
                    "created_at": now(),
                },
            ),
            (
                access_token,
                lambda n: {
                    "id": 100 + n,
                    "account_id": ids["ann"],
                    "name": f"t{n}",
                    "sha256": n.to_bytes(32),
                    "last_eight": f"{n:08}",
                    "scopes": "all",
                    "created_at": now(),
                },
            ),
            (
                oauth2_application,
                lambda n: {
                    "id": 500 + n,
                    "account_id": ids["ann"],
                    "name": f"a{n}",
                    "client_id": f"c{n}",
                    "secret_sha256": n.to_bytes(32),
                    "redirect_uris": "https://x.io/",
                    "confidential": True,
                    "skip_consent": False,
                    "created_at": now(),
                },
            ),
            (
                oauth2_grant,
                lambda n: {
                    "account_id": ids["ann"],
                    "application_id": 500 + n,
                    "scopes": "openid",
                    "created_at": now(),
                },
            ),
            (
                browser_session,
                lambda n: {
                    "account_id": ids["ann"],
                    "sha256": n.to_bytes(32),
                    "created_at": now(),
                    "expires_at": now() + timedelta(hours=1),
                },
            ),
            (
                auth_source,
                lambda n: {
                    "id": 100 + n,
                    "kind": SourceKind.OIDC,
                    "name": f"s{n}",
                    "title": f"S{n}",
                    "config": '{"kind": "oidc", "issuer": "https://x.test", "client_id": "c"}',
                    "created_at": now(),
                    "updated_at": now(),
                },
            ),
            (
                scim_token,
                lambda n: {"source_id": 101, "name": f"t{n}", "sha256": n.to_bytes(32), "created_at": now()},
            ),
            (badge, lambda n: {"id": 100 + n, "slug": f"b{n}"}),
            (user_badge, lambda n: {"account_id": ids["ann"], "badge_id": 100 + n}),
            (
                invitation,
                lambda n: {
                    "team_id": 1,
                    "inviter_id": ids["ann"],
                    "address_digest": n.to_bytes(32),
                    "sealed_address": sealed,
                    "created_at": now(),
                    "expires_at": now() + timedelta(hours=1),
                },
            ),
            (
                registration,
                lambda n: {
                    "login": f"w{n}",
                    "lower_login": f"w{n}",
                    "address": f"w{n}@x.io",
                    "confirmed": True,
                    "password_hash": "",
                    "note": "",
                    "created_at": now(),
                },
            ),
            (owned_repository, lambda n: {"repository_id": n, "owner_id": ids["ann"], "name": f"r{n}"}),
            (token_repository, lambda n: {"token_id": 100 + n, "repository_id": n}),
        ):
            await tx.execute(insert(table), [make(n) for n in numbers])


@pytest.fixture
async def full(world):
    """ann (2) owns acme (3), and there are ten of everything."""
    await world.add_user("ann")
    await world.call("POST", "/orgs", {"username": "acme"}, as_="ann")
    await fill(world, range(10))
    return world


def test_every_list_is_among_them(world):
    """A list is a GET that answers one, by the type of its answer."""
    lists = set()
    for route in world.app.routes:
        for handler in getattr(route, "route_handlers", []):
            answers = str(handler.parsed_fn_signature.return_type.annotation)
            is_read = route.path.startswith("/api/v1/") and "GET" in handler.http_methods
            if is_read and ("list[" in answers or "Results" in answers):
                lists.add(shape(route.path.removeprefix("/api/v1")))
    named = {
        shape(
            path.replace("ann", "{user}")
            .replace("acme", "{org}")
            .replace("/1/", "/{team}/")
            .replace("/101/", "/{source}/")
        )
        for path in LISTS
    }
    assert lists == named | {"/user/*/orgs"}


async def test_a_list_of_a_thousand_costs_as_many_statements_as_one_of_ten(full):
    async def costs():
        counts = {}
        for path, caller in LISTS.items():
            with full.count_statements() as statements:
                answer = await full.call("GET", path, as_=caller)
            assert answer.status_code == 200, path
            counts[path] = len(statements)
        return counts

    await costs()
    before = await costs()
    await fill(full, range(10, 1000))
    assert await costs() == before
    assert max(before.values()) <= 5


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_an_index_serves_every_list(full):
    """By the plans of SQLite, no list and no total scans a whole table. A page may walk along an index."""
    wrong = []
    for path, caller in LISTS.items():
        with full.count_statements() as statements:
            assert (await full.call("GET", path, as_=caller)).status_code == 200
        async with full.database.reading.connect() as connection:
            for statement, parameters in statements:
                plan = await connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
                scans = [row.detail for row in plan if re.match(rf"SCAN ({'|'.join(TABLES)})\b", row.detail)]
                is_walk = "LIMIT" in statement
                wrong += [(path, scan) for scan in scans if not (is_walk and "USING" in scan)]
    assert wrong == []


async def test_every_list_comes_in_pages(full):
    for path, caller in LISTS.items():
        first = await full.call("GET", f"{path}?limit=3", as_=caller)
        second = await full.call("GET", f"{path}?limit=3&page=2", as_=caller)
        pages = (first.json(), second.json())
        rows = [page["data"] if isinstance(page, dict) else page for page in pages]
        assert [len(page) for page in rows] == [3, 3], path
        assert not [row for row in rows[0] if row in rows[1]], path
        assert int(first.headers["x-total-count"]) >= 10, path
        assert 'rel="next"' in first.headers["link"], path
