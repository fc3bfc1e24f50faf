"""The audit log of identity: each change by a person, and each failed sign-in; never a secret."""

import json

import pytest

from ingot_chassis.clock import now
from ingot_chassis.db.audit import delete_entries, list_entries
from ingot_chassis.security.principal import ANONYMOUS
from ingot_testing.service import analyze, rows_touched

from .applications import Person, get_tokens, make_app
from .invitations.visitors import Visitor, invite, join
from .keys.test_gpg_proofs import Key, token_of, verify
from .keys.test_gpg_proofs import add as add_key
from .mailbox import Mailbox
from .matrix import application, pgp_key, ssh_key
from .matrix import source as source_fields
from .passkeys.authenticator import add_passkey, signed_in, use
from .providers.counterparts import LyingProvider, served
from .providers.test_attacks import add_source, attempt
from .registrations.visitors import Visitor as Registrant
from .scim.clients import make_client
from .two_factors.test_two_factors import enrol
from .world import GATEWAY, PASSWORD


async def entries(world, action="", **filters):
    """Oldest first."""
    async with world.database.read() as db:
        newest = await list_entries(db, service="identity", limit=1_000, action=action, **filters)
    return newest[::-1]


async def single_entry(world, action):
    """Of the one entry with that action: by whom, to what, and the details."""
    (entry,) = await entries(world, action)
    return entry.actor, entry.subject, entry.details


CHANGES = [
    (
        "user.create",
        "root",
        "POST",
        "/admin/users",
        {"username": "x", "email": "x@x.io", "password": "p" * 9},
    ),
    ("user.edit", "root", "PATCH", "/admin/users/bob", {"password": "new password"}),
    ("user.rename", "root", "POST", "/admin/users/bob/rename", {"new_username": "rob"}),
    ("user.delete", "root", "DELETE", "/admin/users/bob", None),
    ("organization.create", "ann", "POST", "/orgs", {"username": "x"}),
    ("organization.create", "root", "POST", "/admin/users/ann/orgs", {"username": "x"}),
    ("organization.edit", "ann", "PATCH", "/orgs/acme", {"visibility": "private"}),
    ("organization.rename", "ann", "POST", "/orgs/acme/rename", {"new_name": "x"}),
    ("organization.delete", "ann", "DELETE", "/orgs/acme", None),
    ("member.remove", "ann", "DELETE", "/orgs/acme/members/mia", None),
    ("team.create", "ann", "POST", "/orgs/acme/teams", {"name": "x"}),
    ("team.edit", "ann", "PATCH", "/teams/{team}", {"permission": "admin"}),
    ("team.delete", "ann", "DELETE", "/teams/{team}", None),
    ("team.add_member", "ann", "PUT", "/teams/{team}/members/bob", None),
    ("team.remove_member", "ann", "DELETE", "/teams/{team}/members/mia", None),
    ("token.create", "ann", "POST", "/users/ann/tokens", {"name": "ci", "scopes": ["read:user"]}),
    ("ssh_key.add", "ann", "POST", "/user/keys", {"title": "k", "key": ssh_key(1)}),
    ("ssh_key.add", "root", "POST", "/admin/users/ann/keys", {"title": "k", "key": ssh_key(1)}),
    ("gpg_key.add", "ann", "POST", "/user/gpg_keys", {"armored_public_key": pgp_key("ann")}),
    ("email.add", "ann", "POST", "/user/emails", {"emails": ["x@x.io"]}),
    ("oauth2_application.create", "ann", "POST", "/user/applications/oauth2", application(1)),
]


