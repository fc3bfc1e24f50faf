"""Attacks on sign-in with a provider, one by one. The provider lies, but signs with real keys."""

import base64
import hmac
import json
import time

import pytest
from joserfc import jwt
from joserfc.jwk import RSAKey

from ingot_chassis.security.own_servers import OwnServers
from ingot_identity.providers.clients.http import ProviderFailed, ProviderHttp, Reply
from ingot_identity.providers.clients.metadata import REFETCH_SECONDS, PublishedMetadata
from ingot_identity.sessions import rules as sessions
from ingot_identity.sessions.rules import ProviderSession, stamp_of

from ..world import PASSWORD
from .counterparts import LyingProvider, Visitor, served

ANN = {"preferred_username": "newcomer", "email": "newcomer@corp.example", "email_verified": True}
MINUTE = 60
DAY = 24 * 60 * MINUTE


@pytest.fixture
async def liar():
    liar = LyingProvider()
    liar.claims = dict(ANN)
    async with served(liar.handlers()) as issuer:
        liar.issuer = issuer
        yield liar


@pytest.fixture
async def site(make_world, liar):
    del liar
    async with make_world(allowed_providers=["127.0.0.1"]) as world:
        yield world


async def add_source(world, liar, name="corp", **config):
    fields = {"kind": "oidc", "issuer": liar.issuer, "client_id": "ingot", "first_sign_in": "create"}
    body = {"name": name, "title": name, "secret": "s", "config": fields | config}
    answer = await world.call("POST", "/admin/auths", body, as_="root")
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]


async def attempt(world, liar, visitor=None, **claims):
    """The answer to a sign-in in which the provider says so, and the browser."""
    visitor = visitor or Visitor(world.app)
    begun = await visitor.begin()
    liar.claims = liar.claims | {"nonce": begun["nonce"]} | claims
    return visitor, await visitor.come_back(code="c", state=begun["state"], iss=liar.issuer)


async def test_an_honest_answer_signs_in(site, liar):
    await add_source(site, liar)
    visitor, answer = await attempt(site, liar)
    assert (answer.status_code, bool(visitor.session)) == (303, True)


LIES = {
    "another issuer": {"iss": "https://elsewhere.example"},
    "another client": {"aud": "another client"},
    "several clients, issued to another": {"aud": ["ingot", "another"], "azp": "another"},
    "several clients, issued to none": {"aud": ["ingot", "another"]},
    "an authorized party that is another": {"azp": "another"},
    "no audience": {"aud": None},
    "expired": {"exp": int(time.time()) - 2 * MINUTE},
    "no end": {"exp": None},
    "from the future": {"iat": int(time.time()) + DAY},
    "not valid yet": {"nbf": int(time.time()) + DAY},
    "the nonce of another attempt": {"nonce": "another"},
    "no nonce": {"nonce": None},
    "no subject": {"sub": None},
    "an empty subject": {"sub": ""},
    "a subject that is a number": {"sub": 1},
    "the hash of another access token": {"at_hash": "AAAAAAAAAAAAAAAAAAAAAA"},
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES.keys())
async def test_an_id_token_that_lies_is_refused(site, liar, lie):
    await add_source(site, liar)
    visitor, answer = await attempt(site, liar, **lie)
    assert (answer.status_code, visitor.session) == (400, "")
    assert (await site.call("GET", "/users/newcomer")).status_code == 404


async def test_clocks_may_differ_as_far_as_the_provider_is_allowed(site, liar):
    await add_source(site, liar, clock_skew=60)
    _, answer = await attempt(site, liar, exp=int(time.time()) - 30, iat=int(time.time()) + 30)
    assert answer.status_code == 303


def compact(header, claims, secret=b""):
    """A token that is written by hand, because libraries refuse to."""
    parts = [base64url(json.dumps(part).encode()) for part in (header, claims)]
    text = ".".join(parts)
    signature = hmac.digest(secret, text.encode(), "sha256") if secret else b""
    return f"{text}.{base64url(signature)}"


def base64url(content):
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def unsigned(_liar, claims):
    return compact({"alg": "none", "kid": "first"}, claims)


def by_public_key_as_secret(liar, claims):
    return compact({"alg": "HS256", "kid": "first"}, claims, liar.key.as_pem(private=False))


def by_client_secret(_liar, claims):
    return compact({"alg": "HS256"}, claims, b"s")


def by_unpublished_key(liar, claims):
    return liar.signed(RSAKey.generate_key(2048, {"kid": "first"}), **claims)


def by_key_in_the_header(_liar, claims):
    key = RSAKey.generate_key(2048, {"kid": "mine"})
    header = {"alg": "RS256", "jwk": key.as_dict(private=False)}
    return jwt.encode(header, claims, key)


