"""Attacks on sign-ins by directories, one by one, with a real directory."""

import asyncio
import ssl

import pytest
from cryptography.fernet import Fernet

from ingot_chassis.security.sealing import Seal
from ingot_identity.accounts.store import queries as accounts
from ingot_identity.directories.clients import ldap
from ingot_identity.passwords.components import PasswordComponents
from ingot_identity.sources.store import sources
from ingot_testing.slapd import BASE, GROUPS, PASSWORD, PEOPLE, SERVICE_DN, SERVICE_PASSWORD, Authority

from ..providers.counterparts import Visitor
from ..world import PASSWORD as LOCAL_PASSWORD
from .counterparts import add_source, config_of
from .test_sign_ins import login_of, sign_in

DIRECT = {"bind_dn": "", "user_dn": f"uid={{name}},{PEOPLE}"}
BOTH = pytest.mark.parametrize("ways", [{}, DIRECT], ids=["search", "direct"])
INJECTIONS = [
    "*",
    "a*",
    "ann)(uid=*",
    "ann*)(objectClass=*",
    "*)(uid=*))(|(uid=*",
    "ann))(|(uid=ann",
    "\\61nn",
    "ann\\",
    "ann\0",
    "ann\0)(x=",
    f"ann,{PEOPLE}",
    f"ann,{PEOPLE}\0",
    "ann+cn=Ann",
    "ann,ou=people",
    "ann\\,ou=people",
    '"ann"',
    "#616e6e",
    "ann;x",
    "{name}",
    "{dn}",
    "ann ",
    " ann",
    "ann  ",
    "a\u00adnn",
    "\uff41nn",
    "ann\ufe00",
    "",
    "x" * 300,
]


@BOTH
@pytest.mark.parametrize("name", INJECTIONS, ids=repr)
async def test_a_name_is_only_a_value(site, slapd, ways, name):
    await add_source(site, slapd, **ways)
    await slapd.add_person("ann")
    assert await sign_in(site, name) == 0
    assert (await site.call("GET", "/users/ann")).status_code == 404
    ours = {SERVICE_DN} | {dn for dn in await slapd.binds() if dn.startswith("cn=") and dn.endswith(PEOPLE)}
    others = set(await slapd.binds()) - ours
    assert f"uid=ann,{PEOPLE}" not in others


@BOTH
@pytest.mark.parametrize("name", ["ann(x)", "ann*", "o'hara", "a\\b", "a,b", "a+b", 'a"b', "a b", "#ann"])
async def test_a_strange_name_signs_in_its_own_person(site, slapd, ways, name):
    await add_source(site, slapd, **ways)
    await slapd.add_person("ann")
    escaped = "".join(f"\\{byte:02x}" for byte in name.encode())
    dn = f"uid={escaped},{PEOPLE}"
    await slapd.add_entry(dn, cn="Strange", sn="Doe", mail="strange@corp.example", userPassword=PASSWORD)
    user_id = await sign_in(site, name)
    users = (await site.call("GET", "/admin/users?source_id=1", as_="root")).json()
    assert [(one["id"], one["email"]) for one in users] == [(user_id, "strange@corp.example")]


@BOTH
async def test_an_empty_password_reaches_no_directory(site, slapd, ways):
    await add_source(site, slapd, **ways)
    await slapd.add_person("ann")
    before = len(slapd.lines)
    assert await sign_in(site, "ann", "") == 0
    visitor = Visitor(site.app)
    assert (await visitor.password_sign_in("ann", "")).status_code == 403
    assert (await slapd.binds(), visitor.session) == ([], "")
    assert not any(" BIND " in line and 'dn="uid' in line for line in slapd.lines[before:])


@BOTH
@pytest.mark.parametrize("password", ["a\x01b", "\u0340", "\u00ad", "\u200b", "\U0001f600"], ids=ascii)
async def test_a_strange_password_does_not_reveal_people(site, slapd, ways, password):
    await add_source(site, slapd, **ways)
    await slapd.add_person("ann")
    answers = [await site.authenticate(name=name, password=password) for name in ("ann", "nobody")]
    assert answers[0].status_code == answers[1].status_code == 200
    assert answers[0].json() == answers[1].json()