@pytest.mark.parametrize("case", CHANGES, ids=lambda case: f"{case[2]} {case[3]}")
async def test_a_change_is_noted_with_who_did_it_and_without_secrets(world, acme, case):
    action, who, method, path, body = case
    await world.add_user("bob")
    before = {entry.id for entry in await entries(world)}
    answer = await world.call(method, path.format(team=acme[1]), body, as_=who)
    assert answer.is_success, answer.text
    noted = [entry for entry in await entries(world) if entry.id not in before]
    assert [(entry.action, entry.actor, entry.via) for entry in noted] == [(action, who, "basic")]
    answered = answer.json() if answer.text.startswith("{") else {}
    secrets = {answered.get(name) for name in ("sha1", "client_secret")} | {(body or {}).get("password")}
    text = json.dumps([(entry.subject, entry.details) for entry in noted])
    assert not [secret for secret in secrets if secret and secret in text]


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_what_people_do_to_what_they_have_is_noted(world):
    for name in ("ann", "bob"):
        await world.add_user(name)
    await get_tokens(world, await make_app(world))
    (grant,) = (await world.call("GET", "/user/oauth2_grants", as_="bob")).json()
    ids = {
        place: (await world.call("POST", f"/{place}", body, as_="ann")).json().get("id")
        for place, body in [
            ("user/keys", {"title": "k", "key": ssh_key(1)}),
            ("user/gpg_keys", {"armored_public_key": pgp_key("ann")}),
            ("user/applications/oauth2", application(1)),
            ("users/ann/tokens", {"name": "ci"}),
        ]
    }
    await world.call("POST", "/user/emails", {"emails": ["x@x.io", "y@x.io"]}, as_="ann")
    app = f"/user/applications/oauth2/{ids['user/applications/oauth2']}"
    passwords = {"old_password": PASSWORD, "new_password": "another password"}
    for action, who, method, path, body in [
        ("ssh_key.delete", "ann", "DELETE", f"/user/keys/{ids['user/keys']}", None),
        ("gpg_key.delete", "ann", "DELETE", f"/user/gpg_keys/{ids['user/gpg_keys']}", None),
        ("oauth2_application.edit", "ann", "PATCH", app, application(2)),
        ("oauth2_application.delete", "ann", "DELETE", app, None),
        ("token.delete", "ann", "DELETE", f"/users/ann/tokens/{ids['users/ann/tokens']}", None),
        ("email.choose", "ann", "PATCH", "/user/emails", {"email": "x@x.io"}),
        ("email.delete", "ann", "DELETE", "/user/emails", {"emails": ["y@x.io"]}),
        ("oauth2_grant.revoke", "bob", "DELETE", f"/user/oauth2_grants/{grant['id']}", None),
        ("user.change_password", "ann", "POST", "/user/password", passwords),
    ]:
        before = len(await entries(world))
        answer = await world.call(method, path, body, as_=who)
        assert answer.is_success, (path, answer.text)
        noted = [(entry.action, entry.actor, entry.subject) for entry in (await entries(world))[before:]]
        assert noted == [(action, who, f"user {who}")]


async def test_what_is_refused_is_not_noted(world, acme):
    before = len(await entries(world))
    refused = await world.call("PUT", f"/teams/{acme[1]}/members/sam", as_="mia")
    invalid = await world.call("POST", "/users/ann/tokens", {"name": "t", "scopes": ["no scope"]}, as_="ann")
    assert (refused.status_code, invalid.status_code) == (404, 422)
    assert len(await entries(world)) == before


async def test_who_acts_as_somebody_else_is_named(world):
    await world.add_user("ann")
    headers = {
        "ingot-principal": (await world.authenticate(name="root", password=PASSWORD, sudo="ann")).json()[
            "statement"
        ],
        "x-forwarded-for": "192.0.2.7",
    }
    await world.http.post("/api/v1/users/ann/tokens", json={"name": "t"}, headers=headers)
    (entry,) = await entries(world, "token.")
    assert (entry.actor, entry.sudo_by, entry.address) == ("ann", "root", "192.0.2.7")


async def test_a_failed_sign_in_is_noted_without_what_was_typed(world):
    await world.add_user("ann")
    await world.authenticate(name="ann", password="guess", address="192.0.2.7")
    await world.authenticate(name="my password", password="x", address="192.0.2.8")
    noted = [(entry.subject, entry.address, entry.details) for entry in await entries(world, "sign_in.fail")]
    wrong = {"wrong": "password"}
    assert noted == [("user ann", "192.0.2.7", wrong), ("user", "192.0.2.8", wrong)]


async def test_a_confirmed_address_is_noted(make_world):
    async with make_world(sends_mail=True) as world:
        await world.add_user("ann")
        await world.call("POST", "/user/emails", {"emails": ["x@x.io"]}, as_="ann")
        person = Person(world, "ann")
        page = await person.sign_in(await person.get(await Mailbox(world).link("x@x.io")))
        await person.submit(page)
        (entry,) = await entries(world, "email.confirm")
        assert (entry.actor, entry.via, entry.details) == ("ann", "session", {"email": "x@x.io"})


