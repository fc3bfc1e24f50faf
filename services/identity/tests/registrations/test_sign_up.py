"""Registration by its setting, and attempts to find out which accounts and addresses exist."""

from datetime import timedelta

import pytest
from sqlalchemy import select, update

from ingot_chassis.clock import now
from ingot_chassis.errors import CannotStart
from ingot_identity.accounts.store.tables import account
from ingot_identity.emails.store import email
from ingot_identity.messages.rules import PER_ADDRESS
from ingot_identity.messages.store import message
from ingot_identity.registrations.components import MOST_REGISTRATIONS
from ingot_identity.registrations.rules.admission import Admission

from ..applications import forms
from ..mailbox import Mailbox
from ..world import PASSWORD
from .visitors import BITS, REGISTER, SIGN_UP, Visitor

OPEN = {"registration": "open", "registration_work_bits": BITS}


@pytest.fixture
async def site(make_world):
    """A site that is open and sends mail."""
    async with make_world(sends_mail=True, **OPEN) as world:
        yield world


@pytest.fixture
async def silent(make_world):
    """A site that is open and sends no mail."""
    async with make_world(**OPEN) as world:
        yield world


async def logins(world):
    async with world.database.read() as db:
        return set((await db.execute(select(account.c.login))).scalars())


async def confirmed(world, address):
    """When the address was confirmed, or None."""
    async with world.database.read() as db:
        return (await db.execute(select(email.c.confirmed_at).where(email.c.address == address))).scalar_one()


async def test_registration_is_closed_by_default(make_world):
    async with make_world(sends_mail=True) as world:
        visitor = Visitor(world, "nora")
        for answer in (
            await visitor.http.get(SIGN_UP),
            await visitor.http.post(SIGN_UP, data={"email": "nora@x.io"}),
            await visitor.http.get(f"{REGISTER}?code=abc"),
        ):
            assert answer.status_code == 404
        assert SIGN_UP not in (await visitor.http.get("/login")).text
        assert await Mailbox(world).all() == []


async def test_the_sign_in_page_leads_to_the_form(site):
    assert f'href="{SIGN_UP}"' in (await Visitor(site, "nora").http.get("/login")).text


async def test_a_link_makes_an_account_with_a_confirmed_address(site):
    visitor = Visitor(site, "nora")
    answer = await visitor.sign_up("Nora@X.io")
    assert (answer.status_code, "Open your mail" in answer.text) == (200, True)
    assert await logins(site) == {"root"}
    answer = await visitor.register(await Mailbox(site).link("nora@x.io"), "nora")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert await confirmed(site, "nora@x.io") is not None
    assert (await site.authenticate(name="nora", password=PASSWORD)).json()["user_id"]
    assert "signed in" in (await visitor.http.get("/login")).text


async def test_a_link_makes_one_account(site):
    visitor, mailbox = Visitor(site, "nora"), Mailbox(site)
    for _ in range(2):
        await visitor.sign_up("nora@x.io")
    links = [one["fields"]["url"].removeprefix("http://127.0.0.1:3000") for one in await mailbox.all()]
    pages = [forms((await visitor.http.get(link)).text)[0][1] for link in links]
    filled = {"username": "nora", "password": PASSWORD, "repeated": PASSWORD}
    assert (await visitor.http.post(REGISTER, data=pages[0] | filled)).status_code == 303
    for page in pages:
        answer = await visitor.http.post(REGISTER, data=page | filled | {"username": "nora2"})
        assert answer.status_code == 404
    assert await logins(site) == {"root", "nora"}


async def test_a_link_ends_after_a_day(site):
    visitor = Visitor(site, "nora")
    await visitor.sign_up("nora@x.io")
    link = await Mailbox(site).link("nora@x.io")
    async with site.database.transaction() as tx:
        await tx.execute(update(message).values(expires_at=now() - timedelta(seconds=1)))
    assert (await visitor.http.get(link)).status_code == 404


async def test_answers_are_the_same_with_and_without_an_account(site):
    await site.add_user("ann")
    statements = []
    texts = set()
    for address in ("ann@example.com", "new@example.com"):
        visitor = Visitor(site, "nora")
        with site.count_statements() as counted:
            answer = await visitor.sign_up(address)
        statements.append(len(counted))
        texts.add((answer.status_code, answer.text))
    assert len(texts) == 1
    assert statements[0] == statements[1]


async def test_the_holder_of_an_address_gets_another_mail(site):
    await site.add_user("ann")
    await Visitor(site, "nora").sign_up("ANN@example.com")
    (mail,) = await Mailbox(site).all()
    assert (mail["kind"], mail["address"]) == ("registration_known", "ann@example.com")
    assert mail["fields"]["login"] == "ann"
    assert "code=" not in mail["fields"]["url"]