@pytest.mark.parametrize(
    "forge",
    [unsigned, by_public_key_as_secret, by_client_secret, by_unpublished_key, by_key_in_the_header],
)
async def test_a_forged_signature_is_refused(site, liar, forge):
    await add_source(site, liar)
    visitor = Visitor(site.app)
    begun = await visitor.begin()
    now = int(time.time())
    claims = ANN | {"iss": liar.issuer, "aud": "ingot", "sub": "p", "iat": now, "exp": now + MINUTE}
    liar.token = forge(liar, claims | {"nonce": begun["nonce"]})
    answer = await visitor.come_back(code="c", state=begun["state"], iss=liar.issuer)
    assert (answer.status_code, visitor.session) == (400, "")


async def test_a_provider_may_replace_its_keys(site, liar):
    await add_source(site, liar)
    await attempt(site, liar)
    liar.key = RSAKey.generate_key(2048, {"kid": "second", "alg": "RS256", "use": "sig"})
    liar.published = [liar.key]
    _, answer = await attempt(site, liar)
    assert answer.status_code == 303


async def test_unknown_keys_do_not_make_the_keys_be_read_again_and_again(liar):
    moments = [0.0]
    http = ProviderHttp(["127.0.0.1"], OwnServers([]))
    published = PublishedMetadata(http, clock=lambda: moments[0])
    reads = []
    for moment, key_id in ((0, "first"), (1, "a"), (2, "b"), (3, "first"), (1 + REFETCH_SECONDS + 1, "c")):
        moments[0] = moment
        await published.keys(liar.issuer, key_id)
        reads.append(liar.key_reads)
    assert reads == [1, 2, 2, 2, 3]


async def test_the_answer_must_be_for_an_attempt_of_this_browser(site, liar):
    await add_source(site, liar)
    victim, attacker = Visitor(site.app), Visitor(site.app)
    begun = await attacker.begin()
    liar.claims |= {"nonce": begun["nonce"]}
    stolen = {"code": "c", "state": begun["state"], "iss": liar.issuer}
    assert (await victim.come_back(**stolen)).status_code == 400
    await victim.begin()
    assert (await victim.come_back(**stolen)).status_code == 400
    assert not victim.session


async def test_an_answer_works_once(site, liar):
    await add_source(site, liar)
    visitor = Visitor(site.app)
    begun = await visitor.begin()
    liar.claims |= {"nonce": begun["nonce"]}
    query = {"code": "c", "state": begun["state"], "iss": liar.issuer}
    assert (await visitor.come_back(**query)).status_code == 303
    assert (await visitor.come_back(**query)).status_code == 400


async def test_a_code_comes_with_its_verifier(site, liar):
    await add_source(site, liar)
    visitor = Visitor(site.app)
    begun = await visitor.begin()
    assert (begun["code_challenge_method"], len(begun["code_challenge"])) == ("S256", 43)
    await visitor.come_back(code="c", state=begun["state"], iss=liar.issuer)
    assert len(liar.code_verifiers[0]) >= 43


@pytest.mark.parametrize("issuer", ["https://elsewhere.example", ""])
async def test_an_answer_of_a_mixed_up_issuer_sends_no_code(site, liar, issuer):
    liar.metadata = {"authorization_response_iss_parameter_supported": True}
    await add_source(site, liar)
    visitor = Visitor(site.app)
    begun = await visitor.begin()
    query = {"code": "c", "state": begun["state"]} | ({"iss": issuer} if issuer else {})
    assert (await visitor.come_back(**query)).status_code == 400
    assert liar.code_verifiers == []


async def test_an_attempt_with_one_provider_is_none_with_another(site, liar):
    await add_source(site, liar)
    await add_source(site, liar, "other")
    visitor = Visitor(site.app)
    begun = await visitor.begin()
    answer = await visitor.come_back("other", code="c", state=begun["state"], iss=liar.issuer)
    assert (answer.status_code, liar.code_verifiers) == (400, [])


async def test_a_discovery_document_of_another_issuer_is_refused(site, liar):
    liar.metadata = {"issuer": "https://elsewhere.example"}
    await add_source(site, liar)
    assert (await Visitor(site.app).http.get("/login/oidc/corp")).status_code == 503


class _Discovery:
    """A provider with TLS, whose discovery document says so."""

    def __init__(self, **fields):
        self._fields = fields

    async def request(self, method, url, **options):
        del method, url, options
        root = "https://id.example"
        names = ("authorization_endpoint", "token_endpoint", "jwks_uri")
        document = {"issuer": root} | {name: f"{root}/{name}" for name in names} | self._fields
        return Reply(200, json.dumps(document).encode())


