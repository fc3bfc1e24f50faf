"""People get in: with the account of a provider and its groups, by an invitation, and with passkeys."""

import json
from email.message import EmailMessage
from email.utils import make_msgid

import httpx
import pytest
from tests.e2e.deployments import CHEAP_PASSWORDS, Standalone, running
from tests.e2e.history import GitFailed, git
from tests.e2e.mailboxes import link_of, serve_mailboxes, text_of

from ingot_testing.openid import serve_openid

from .api import api_of, make
from .person import BAR, PROGRAM, open_browser

SUBMIT = "main form button"
ORG, NAME = "acme", "harbour"
HOME = f"{ORG}/{NAME}"
GUEST, PASSWORD = "eli@example.org", "what eli knows"
REPLY_KEY = "a key of the mail server"
SCOPES = ["openid", "profile", "email", "groups"]
CLIENT = {"client_id": "ingot", "client_secret": "a secret of the client"}
DANA = {
    "name": "Dana Developer",
    "preferred_username": "dana",
    "email": "dana@corp.example",
    "email_verified": True,
    "groups": ["developers"],
}
pytestmark = pytest.mark.skipif(PROGRAM is None, reason="needs Chromium on PATH")


@pytest.fixture
async def mailing():
    with serve_mailboxes() as mailboxes:
        yield mailboxes


@pytest.fixture
async def site(tmp_path, mailing):
    """Ingot under a name for which browsers make passkeys. It is not started yet."""
    variables = mailing.variables | {
        "INGOT_IDENTITY_ALLOWED_PROVIDERS": "127.0.0.1",
        "INGOT_MAIL_REPLY_ADDRESS": "reply+{token}@ingot.example",
        "INGOT_MAIL_REPLY_KEY": REPLY_KEY,
    }
    return Standalone(tmp_path, CHEAP_PASSWORDS | variables, host="localhost")


@pytest.fixture
async def provider(tmp_path, site):
    client = CLIENT | {
        "redirect_uris": [f"{site.url}login/oidc/corp/callback"],
        "post_logout_redirect_uris": [site.url],
    }
    async with serve_openid(tmp_path, client) as provider:
        provider.know(dana=DANA)
        with running(site):
            yield provider


async def test_a_developer_and_a_guest_get_in(site, provider, mailing, tmp_path):
    async with api_of(site.url) as http, open_browser(site.url, tmp_path / "dana") as dana:
        team = await _prepare(http, provider.issuer)

        # A member of the group signs in with the provider, and is in the team.
        await _sign_in_with_provider(dana, provider)
        await dana.visit(f"org/{ORG}/settings/teams/{team}")
        await dana.read("Dana Developer")
        await dana.visit("user/settings/applications")
        await dana.write("Name", "laptop")
        await dana.choose("Repositories", "Read and write")
        await dana.follow("Create token", within=SUBMIT)
        token = await dana.page.value("document.querySelector('main .notice code').innerText")
        work = await _push(site.url, token, tmp_path / "work")
        await dana.visit(HOME)
        await dana.read("lamp.py")

        # She leaves the group: from her next sign-in on, she and her token get no repository.
        provider.know(dana=DANA | {"groups": []})
        await _sign_in_again(dana, provider)
        await dana.visit(HOME)
        await dana.read("There is no such page")
        with pytest.raises(GitFailed):
            await git("fetch", "-q", "origin", cwd=work)

        # She comes back, and asks a question.
        provider.know(dana=DANA)
        await _sign_in_again(dana, provider)
        await git("fetch", "-q", "origin", cwd=work)
        await dana.visit(HOME)
        await dana.follow("Issues", "New issue")
        await dana.write("Title", "The lamp flickers")
        await dana.follow("Create issue")
        await dana.read("The lamp flickers")
        issue = await dana.page.value("location.pathname.slice(1)")

        # A guest is invited by mail, registers with a passkey and no password, and comments.
        await make(http, f"orgs/{ORG}/teams/{team}/members", email=GUEST)
        invitation = link_of(text_of(await mailing.find(GUEST, "")))
        async with open_browser(site.url, tmp_path / "eli") as eli:
            await _plug_in_authenticator(eli)
            await eli.visit(invitation.removeprefix("/"))
            await eli.follow("Create account")
            await eli.write("User name", "eli")
            await eli.follow("Create account with a passkey", within=SUBMIT)
            await eli.read("recovery codes")
            await eli.follow("Continue", "Accept invitation")
            await eli.read(ORG)
            await eli.visit()
            await eli.sign_out("eli")
            await eli.visit("login")
            await eli.follow("Sign in with a passkey", "Use a passkey")
            await eli.visit(issue)
            await eli.write("Comment", "Is it the fuse?")
            await eli.press("Comment", within=SUBMIT)
            await eli.read("Is it the fuse?")
            assert not eli.page.complaints

        # She reads of it in her mail, and answers there.
        mail = await mailing.find(DANA["email"], "The lamp flickers")
        assert "Is it the fuse?" in text_of(mail)
        await _reply(http, mail, "No, it is the wind.")
        await dana.visit(issue)
        await dana.read("No, it is the wind.")