async def test_a_leaver_gets_no_mail(site):
    await site.add_user("ann")
    await site.call("PATCH", "/admin/users/ann", {"active": False}, as_="root")
    await Visitor(site, "nora").sign_up("ann@example.com")
    assert await Mailbox(site).all() == []


async def test_a_link_makes_no_account_once_its_address_has_one(site):
    visitor = Visitor(site, "nora")
    await visitor.sign_up("ann@example.com")
    link = await Mailbox(site).link("ann@example.com")
    await site.add_user("ann")
    assert (await visitor.http.get(link)).status_code == 404


async def test_an_address_gets_few_mails(site):
    for _ in range(PER_ADDRESS + 1):
        assert (await Visitor(site, "nora").sign_up("nora@x.io")).status_code == 200
    assert len(await Mailbox(site).all()) == PER_ADDRESS


async def test_a_network_sends_few_forms(site):
    near, far = {"x-forwarded-for": "192.0.2.7"}, {"x-forwarded-for": "198.51.100.7"}
    visitor = Visitor(site, "nora")
    for number in range(MOST_REGISTRATIONS):
        assert (await visitor.sign_up(f"n{number}@x.io", headers=near)).status_code == 200
    refused = await visitor.sign_up("nora@x.io", headers=near)
    assert (refused.status_code, "retry-after" in refused.headers) == (429, True)
    assert (await visitor.sign_up("nora@x.io", headers=far)).status_code == 200


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"email": "nobody"}, "no e-mail address"),
        ({"work": ""}, "needs a browser with JavaScript"),
        ({"work": "x"}, "not valid any more"),
        ({"challenge": "4.9.9.9"}, "not valid any more"),
    ],
)
async def test_a_bad_form_is_refused_and_sends_no_mail(site, fields, text):
    answer = await Visitor(site, "nora").sign_up("nora@x.io", **fields)
    assert (answer.status_code, text in answer.text) == (422, True)
    assert await Mailbox(site).all() == []


async def test_a_form_of_another_site_is_refused(site):
    answer = await Visitor(site, "nora").sign_up("nora@x.io", token="0" * 64)
    assert answer.status_code == 403


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"username": "ROOT"}, "taken"),
        ({"username": "user"}, "reserved"),
        ({"password": "short", "repeated": "short"}, "characters"),
        ({"repeated": "another"}, "two ways"),
    ],
)
async def test_a_refused_account_leaves_its_link(site, fields, text):
    visitor = Visitor(site, "nora")
    await visitor.sign_up("nora@x.io")
    link = await Mailbox(site).link("nora@x.io")
    answer = await visitor.register(link, "nora", **fields)
    assert (answer.status_code, text in answer.text) == (422, True)
    assert (await visitor.register(link, "nora")).status_code == 303


async def test_only_named_domains_register(make_world):
    domain = {"registration": "domain", "registration_domains": ["Corp.example"]}
    async with make_world(sends_mail=True, **OPEN | domain) as world:
        visitor = Visitor(world, "nora")
        for refused in ("a@x.io", "a@sub.corp.example", "a@corp.example.x.io", "a@notcorp.example"):
            answer = await visitor.sign_up(refused)
            assert (answer.status_code, "domain" in answer.text) == (422, True)
        assert (await visitor.sign_up("nora@CORP.example")).status_code == 200
        assert [one["address"] for one in await Mailbox(world).all()] == ["nora@CORP.example"]


@pytest.mark.parametrize(
    ("domains", "sends_mail", "setting"),
    [((), True, "REGISTRATION_DOMAINS"), (("x.io",), False, "REGISTRATION:")],
)
def test_domains_need_mail_and_names(domains, sends_mail, setting):
    with pytest.raises(CannotStart, match=setting):
        Admission("domain", domains, sends_mail=sends_mail)


async def test_without_mail_the_account_claims_its_address(silent):
    visitor = Visitor(silent, "nora")
    account_fields = {"username": "nora", "password": PASSWORD, "repeated": PASSWORD}
    answer = await visitor.sign_up("nora@x.io", **account_fields)
    assert answer.status_code == 303
    assert await confirmed(silent, "nora@x.io") is None


async def test_without_work_the_page_has_no_script(make_world):
    async with make_world(sends_mail=True, **OPEN | {"registration_work_bits": 0}) as world:
        visitor = Visitor(world, "nora")
        page = await visitor.http.get(SIGN_UP)
        assert "<script" not in page.text
        assert "script-src" not in page.headers["content-security-policy"]
        assert (await visitor.sign_up("nora@x.io")).status_code == 200


async def test_the_page_runs_the_script_of_this_server_alone(site):
    page = await Visitor(site, "nora").http.get(SIGN_UP)
    assert '<script type="module" src="/login/work.js">' in page.text
    assert "script-src 'self'" in page.headers["content-security-policy"]
    script = await site.http.get("/login/work.js")
    assert (script.status_code, script.headers["content-type"].split(";")[0]) == (200, "text/javascript")