@pytest.mark.parametrize(
    "name",
    ["authorization_endpoint", "token_endpoint", "jwks_uri", "userinfo_endpoint", "end_session_endpoint"],
)
async def test_a_provider_with_tls_has_no_endpoint_and_no_keys_without_it(name):
    assert await PublishedMetadata(_Discovery()).metadata("https://id.example")
    published = PublishedMetadata(_Discovery(**{name: "http://id.example/x"}))
    with pytest.raises(ProviderFailed, match="without TLS"):
        await published.metadata("https://id.example")


async def test_the_userinfo_of_another_person_is_refused(site, liar):
    liar.claims = {}
    liar.metadata = {"userinfo_endpoint": f"{liar.issuer}/userinfo"}
    liar.userinfo = ANN | {"sub": "another person"}
    await add_source(site, liar)
    visitor, answer = await attempt(site, liar)
    assert (answer.status_code, visitor.session) == (400, "")
    liar.userinfo = ANN | {"sub": "person-1"}
    _, answer = await attempt(site, liar)
    assert answer.status_code == 303


@pytest.mark.parametrize("to", ["https://evil.example/", "//evil.example", "/\\evil.example", "evil"])
async def test_a_sign_in_leads_to_no_other_site(site, liar, to):
    await add_source(site, liar)
    visitor = Visitor(site.app)
    begun = await visitor.begin(to=to)
    liar.claims |= {"nonce": begun["nonce"]}
    answer = await visitor.come_back(code="c", state=begun["state"], iss=liar.issuer)
    assert answer.headers["location"] == "/"


@pytest.mark.parametrize("verified", [False, None, "no", 1])
async def test_an_unverified_address_reaches_no_account(site, liar, verified):
    await site.add_user("victim")
    await add_source(site, liar, first_sign_in="link_or_create")
    visitor, answer = await attempt(
        site, liar, email="victim@example.com", email_verified=verified, preferred_username="victim"
    )
    assert (answer.status_code, visitor.session) == (403, "")
    assert "victim" not in answer.text


@pytest.mark.parametrize("claims", [{}, {"email": "eve@corp.example"}, {"email": ["victim@example.com"]}])
async def test_a_verified_address_says_nothing_of_the_one_in_another_claim(site, liar, claims):
    """``email_verified`` is about ``email``. People may choose other claims, such as a principal name."""
    await site.add_user("victim")
    await add_source(site, liar, first_sign_in="link", email_claim="upn", allowed_domains=["example.com"])
    liar.claims = {"upn": "victim@example.com", "email_verified": True} | claims
    visitor, answer = await attempt(site, liar)
    assert (answer.status_code, visitor.session) == (403, "")
    assert "victim" not in answer.text


@pytest.mark.parametrize(
    ("config", "claims"),
    [({}, {"email": "Victim@example.com"}), ({"trust_email": True}, {"email_verified": False})],
)
async def test_an_address_in_another_claim_counts_if_it_is_the_verified_one_or_trusted(
    site, liar, config, claims
):
    await site.add_user("victim")
    await add_source(site, liar, first_sign_in="link", email_claim="upn", **config)
    liar.claims = {"upn": "victim@example.com", "email_verified": True} | claims
    _, page = await attempt(site, liar)
    assert (page.status_code, "victim" in page.text) == (200, True)


async def test_a_claimed_address_of_an_account_is_not_linked(site, liar):
    await site.add_user("victim")
    await site.call("POST", "/user/emails", {"emails": ["newcomer@corp.example"]}, as_="victim")
    await add_source(site, liar, first_sign_in="link")
    _, answer = await attempt(site, liar)
    assert answer.status_code == 403


async def test_the_name_of_an_account_is_no_way_into_it(site, liar):
    await site.add_user("victim")
    await add_source(site, liar)
    visitor, answer = await attempt(site, liar, preferred_username="victim")
    signed_in = (await site.authenticate(session=visitor.session)).json()["user_id"]
    assert answer.status_code == 303
    assert signed_in == (await site.call("GET", "/users/victim-2")).json()["id"]


async def test_linking_asks_for_the_password_each_time_it_is_wrong(site, liar):
    await site.add_user("victim")
    await add_source(site, liar, first_sign_in="link")
    visitor, page = await attempt(site, liar, email="victim@example.com")
    for _ in range(3):
        page = await visitor.submit(page, password="guess")
        assert (page.status_code, visitor.session) == (422, "")
    assert (await visitor.submit(page, password=PASSWORD)).status_code == 303


async def test_a_ticket_is_for_its_browser(site, liar):
    await site.add_user("victim")
    await add_source(site, liar, first_sign_in="link")
    _, page = await attempt(site, liar, email="victim@example.com")
    other = Visitor(site.app)
    await other.http.get("/login")
    assert (await other.submit(page, password=PASSWORD)).status_code == 403