async def test_a_password_that_a_link_replaced_is_noted(make_world):
    async with make_world(sends_mail=True) as world:
        await world.add_user("ann")
        person, mailbox = Person(world, "ann"), Mailbox(world)
        await person.submit(await person.get("/user/forgot_password"), email="ann@example.com")
        page = await person.get(await mailbox.link("ann@example.com"))
        await person.submit(page, password="a new password", repeated="a new password")
        (entry,) = await entries(world, "user.reset_password")
        assert (entry.actor, entry.via, entry.details) == ("ann", "mail", {})


async def test_registrations_are_noted(make_world):
    approval = {"registration": "approval", "registration_work_bits": 0}
    async with make_world(sends_mail=True, **approval) as world:
        for name in ("nora", "nils"):
            visitor = Registrant(world, name)
            await visitor.sign_up(f"{name}@x.io")
            await visitor.register(await Mailbox(world).link(f"{name}@x.io"), name)
        await world.call("POST", "/admin/registrations/1/approval", as_="root")
        await world.call("DELETE", "/admin/registrations/2", as_="root")
        first, _ = await entries(world, "registration.request")
        assert (first.actor, first.via, first.subject) == ("", "mail", "user nora")
        (entry,) = await entries(world, "registration.approve")
        assert (entry.actor, entry.details) == ("root", {"id": 2, "email": "nora@x.io"})
        (entry,) = await entries(world, "registration.refuse")
        assert (entry.actor, entry.details) == ("root", {"email": "nils@x.io"})


async def test_an_account_that_a_person_makes_is_noted(make_world):
    async with make_world(sends_mail=True, registration="open", registration_work_bits=0) as world:
        visitor = Registrant(world, "nora")
        await visitor.sign_up("nora@x.io")
        await visitor.register(await Mailbox(world).link("nora@x.io"), "nora")
        (entry,) = await entries(world, "user.register")
        assert (entry.actor, entry.via, entry.details) == ("nora", "mail", {"id": 2, "email": "nora@x.io"})


async def test_invitations_and_what_comes_of_them_are_noted(make_world):
    async with make_world(sends_mail=True) as world:
        await world.add_user("ann")
        await world.call("POST", "/orgs", {"username": "acme"}, as_="ann")
        team = (await world.call("POST", "/orgs/acme/teams", {"name": "devs"}, as_="ann")).json()["id"]
        for address in ("new@x.io", "late@x.io"):
            sent = (await invite(world, address, team=team)).json()
        path = f"/orgs/acme/teams/{team}/invitations/{sent['id']}"
        assert (await world.call("DELETE", path, as_="ann")).status_code == 204
        code = await Mailbox(world).code("new@x.io")
        await Visitor(world, "nora").register(code, "nora")
        await join(world, code, "nora")
        invited = await entries(world, "team.invite")
        assert [(one.actor, one.details["email"]) for one in invited] == [
            ("ann", "new@x.io"),
            ("ann", "late@x.io"),
        ]
        assert (await single_entry(world, "team.withdraw_invitation"))[0] == "ann"
        assert (await single_entry(world, "user.register"))[:2] == ("nora", "user nora")
        actor, subject, details = await single_entry(world, "team.accept_invitation")
        assert (actor, subject, details["by"]) == ("nora", "the team devs of acme", "ann")


async def test_second_factors_are_noted(world):
    await world.add_user("ann")
    _, codes = await enrol(world)
    await world.authenticate(name="ann", password=PASSWORD, code="000000")
    await world.call("POST", "/user/two_factor/recovery_codes", {}, as_="ann")
    await world.call("DELETE", "/admin/users/ann/two_factor", as_="root")
    noted = [(entry.action, entry.actor, entry.subject) for entry in await entries(world)][-4:]
    assert noted == [
        ("two_factor.on", "ann", "user ann"),
        ("sign_in.fail", "", "user ann"),
        ("two_factor.renew_recovery_codes", "ann", "user ann"),
        ("two_factor.off", "root", "user ann"),
    ]
    assert codes[0] not in str(await entries(world))


async def test_passkeys_and_proofs_are_noted(make_world):
    async with make_world(public_url="http://localhost:3000/") as world:
        await world.add_user("ann")
        ann = await signed_in(world, "ann")
        device, page = await add_passkey(ann)
        page = await ann.submit(page, 0, do="rename", name="key")
        await ann.submit(await ann.get("/login/confirm"), password=PASSWORD, code="x")
        await use(ann, await ann.get("/login/confirm", {"to": "/login"}), device)
        await ann.submit(page, 0, do="delete")
        await use(ann, await ann.get("/login/passkey"), device)
        noted = [(entry.action, entry.actor, entry.via, entry.subject) for entry in await entries(world)]
    assert noted[2:] == [
        ("session.start", "ann", "basic", "user ann"),
        ("passkey.add", "ann", "session", "user ann"),
        ("passkey.rename", "ann", "session", "user ann"),
        ("sign_in.fail", "", "", "user ann"),
        ("session.prove", "ann", "session", "user ann"),
        ("passkey.delete", "ann", "session", "user ann"),
        ("sign_in.fail", "", "", "user"),
    ]


