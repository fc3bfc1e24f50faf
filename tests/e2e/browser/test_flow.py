"""A complete flow from the first sign-in to a release: a person and git, with JavaScript and without it."""

import httpx
import pytest
from tests.e2e.deployments import ADMINISTRATOR
from tests.e2e.history import git

from .api import api_of
from .person import PROGRAM, open_browser

OWNER, PASSWORD = ADMINISTRATOR
SUBMIT = "main form button"
pytestmark = pytest.mark.both_deployments


@pytest.mark.skipif(PROGRAM is None, reason="needs Chromium on PATH")
@pytest.mark.parametrize("javascript", [True, False], ids=["with JavaScript", "without JavaScript"])
async def test_a_repository_goes_from_its_first_push_to_a_release(deployment, receiver, tmp_path, javascript):
    name = f"harbour-{'with' if javascript else 'without'}"
    home, guest = f"{OWNER}/{name}", f"kim-{'with' if javascript else 'without'}"
    await _add_person(deployment.url, guest)
    async with open_browser(deployment.url, tmp_path / "browser", javascript=javascript) as person:
        await person.sign_in(OWNER, PASSWORD)
        await person.follow("New repository")
        await person.write("Name", name)
        await person.follow("Create repository", within=SUBMIT)
        await person.read("git push")
        await _push(deployment.url, home, tmp_path / "work")

        await person.visit()
        await person.follow(name, "keeper.py", "Blame", "File", "History")
        await person.read("Light the lamp")

        await person.visit(home)
        await person.follow("Settings", "Webhooks", "New webhook")
        await person.write("Address", receiver.url)
        await person.follow("Create webhook", within=SUBMIT)
        await person.follow("Send test", within=SUBMIT)
        await receiver.wait_for(1)
        await person.look_until("Delivered")
        await person.follow("push", within="main .row a")
        await person.look_until("Redeliver")
        await person.follow("Redeliver", within=SUBMIT)
        first, again = await receiver.wait_for(2)
        assert (again.body, again.headers["X-Gitea-Delivery"]) == (
            first.body,
            first.headers["X-Gitea-Delivery"],
        )

        await person.visit(home)
        await person.follow("Issues", "New issue")
        await person.write("Title", "The lamp flickers")
        await person.write("Description", "Every **evening**.")
        await person.follow("Create issue")
        await person.read("Every evening.")

        await person.sign_out(OWNER)
        await person.sign_in(guest, PASSWORD)
        await person.visit(home)
        await person.follow("Fork")
        await person.follow("Create fork", within=SUBMIT)
        await person.look_until("keeper.py")
        await person.follow("keeper.py", "Edit")
        await person.write("Content", "light(1)\nwait(2)\n")
        await person.write("Message", "Wait a little")
        await person.follow("Commit", within=SUBMIT)
        await person.visit(f"{guest}/{name}")
        await person.follow(f"Compare with {home}")
        await person.press("Open a pull request")
        await person.write("Title", "Wait between two flashes")
        await person.follow("Create pull request", within=SUBMIT)
        await person.read("Opened by")

        await person.sign_out(guest)
        await person.sign_in(OWNER, PASSWORD)
        await person.visit(home)
        await person.follow("Pull requests", "Wait between two flashes", "Files")
        await person.follow("Comment on line 2", within="td.number a")
        await person.write("Comment on line 2", "How long is that?", within="label")
        await person.follow("Start review", within=SUBMIT)
        await person.read("Not sent yet")
        await person.press("Review")
        await person.press("Approve", within="label")
        await person.write("Summary", "A good light.")
        await person.follow("Submit review", within=SUBMIT)
        await person.read("approved the changes")
        await person.follow("Merge", within=SUBMIT)
        await person.read("Merged")

        await person.visit(home)
        await person.follow("Releases", "New release")
        await person.write("Tag", "v1")
        await person.write("Title", "The first night")
        (tmp_path / "lamp.txt").write_text("bright")
        await person.attach("Files", tmp_path / "lamp.txt")
        await person.follow("Publish", within=SUBMIT)
        await person.read("lamp.txt")
        assert not person.page.complaints
        assert all(
            address.startswith((deployment.url, "about:", "data:")) for address in person.page.requests
        )
    await git("clone", "-q", f"{deployment.url}{home}.git", tmp_path / "clone")
    assert (tmp_path / "clone" / "keeper.py").read_text() == "light(1)\nwait(2)\n"


async def _add_person(url, name):
    async with api_of(url) as http:
        new = {"username": name, "email": f"{name}@example.org", "password": PASSWORD}
        assert (await http.post("admin/users", json=new)).status_code == 201


async def _push(url, repository, folder):
    await git("init", "-q", "-b", "main", folder)
    (folder / "keeper.py").write_text("light(1)\n")
    await git("add", ".", cwd=folder)
    await git("commit", "-q", "-m", "Light the lamp", cwd=folder)
    credential = httpx.URL(url).copy_with(username=OWNER, password=PASSWORD)
    await git("push", "-q", f"{credential}{repository}.git", "main", cwd=folder)