@BOTH
async def test_a_password_reaches_the_directory_unchanged(site, slapd, ways):
    await add_source(site, slapd, **ways)
    await slapd.add_person("ann", password="soft\u00adhyphen")
    assert await sign_in(site, "ann", "softhyphen") == 0
    assert await sign_in(site, "ann", "soft\u00adhyphen") != 0


async def test_a_name_of_an_account_never_gives_the_account(site, slapd):
    await add_source(site, slapd)
    dn = await slapd.add_person("root", mail="someone@corp.example")
    await site.add_user("bob")
    other = await slapd.add_person("bob")
    for name in ("root", "bob", "bob@example.com"):
        assert await sign_in(site, name) == 0
        assert await sign_in(site, name, LOCAL_PASSWORD) != 0
    assert not {dn, other} & set(await slapd.binds())


async def test_an_address_of_an_account_is_not_given_to_a_person(site, slapd):
    await add_source(site, slapd, trust_email=True)
    await site.add_user("bob")
    await slapd.add_person("robert", mail="bob@example.com")
    assert await sign_in(site, "robert") == 0
    assert (await site.call("GET", "/users/robert")).status_code == 404


async def test_a_person_whose_login_is_taken_gets_another_one(site, slapd):
    filter_ = "(|(uid={name})(mail={name}))"
    await add_source(site, slapd, user_filter=filter_)
    await site.add_user("bob")
    await slapd.add_person("bob")
    user_id = await sign_in(site, "bob@corp.example")
    assert await login_of(site, user_id) == "bob-2"
    assert await sign_in(site, "bob-2") == user_id
    assert await sign_in(site, "bob") == 0


async def test_a_name_that_the_directory_gave_to_another_person_gives_nothing(site, slapd):
    await add_source(site, slapd)
    dn = await slapd.add_person("ann")
    user_id = await sign_in(site, "ann")
    await slapd.rename(dn, "anna")
    await slapd.add_person("ann", password="of another person", mail="other@corp.example")
    assert await sign_in(site, "ann", "of another person") == 0
    assert await sign_in(site, "anna") == user_id


async def test_a_name_that_several_people_have_gives_nothing(site, slapd):
    await add_source(site, slapd, user_filter="(employeeType={name})")
    await slapd.add_person("ann", employeeType="staff")
    await slapd.add_person("bob", employeeType="staff")
    assert await sign_in(site, "staff") == 0


@pytest.mark.parametrize("scheme", ["url", "tls_url"])
@pytest.mark.parametrize(
    ("authorities", "host"),
    [("other", "localhost"), ("system", "localhost"), ("own", "127.0.0.2")],
    ids=["another authority", "only the system's", "another host"],
)
async def test_a_certificate_of_another_authority_or_host_is_refused(
    make_world, slapd, scheme, authorities, host
):
    pem = {"other": Authority("another").pem, "system": "", "own": slapd.authority.pem}[authorities]
    async with make_world(allowed_directories=["127.0.0.0/8", "localhost"]) as site:
        url = getattr(slapd, scheme).replace("localhost", host)
        await add_source(site, slapd, authorities=pem, url=url)
        await slapd.add_person("ann")
        answer = await site.authenticate(name="ann", password=PASSWORD)
        assert answer.status_code == 403
        assert "directory" in answer.text
        assert await slapd.binds() == []


async def test_a_directory_at_a_private_address_needs_the_operator(world, slapd):
    await add_source(world, slapd)
    await slapd.add_person("ann")
    assert (await world.authenticate(name="ann", password=PASSWORD)).status_code == 403
    assert await slapd.binds() == []
    assert not any("STARTTLS" in line and "conn=" in line for line in slapd.lines[-1:])


