"""Tasks of owners and administrators, done by a user who has read no documentation: by the words on pages."""

import base64
import time

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.hazmat.primitives.twofactor.totp import TOTP
from tests.e2e.deployments import ADMINISTRATOR

from .api import api_of, content, make
from .person import BAR, PROGRAM, open_browser

OWNER = ADMINISTRATOR[0]
SAILOR = ("sailor", "the lamp is lit")
HOOK = "http://127.0.0.1:9/bell"
SUBMIT = "main form button"
pytestmark = [
    pytest.mark.skipif(PROGRAM is None, reason="needs Chromium on PATH"),
    pytest.mark.parametrize("deployment", ["standalone"], indirect=True),
]


async def test_tasks_of_an_owner_need_no_documentation(deployment, tmp_path):
    await _fill(deployment.url, "dock")
    async with open_browser(deployment.url, tmp_path) as person:
        await person.sign_in(*ADMINISTRATOR)

        async def start(*links):
            await person.visit()
            await person.follow("dock", *links)

        # See why a webhook failed, and send it again.
        await start("Settings", "Webhooks", HOOK)
        await person.follow("Send test")
        await person.look_until("Failing")
        await person.follow("push")
        await person.look_until("Deliver now")
        await person.follow("Deliver now")
        await person.look_until("Failing")

        # Let a machine push, and take that back.
        await start("Settings", "Deploy keys")
        await person.write("Title", "builder")
        await person.write("Public key", _public_key())
        await person.press("May push", within="label")
        await person.follow("Add key")
        await person.read("Read and write")
        await person.press("Remove builder")
        await person.read("Programs that use this key lose access.")
        await person.follow("Remove builder", within=SUBMIT)
        await person.read("No deploy keys.")

        # Protect a branch, and see why a merge is refused.
        await start("Settings", "Protection", "New rule for branches")
        await person.write("Approvals before a merge", "1")
        await person.follow("Create rule")
        await person.read("1 approval")
        await start("Pull requests", "Deepen the dock")
        await person.look_until("it has 0 of 1 approvals")

        # See how a conflict is solved.
        await person.look_until("If the branches conflict")
        await person.press("If the branches conflict")
        await person.read("git pull --no-rebase")

        # Bring a repository here from elsewhere.
        await person.visit()
        await person.follow("New repository")
        await person.write("Name", "dock-copy")
        await person.press("Import from another server")
        await person.write("Address", f"{deployment.url}{OWNER}/dock.git")
        await person.follow("Create repository")
        await person.look_until("depth.txt")

        # Give it to an organization, for whose members it is then.
        await person.press(OWNER, within=BAR)
        await person.follow("New organization", within=BAR)
        await person.write("Name", "shipyard")
        await person.follow("Create organization")
        await start("Settings", "Transfer")
        await person.write("New owner", "shipyard")
        await person.write(f"Type {OWNER}/dock to transfer it", f"{OWNER}/dock")
        await person.follow("Transfer repository")
        await person.visit("shipyard")
        await person.follow("Settings", "Teams")
        await person.write("Name", "builders")
        await person.choose("Permission", "Write")
        await person.follow("Create team", "builders")
        await person.write("Repository", "dock", within="label")
        await person.follow("Add repository")
        await person.write("User name", SAILOR[0])
        await person.follow("Add member")
        await person.read(SAILOR[0])
        await person.sign_out(OWNER)
        await person.sign_in(*SAILOR)
        await person.look_until("shipyard/dock")
        await person.follow("shipyard/dock", "depth.txt", "Edit")
        assert not person.page.complaints


async def test_tasks_of_a_member_and_an_administrator_need_no_documentation(deployment, tmp_path):
    await _fill(deployment.url, "pier")
    async with open_browser(deployment.url, tmp_path) as person:
        await person.sign_in(*SAILOR)

        # Bring a fork up to date.
        await person.visit(f"{OWNER}/pier")
        await person.follow("Fork")
        await person.follow("Create fork", within=SUBMIT)
        await person.look_until("depth.txt")
        await person.follow(f"Update from {OWNER}/pier")
        await person.read("The branch was up to date with the parent repository already.")

        # Set up a second factor, and get in without the app.
        await _settings(person, SAILOR[0], "Two-factor")
        await person.write("Current password", SAILOR[1])
        await person.follow("Set up")
        secret = await person.page.value("document.querySelector('main code').innerText")
        app = TOTP(base64.b32decode(secret), 6, SHA1(), 30, enforce_key_length=False)
        await person.write("Code", app.generate(int(time.time())).decode())
        await person.follow("Turn on")
        await person.read("Save these recovery codes now.")
        codes = (await person.page.value("document.querySelector('main .notice pre').innerText")).split()
        await person.sign_out(SAILOR[0])
        await person.sign_in(*SAILOR)
        await person.write("Code", codes[0])
        await person.follow("Sign in", within="main button")
        await _settings(person, SAILOR[0], "Two-factor")
        await person.read("9 recovery codes left")
        await person.write("Current password", SAILOR[1])
        await person.write("Code from the app, or a recovery code", codes[1])
        await person.follow("Turn off")
        await person.read("Set up")
        await person.sign_out(SAILOR[0])

        # Lock out a user, and find the administrator who did it.
        await person.sign_in(*ADMINISTRATOR)
        await person.press(OWNER, within=BAR)
        await person.follow("Administration", within=BAR)
        await person.write("Search names and addresses", SAILOR[0])
        await person.follow("Search", SAILOR[0])
        await person.press("Sign-in disabled", within="label")
        await person.follow("Save")
        await person.read("Saved.")
        await person.follow("Audit log")
        await person.read("login_prohibited: True")
        await person.follow("Dead-lettered events")
        await person.read("No failed events.")
        await person.sign_out(OWNER)
        await person.sign_in(*SAILOR)
        await person.read("this account may not sign in")


async def _settings(person, name, part):
    await person.visit()
    await person.press(name, within=BAR)
    await person.follow("Settings", within=BAR)
    await person.follow(part)


def _public_key():
    key = Ed25519PrivateKey.generate().public_key()
    return key.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()


async def _fill(url, name):
    """Create the sailor, who may sign in, and a repository. It has a conflicting pull request and a failing
    hook."""
    async with api_of(url) as http:
        login, password = SAILOR
        if (await http.get(f"users/{login}")).status_code == 404:
            await make(http, "admin/users", username=login, email=f"{login}@example.org", password=password)
        await make(http, f"admin/users/{login}", method="PATCH", prohibit_login=False)
        base = f"repos/{OWNER}/{name}"
        await make(http, "user/repos", name=name)
        depth = f"{base}/contents/depth.txt"
        file = await make(http, depth, content=content("three\n"), message="Sound the depth")
        blob = file["content"]["sha"]
        await make(
            http, depth, method="PUT", content=content("nine\n"), sha=blob, message="Dig", new_branch="deeper"
        )
        await make(http, depth, method="PUT", content=content("two\n"), sha=blob, message="Sound it again")
        await make(http, f"{base}/pulls", title="Deepen the dock", head="deeper", base="main")
        config = {"url": HOOK, "content_type": "json"}
        await make(http, f"{base}/hooks", type="gitea", config=config, events=["push"], active=True)