async def test_sessions_and_what_applications_are_given_are_noted(world):
    for name in ("ann", "bob"):
        await world.add_user(name)
    app = await make_app(world)
    tokens = await get_tokens(world, app)
    assert await single_entry(world, "session.start") == ("bob", "user bob", {})
    assert (await single_entry(world, "oauth2_grant.give"))[2]["application"] == "ci"
    for _ in range(2):
        await app.refresh(tokens["refresh_token"])
    assert await single_entry(world, "oauth2_grant.replay") == ("", "user bob", {"application": "ci"})
    person = Person(world, "ann")
    await person.submit(await person.sign_in(await person.get("/login")))
    assert (await single_entry(world, "session.end"))[:2] == ("ann", "user ann")


async def test_only_the_gateway_reads_it_and_in_parts(world):
    for number in range(4):
        await world.add_user(f"u{number}")
    headers = GATEWAY.headers(ANONYMOUS, peer="gateway")
    pages, before = [], ""
    for _ in range(2):
        query = {"limit": "2", "before": before, "action": "user.", "actor": "root"}
        page = (await world.http.get("/internal/audit", params=query, headers=headers)).json()
        pages.append([entry["subject"] for entry in page])
        before = page[-1]["id"]
    assert pages == [["user u3", "user u2"], ["user u1", "user u0"]]
    assert (await world.http.get("/internal/audit")).status_code == 404
    assert (await world.get_as_peer("/internal/audit")).status_code == 404


AUDIT_READS = {
    "few actions of many entries": {"action": "token."},
    "their second page": {"action": "token.", "before": f"{1:014x}"},
    "many entries of two actions": {"action": "s"},
    "an action that nobody did": {"action": "zebra."},
    "what somebody did": {"actor": "ann"},
    "what somebody did seldom": {"actor": "ann", "action": "token."},
    "what somebody did never": {"actor": "ann", "action": "team."},
    "everything": {},
}


@pytest.mark.both_databases
async def test_filters_look_at_as_many_entries_among_twenty_times_as_many(world):
    table = world.database.metadata.tables["audit_entry"]
    values = {
        "created_at": now(), "subject": "user x", "details": "{}", "actor_id": 1, "sudo_by": "",
        "via": "token", "address": "", "request_id": "x" * 32,
    }  # fmt: skip
    own = [("token.create", "ann"), ("token.delete", "bob"), ("team.edit", "bob")]
    often = [("session.start", "ann"), ("sign_in.fail", "bob"), ("user.edit", "cat")]
    number, touched = 0, []
    for repeated, count in ((own, 6), (often, 200), (often, 4_000)):
        rows = [
            {**values, "id": f"{number + n:014x}{n:010x}", "action": action, "actor": actor}
            for n in range(count)
            for action, actor in [repeated[n % 3]]
        ]
        number += count
        async with world.database.transaction() as tx:
            await tx.execute(table.insert(), rows)
        await analyze(world.database)

        async def cost(fields):
            return await rows_touched(
                world.database, lambda tx: list_entries(tx, service="identity", limit=5, **fields)
            )

        touched.append({name: await cost(fields) for name, fields in AUDIT_READS.items()})
    _, few, many = touched
    assert {name: (few[name], many[name]) for name in few if many[name] > 1.5 * few[name] + 300} == {}
    for fields in ({"action": "token."}, {"action": "s"}, {"actor": "ann", "action": "s"}, {"action": "to"}):
        async with world.database.read() as db:
            every = await list_entries(db, service="identity", limit=10_000)
            expected = [one.id for one in every if is_among(one, **fields)]
            listed = await list_entries(db, service="identity", limit=10_000, **fields)
            page = await list_entries(db, service="identity", limit=1, before=expected[0], **fields)
        assert [one.id for one in listed] == expected
        assert [one.id for one in page] == expected[1:2] != []


def is_among(entry, action, actor=""):
    return entry.action.startswith(action) and actor in ("", entry.actor)