@pytest.mark.parametrize(
    "config",
    [
        {"url": "ldap://localhost:1"},
        {"bind_dn": f"cn=nobody,{BASE}"},
        {"base_dn": f"ou=nowhere,{BASE}"},
        {"subject_attribute": "employeeNumber"},
        {"group_filter": "(member={dn})", "group_base_dn": f"ou=nowhere,{BASE}"},
        {"user_filter": "(&(uid={name})(nonsense))"},
    ],
    ids=lambda config: next(iter(config)),
)
async def test_a_failure_is_an_error_of_the_caller_and_says_nothing_about_the_directory(site, slapd, config):
    await add_source(site, slapd, **config)
    await slapd.add_person("ann")
    answer = await site.authenticate(name="ann", password=PASSWORD)
    assert answer.status_code == 403
    assert "nowhere" not in answer.text
    assert "localhost" not in answer.text
    visitor = Visitor(site.app)
    page = await visitor.password_sign_in("ann", PASSWORD)
    assert (page.status_code, visitor.session) == (403, "")
    assert (await site.authenticate(name="root", password=LOCAL_PASSWORD)).json()["user_id"] == 1


async def test_a_directory_that_is_silent_delays_no_other_request(site, slapd, monkeypatch):
    monkeypatch.setattr("ingot_identity.directories.clients.ldap.SECONDS", 1.0)
    connected = asyncio.Event()

    async def say_nothing(reader, writer):
        connected.set()
        await reader.read()
        writer.close()

    server = await asyncio.start_server(say_nothing, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        await add_source(site, slapd, url=f"ldaps://localhost:{port}")
        waiting = asyncio.create_task(site.authenticate(name="ann", password=PASSWORD))
        await connected.wait()
        assert (await site.authenticate(name="root", password=LOCAL_PASSWORD)).json()["user_id"] == 1
        assert not waiting.done()
        assert (await waiting).status_code == 403


async def test_guesses_are_limited(make_world, slapd):
    async with make_world(allowed_directories=["localhost"], free_sign_ins=3) as site:
        await add_source(site, slapd)
        await slapd.add_person("ann")
        statuses = [
            (await site.authenticate(name=name, password="guess", address="192.0.2.1")).status_code
            for name in ("ann", "ANN", "Ann", "aNn", "ann")
        ]
        assert statuses == [200, 200, 200, 429, 429]


async def test_guesses_are_limited_while_a_directory_fails(make_world, slapd):
    async with make_world(allowed_directories=["localhost"], free_sign_ins=3) as site:
        await add_source(site, slapd, url="ldaps://localhost:1")
        statuses = [
            (await site.authenticate(name="root", password="guess", address="192.0.2.1")).status_code
            for _ in range(5)
        ]
        assert statuses == [403, 403, 403, 429, 429]


async def guess_root(site):
    """The statuses of five guesses for the password of root."""
    return [
        (await site.authenticate(name="root", password="guess", address="192.0.2.1")).status_code
        for _ in range(5)
    ]


async def test_guesses_are_limited_while_all_threads_are_busy(make_world, slapd, monkeypatch):
    monkeypatch.setattr(ldap, "LONGEST_QUEUE", -ldap.THREADS)
    async with make_world(allowed_directories=["localhost"], free_sign_ins=3) as site:
        await add_source(site, slapd)
        assert await guess_root(site) == [503, 503, 503, 429, 429]


async def test_a_proof_is_wrong_while_all_threads_are_busy(site, slapd, monkeypatch):
    await add_source(site, slapd)
    monkeypatch.setattr(ldap, "LONGEST_QUEUE", -ldap.THREADS)
    checks = site.part(PasswordComponents).checks
    async with site.database.read() as db:
        root = await accounts.get(db, 1)
    assert not await checks.matches(root, "guess")
    assert await checks.matches(root, LOCAL_PASSWORD)


async def test_guesses_are_limited_while_the_secret_has_a_former_key(make_world, slapd):
    async with make_world(allowed_directories=["localhost"], free_sign_ins=3) as site:
        source_id = await add_source(site, slapd)
        sealed = Seal(Fernet.generate_key().decode(), "A_FORMER_KEY").close(SERVICE_PASSWORD)
        async with site.database.transaction() as tx:
            await sources.change(tx, source_id, sealed_secret=sealed)
        assert await guess_root(site) == [403, 403, 403, 429, 429]


@pytest.mark.parametrize("answer", ["3003020101", "30020400"])
async def test_guesses_are_limited_while_a_directory_sends_nonsense(make_world, slapd, tmp_path, answer):
    certificate, key = slapd.authority.issue("localhost")
    (tmp_path / "nonsense.pem").write_text(certificate + key)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(tmp_path / "nonsense.pem")

    async def say_nonsense(reader, writer):
        await reader.read(1)
        writer.write(bytes.fromhex(answer))
        await writer.drain()
        await reader.read()
        writer.close()

    async with (
        make_world(allowed_directories=["localhost"], free_sign_ins=3) as site,
        await asyncio.start_server(say_nonsense, "127.0.0.1", 0, ssl=tls) as server,
    ):
        port = server.sockets[0].getsockname()[1]
        await add_source(site, slapd, url=f"ldaps://localhost:{port}")
        assert await guess_root(site) == [403, 403, 403, 429, 429]


async def test_a_wrong_password_of_an_account_gets_as_many_requests_as_an_unknown_name(site, slapd):
    await add_source(site, slapd)
    dn = await slapd.add_person("root")
    await slapd.add_person("ann")
    counts = []
    for name in ("root", "nobody", "ann"):
        before = len(await slapd.binds())
        await sign_in(site, name, "wrong")
        counts.append(len(await slapd.binds()) - before)
    assert counts == [2, 2, 2]
    assert dn not in await slapd.binds()


async def test_the_password_of_the_service_is_sealed_and_never_shown(site, slapd):
    source_id = await add_source(site, slapd)
    shown = await site.call("GET", f"/admin/auths/{source_id}", as_="root")
    assert shown.json()["has_secret"]
    assert SERVICE_PASSWORD not in shown.text


@pytest.mark.parametrize(
    ("config", "field"),
    [
        ({"url": "http://localhost"}, "config.url"),
        ({"url": "ldap://user@localhost"}, "config.url"),
        ({"url": "ldaps://localhost:99999"}, "config.url"),
        ({"url": "ldaps://[::1"}, "config.url"),
        ({"base_dn": ""}, "config.base_dn"),
        ({"user_filter": "(uid=ann)"}, "config.user_filter"),
        ({"user_filter": "(uid={name}"}, "config.user_filter"),
        ({"user_filter": "(uid={name}))(x=*"}, "config.user_filter"),
        ({"group_filter": "member={dn}"}, "config.group_filter"),
        ({"user_dn": PEOPLE}, "config.user_dn"),
        ({"authorities": "no PEM"}, "config.authorities"),
        ({"subject_attribute": "a)(b"}, "config.subject_attribute"),
        ({"groups_from": "scim"}, "config.groups_from"),
        ({"first_sign_in": "link"}, "config.first_sign_in"),
        ({"issuer": "https://id.example.org"}, "config"),
    ],
)
async def test_a_bad_configuration_is_refused_with_its_field(site, slapd, config, field):
    body = {"name": "corp", "config": config_of(slapd, **config)}
    answer = await site.call("POST", "/admin/auths", body, as_="root")
    assert answer.status_code == 422, answer.text
    assert answer.json()["errors"][0]["field"].startswith(field)


async def test_a_directory_with_accounts_keeps_the_origin_of_ids(site, slapd):
    source_id = await add_source(site, slapd)
    await slapd.add_person("ann")
    assert await sign_in(site, "ann")
    for config in ({"subject_attribute": "uid"}, {"base_dn": GROUPS}):
        answer = await site.call("PATCH", f"/admin/auths/{source_id}", {"config": config}, as_="root")
        assert answer.status_code == 409