async def test_a_disabled_provider_signs_nobody_in(site, liar):
    source_id = await add_source(site, liar)
    visitor = Visitor(site.app)
    begun = await visitor.begin()
    await site.call("PATCH", f"/admin/auths/{source_id}", {"enabled": False}, as_="root")
    assert (await visitor.come_back(code="c", state=begun["state"])).status_code == 404
    assert (await visitor.http.get("/login/oidc/corp")).status_code == 404
    assert "corp" not in (await visitor.http.get("/login")).text


async def test_a_prohibited_account_does_not_come_in_by_its_provider(site, liar):
    await add_source(site, liar)
    await attempt(site, liar)
    await site.call("PATCH", "/admin/users/newcomer", {"prohibit_login": True}, as_="root")
    liar.claims = dict(ANN)
    visitor, answer = await attempt(site, liar)
    assert (answer.status_code, visitor.session) == (403, "")


GATES = [
    {"allowed_domains": ["other.example"]},
    {"required_claim": "hd", "required_values": ["corp.example"]},
    {"required_claim": "employee"},
    {"required_groups": ["staff"]},
]


@pytest.mark.parametrize("gate", GATES)
async def test_only_those_may_come_whom_the_provider_lets(site, liar, gate):
    source_id = await add_source(site, liar)
    visitor, _ = await attempt(site, liar)
    await site.call("PATCH", f"/admin/auths/{source_id}", {"config": gate}, as_="root")
    liar.claims = dict(ANN)
    _, answer = await attempt(site, liar)
    assert answer.status_code == 403
    assert (await site.authenticate(session=visitor.session)).json()["user_id"] == 0


async def test_a_private_address_is_not_asked_unless_it_is_named(make_world, liar):
    async with make_world() as world:
        await add_source(world, liar)
        assert (await Visitor(world.app).http.get("/login/oidc/corp")).status_code == 503
    assert liar.key_reads == 0


BAD_LOGOUTS = {
    "another issuer": {"iss": "https://elsewhere.example"},
    "another client": {"aud": "another"},
    "no event": {"events": None},
    "another event": {"events": {"other": {}}},
    "a nonce, as an id token has": {"nonce": "n"},
    "no session and no person": {"sub": None},
    "no id": {"jti": None},
    "expired": {"exp": int(time.time()) - 5 * MINUTE},
    "old": {"iat": int(time.time()) - 60 * MINUTE},
    "a session that is no text": {"sub": None, "sid": {"a": "b"}},
    "a person that is no text": {"sub": 1, "sid": "session-1"},
    "a time that is no number": {"iat": "now"},
    "a list of times": {"iat": []},
    "an id that is no text": {"jti": {}},
    "an event of the future": {"iat": int(time.time()) + DAY},
}


async def started(world, source_id):
    """The secret of a session that the provider began for a new person."""
    body = {"username": "eve", "email": "eve@x.example", "source_id": source_id, "login_name": "person-1"}
    user_id = (await world.call("POST", "/admin/users", body, as_="root")).json()["id"]
    async with world.database.transaction() as tx:
        provider = ProviderSession(source_id, "session-1", None)
        return await sessions.start(tx, user_id, stamp_of(""), provider=provider)


async def is_signed_in(world, secret):
    return (await world.authenticate(session=secret)).json()["user_id"] > 0


@pytest.mark.parametrize("lie", BAD_LOGOUTS.values(), ids=BAD_LOGOUTS.keys())
async def test_a_logout_token_that_lies_ends_no_session(site, liar, lie):
    secret = await started(site, await add_source(site, liar))
    answer = await site.http.post("/login/oidc/corp/logout", data={"logout_token": liar.logout_token(**lie)})
    assert answer.status_code == 400
    assert await is_signed_in(site, secret)


@pytest.mark.parametrize("names", [{}, {"sid": "session-1"}, {"sub": None, "sid": "session-1"}])
async def test_a_logout_token_ends_sessions_once(site, liar, names):
    secret = await started(site, await add_source(site, liar))
    form = {"logout_token": liar.logout_token(**names)}
    assert (await site.http.post("/login/oidc/corp/logout", data=form)).status_code == 200
    assert not await is_signed_in(site, secret)
    assert (await site.http.post("/login/oidc/corp/logout", data=form)).status_code == 400


@pytest.mark.parametrize("names", [{"sub": "another"}, {"sid": "session-2"}])
async def test_a_logout_token_ends_no_other_session(site, liar, names):
    secret = await started(site, await add_source(site, liar))
    form = {"logout_token": liar.logout_token(**names)}
    assert (await site.http.post("/login/oidc/corp/logout", data=form)).status_code == 200
    assert await is_signed_in(site, secret)