async def test_entries_are_kept_for_their_time(world):
    await world.add_user("ann")
    await delete_entries(world.database, older_than=now() - now().replace(year=2000))
    assert await entries(world, "user.create")
    await delete_entries(world.database, older_than=now() - now())
    assert not await entries(world)
    names = {task.name for task in world.app.state.parts.tasks}
    assert "identity_delete_old_audit_entries" in names


async def test_a_proof_of_a_key_is_noted(world):
    await world.add_user("ann")
    key = Key()
    added = (await add_key(world, key)).json()
    assert (await verify(world, added["key_id"], key.sign(await token_of(world)))).status_code == 201
    details = {"key_id": added["key_id"]}
    assert await single_entry(world, "gpg_key.verify") == ("ann", "user ann", details)


async def test_a_link_with_a_provider_is_noted(make_world):
    provider = LyingProvider()
    async with served(provider.handlers()) as issuer, make_world(allowed_providers=["127.0.0.1"]) as world:
        provider.issuer = issuer
        await world.add_user("ann")
        await add_source(world, provider, first_sign_in="link")
        visitor, page = await attempt(world, provider, email="ann@example.com", email_verified=True)
        assert (await visitor.submit(page, password=PASSWORD)).status_code == 303
        assert (await single_entry(world, "source.link"))[1] == "user ann"


async def test_changes_of_sources_are_noted(world, acme):
    source = (await world.call("POST", "/admin/auths", source_fields(1), as_="root")).json()["id"]
    await world.call("PATCH", f"/admin/auths/{source}", {"title": "Corp"}, as_="root")
    user = {"source_id": source, "login_name": "person-1"}
    assert (await world.call("PATCH", "/admin/users/ann", user, as_="root")).is_success
    assert (await world.call("DELETE", f"/user/external_accounts/{source}", as_="ann")).is_success
    assert (await world.call("DELETE", f"/admin/auths/{source}", as_="root")).is_success
    assert (await single_entry(world, "source.create"))[:2] == ("root", "source n1")
    assert (await single_entry(world, "source.edit"))[2] == {"id": source, "fields": ["title"]}
    assert await single_entry(world, "source.unlink") == ("ann", "user ann", {"source": "n1"})
    assert await single_entry(world, "source.delete") == ("root", "source n1", {"id": source})


async def test_what_clients_of_scim_do_is_noted_with_their_source(world):
    client = await make_client(world)
    path = f"/admin/auths/{client.source_id}/scim_tokens"
    cy = await client.user("cy")
    group = await client.group("developers", cy)
    for kind, one in (("Users", cy), ("Groups", group)):
        await client.patch(f"{kind}/{one['id']}", {"op": "replace", "path": "displayName", "value": "X"})
        assert (await client.call("DELETE", f"{kind}/{one['id']}")).status_code == 204
    entry = await single_entry(world, "scim_token.create")
    assert entry[:2] == ("root", "source corp")
    assert (await world.call("DELETE", f"{path}/{entry[2]['id']}", as_="root")).status_code == 204
    assert (await single_entry(world, "scim_token.delete"))[:2] == ("root", "source corp")
    noted = [(one.action, one.actor, one.via, one.subject) for one in await entries(world, "scim_")]
    assert [one for one in noted if one[1] != "root"] == [
        ("scim_user.create", "(corp)", "scim", "user cy"),
        ("scim_group.create", "(corp)", "scim", "group developers"),
        ("scim_user.edit", "(corp)", "scim", "user cy"),
        ("scim_user.delete", "(corp)", "scim", "user cy"),
        ("scim_group.edit", "(corp)", "scim", "group X"),
        ("scim_group.delete", "(corp)", "scim", "group X"),
    ]


async def test_a_sign_in_with_a_provider_is_noted_with_what_its_groups_give(make_world):
    provider = LyingProvider()
    async with served(provider.handlers()) as issuer, make_world(allowed_providers=["127.0.0.1"]) as world:
        provider.issuer = issuer
        teams = {"developers": {"acme": ["coders"]}}
        for body, path in (({"username": "acme"}, "/orgs"), ({"name": "coders"}, "/orgs/acme/teams")):
            assert (await world.call("POST", path, body, as_="root")).status_code == 201
        await add_source(world, provider, group_team_map=teams)
        claims = {"preferred_username": "cy", "email": "cy@corp.example", "email_verified": True}
        _, answer = await attempt(world, provider, groups=["developers"], **claims)
        assert answer.status_code == 303
        assert (await single_entry(world, "source.apply_groups"))[1] == "user cy"