async def _prepare(http, issuer):
    """Make a private repository of a team, and map the group of the provider to it. Return its id."""
    await make(http, "orgs", username=ORG)
    units = ["repo.code", "repo.issues", "repo.pulls"]
    team = await make(http, f"orgs/{ORG}/teams", name="coders", permission="write", units=units)
    await make(http, f"orgs/{ORG}/repos", name=NAME, private=True)
    await make(http, f"teams/{team['id']}/repos/{HOME}", method="PUT")
    config = {
        "kind": "oidc",
        "issuer": issuer,
        "client_id": CLIENT["client_id"],
        "scopes": SCOPES,
        "first_sign_in": "create",
        "group_team_map": {"developers": {ORG: ["coders"]}},
    }
    source = {"name": "corp", "title": "Corp", "secret": CLIENT["client_secret"], "config": config}
    await make(http, "admin/auths", **source)
    return team["id"]


async def _sign_in_with_provider(person, provider):
    await person.visit("login")
    await person.press("Sign in with Corp")
    await person.page.wait_for(f"location.href.startsWith({json.dumps(provider.issuer)})")
    await person.page.type("input[name=login]", "dana")
    await person.page.type("input[name=password]", "any")
    await person.page.click("form[action] button.login-submit")
    await person.page.wait_for("document.querySelector('[name=prompt]')?.value === 'consent'")
    await person.page.click("form[action] button.login-submit")
    await _wait_for_site(person)


async def _sign_in_again(person, provider):
    """Sign out on both sides, and in again."""
    await person.press("dana", within=BAR)
    await person.press("Sign out", within=BAR)
    await person.page.click("button[name=logout][value=yes]")
    await _wait_for_site(person)
    await _sign_in_with_provider(person, provider)


async def _wait_for_site(person):
    site = json.dumps(person.url)
    await person.page.wait_for(f"location.href === {site} && document.readyState === 'complete'")


async def _push(url, token, folder):
    await git("init", "-q", "-b", "main", folder)
    (folder / "lamp.py").write_text("light(1)\n")
    await git("add", ".", cwd=folder)
    await git("commit", "-q", "-m", "Light the lamp", cwd=folder)
    remote = httpx.URL(url).copy_with(username="dana", password=token)
    await git("remote", "add", "origin", f"{remote}{HOME}.git", cwd=folder)
    await git("push", "-q", "origin", "main", cwd=folder)
    return folder


async def _reply(http, mail, text):
    """Reply to a mail as a mail program does, through the pipe of a mail server."""
    reply = EmailMessage()
    reply["From"], reply["To"] = mail["To"], mail["Reply-To"]
    reply["Subject"], reply["In-Reply-To"] = f"Re: {mail['Subject']}", mail["Message-ID"]
    reply["Message-ID"] = make_msgid(domain="corp.example")
    quoted = "\n".join(f"> {line}" for line in text_of(mail).splitlines())
    reply.set_content(f"{text}\n\nOn Sunday, Ingot wrote:\n{quoted}\n")
    headers = {"Authorization": f"Bearer {REPLY_KEY}", "Content-Type": "message/rfc822"}
    address = http.base_url.join("/mail/replies")
    answer = await http.post(address, content=reply.as_bytes(), headers=headers, auth=None)
    assert (answer.status_code, answer.json()["outcome"]) == (200, "stored"), answer.text


async def _plug_in_authenticator(person):
    """Give the browser a device that stores passkeys and checks a finger."""
    options = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
        "automaticPresenceSimulation": True,
    }
    await person.page.call("WebAuthn.enable")
    return (await person.page.call("WebAuthn.addVirtualAuthenticator", options=options))["authenticatorId"]


async def test_a_passkey_follows_the_password_and_replaces_it(site, tmp_path):
    with running(site):
        async with api_of(site.url) as http:
            await make(http, "admin/users", username="eli", email=GUEST, password=PASSWORD)
        async with open_browser(site.url, tmp_path / "eli") as eli:
            device = await _plug_in_authenticator(eli)
            await eli.sign_in("eli", PASSWORD)
            await eli.visit("login/passkeys")
            await eli.follow("Add a passkey", within=SUBMIT)
            await eli.read("recovery codes")
            await eli.press("Add a passkey", within=SUBMIT)
            await eli.read("has a passkey of this account already")

            await eli.visit()
            await eli.sign_out("eli")
            await eli.sign_in("eli", PASSWORD)
            await eli.read("Two-factor authentication")
            await eli.follow("Use a passkey", within=SUBMIT)
            await eli.read("Your repositories")

            await eli.sign_out("eli")
            await eli.visit("login")
            await eli.follow("Sign in with a passkey")
            finger = {"authenticatorId": device, "isUserVerified": False}
            await eli.page.call("WebAuthn.setUserVerified", **finger)
            await eli.press("Use a passkey", within=SUBMIT)
            await eli.read("No passkey was used")
            await eli.page.call("WebAuthn.setUserVerified", **finger | {"isUserVerified": True})
            await eli.follow("Use a passkey", within=SUBMIT)
            await eli.visit("login/passkeys")
            await eli.read("last used on")
            assert not eli.page.complaints


async def test_a_form_with_work_takes_a_passkey_in_place_of_a_password(tmp_path):
    """Without mail, one form makes the account: the browser has a passkey and a proof of work to give."""
    variables = {"INGOT_IDENTITY_REGISTRATION": "open", "INGOT_IDENTITY_REGISTRATION_WORK_BITS": "8"}
    site = Standalone(tmp_path, CHEAP_PASSWORDS | variables, host="localhost")
    with running(site):
        async with api_of(site.url) as http, open_browser(site.url, tmp_path / "nora") as nora:
            await make(http, "admin/users", username="nora", email="n@example.org", password=PASSWORD)
            device = await _plug_in_authenticator(nora)
            await nora.visit("user/sign_up")
            await nora.write("E-mail address", "nora@example.org")
            await nora.press("Create account with a passkey", within=SUBMIT)
            assert await nora.page.value("document.querySelector('#username').validity.valueMissing")
            await nora.write("User name", "nora")
            await nora.follow("Create account with a passkey", within=SUBMIT)
            await nora.read("taken")
            await nora.write("User name", "nora2")
            await nora.follow("Create account with a passkey", within=SUBMIT)
            await nora.read("recovery codes")
            await nora.follow("Continue")
            await nora.read("Your repositories")

            # The passkey of the refused form is replaced, and carries the name.
            stored = await nora.page.call("WebAuthn.getCredentials", authenticatorId=device)
            assert [one["userName"] for one in stored["credentials"]] == ["nora2"]

            await nora.visit("user/settings/security")
            await nora.write("New password", PASSWORD)
            await nora.write("Repeat the new password", PASSWORD)
            await nora.follow("Set password", within=SUBMIT)
            await nora.sign_in("nora2", PASSWORD)
            await nora.read("Two-factor authentication")
            await nora.follow("Use a passkey", within=SUBMIT)
            await nora.read("Your repositories")
