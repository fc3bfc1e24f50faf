"""Ten tasks of a user who has read no documentation: from the home page, by the words on the pages alone."""

import asyncio

import pytest
from tests.e2e.deployments import ADMINISTRATOR

from .api import api_of, content, make
from .person import BAR, PROGRAM, open_browser

NAME = "lighthouse"


@pytest.mark.skipif(PROGRAM is None, reason="needs Chromium on PATH")
@pytest.mark.parametrize("deployment", ["standalone"], indirect=True)
async def test_ten_tasks_need_no_documentation(deployment, tmp_path):
    failure = await _fill(deployment.url)
    async with open_browser(deployment.url, tmp_path) as person:
        await person.sign_in(*ADMINISTRATOR)

        async def start(*links):
            await person.visit()
            await person.follow(NAME, *links)

        # Find who changed this line, and what it was before.
        await start("lamp.py", "Blame", "Turn the lamp up")
        for words in (ADMINISTRATOR[0], "light(1)", "light(2)"):
            await person.read(words)

        # See why the webhook failed.
        await start("Settings", "Webhooks", "http://127.0.0.1:9/", "push")
        await person.read(failure)

        # Find the file as it was.
        await start("lamp.py", "History", "Light the lamp")
        await person.read("lamp.py")

        # Say that something is broken.
        await start("Issues", "New issue")
        await person.write("Title", "The fog horn is silent")
        await person.write("Description", "Since **Monday**.")
        await person.follow("Create issue")
        await person.read("Since Monday.")

        # Find what was said of something, answer it, and end it.
        await start("Issues")
        await person.write("Search in titles, texts and comments", "horn")
        await person.follow("Search", "The fog horn is silent")
        await person.write("Comment", "The fuse was gone.")
        await person.follow("Close", within="main form button")
        for words in ("The fuse was gone.", "closed this"):
            await person.read(words)

        # See the proposed change of another user, approve it and merge it.
        await start("Pull requests", "Paint the door", "Files")
        await person.read("red")
        await person.press("Review")
        await person.press("Approve", within="label")
        await person.write("Summary", "A good colour.")
        await person.follow("Submit review", "Conversation")
        await person.read("A good colour.")
        await person.follow("Merge", within="main form button")
        await person.read("Merged")

        # Add a collaborator.
        await start("Settings", "Collaborators")
        await person.write("User name", "keeper")
        await person.follow("Save")
        await person.read("keeper")

        # Mend a file here.
        await start("lamp.py", "Edit")
        await person.write("Content", "light(3)\n")
        await person.write("Message", "Turn it up once more")
        await person.follow("Commit", within="main form button")
        await person.read("light(3)")

        # Get what was released.
        await start("Releases")
        await person.read("The first night")
        await person.press("Source code")

        # Make a token for a program.
        await person.visit()
        await person.press(ADMINISTRATOR[0], within=BAR)
        await person.follow("Settings", within=BAR)
        await person.follow("Access tokens")
        await person.write("Name", "backup")
        await person.choose("Repositories", "Read")
        await person.follow("Create token")
        await person.read("It is not shown again.")
        assert not person.page.complaints


@pytest.mark.skipif(PROGRAM is None, reason="needs Chromium on PATH")
@pytest.mark.parametrize("deployment", ["standalone"], indirect=True)
async def test_eight_other_tasks_need_no_documentation(deployment, tmp_path):
    sha = await _fill_harbour(deployment.url)
    async with open_browser(deployment.url, tmp_path) as person:
        await person.sign_in(*ADMINISTRATOR)

        async def start(*links):
            await person.visit()
            await person.follow("harbour", *links)

        # See which pull requests wait for my review, and why this one cannot be merged.
        await person.visit()
        await person.read("To review")
        await person.follow("WIP: Dig the channel")
        await person.read("Merging is blocked")
        await person.read("work in progress")

        # Give a colleague write access.
        await start("Settings", "Collaborators")
        await person.write("User name", "pilot")
        await person.choose("Permission", "Read and write")
        await person.follow("Save")
        await person.read("Read and write")

        # Find an issue by a word in a comment.
        await start("Issues")
        await person.write("Search in titles, texts and comments", "barnacle")
        await person.follow("Search", "The hull is slow")
        await person.read("barnacle")

        # See a file as it was.
        await start("depth.txt", "History", f"As it was at {sha[:10]}")
        await person.read("three fathoms")

        # Get a deleted branch back.
        await start("2 branches", "Delete channel", "Restore branch")
        await person.read("mud.txt")

        # Find the release with a file.
        await start("Releases")
        await person.press("chart.txt")

        # Make a token for CI that only reads one repository.
        await person.visit()
        await person.press(ADMINISTRATOR[0], within=BAR)
        await person.follow("Settings", within=BAR)
        await person.follow("Access tokens")
        await person.write("Name", "ci")
        await person.choose("Repositories", "Read")
        await person.write("Only in these repositories", f"{ADMINISTRATOR[0]}/harbour")
        await person.follow("Create token")
        await person.read(f"read:repository · only in {ADMINISTRATOR[0]}/harbour")

        # Take a commit back, by a pull request.
        await start("depth.txt", "History", "Sound it again")
        await person.press("Revert commit")
        await person.follow("Create revert commit")
        await person.press("Open a pull request")
        await person.follow("Create pull request")
        await person.read('Revert "Sound it again"')
        await person.follow("Files")
        await person.read("three fathoms")
        assert not person.page.complaints


async def _fill_harbour(url):
    """Make what these tasks are about; the first commit."""
    async with api_of(url) as http:
        base = f"repos/{ADMINISTRATOR[0]}/harbour"
        await make(http, "user/repos", name="harbour")
        depth = f"{base}/contents/depth.txt"
        first = await make(http, depth, content=content("three fathoms\n"), message="Sound the depth")
        blob = first["content"]["sha"]
        await make(
            http, depth, method="PUT", content=content("two fathoms\n"), sha=blob, message="Sound it again"
        )
        await make(
            http, f"{base}/contents/mud.txt", content=content("mud\n"), message="Dig", new_branch="channel"
        )
        for login in ("pilot", "mate"):
            email = f"{login}@example.org"
            await make(http, "admin/users", username=login, email=email, password="the lamp is lit")
        await make(http, f"{base}/collaborators/mate", method="PUT", permission="admin")
        pull = {"title": "WIP: Dig the channel", "head": "channel", "base": "main"}
        await make(http, f"{base}/pulls", by="mate", **pull)
        await make(http, f"{base}/pulls/1/requested_reviewers", by="mate", reviewers=[ADMINISTRATOR[0]])
        await make(http, f"{base}/issues", title="The hull is slow")
        await make(http, f"{base}/issues/2/comments", body="I saw a barnacle.")
        release = await make(http, f"{base}/releases", tag_name="v1", name="The first chart")
        sent = await http.post(f"{base}/releases/{release['id']}/assets?name=chart.txt", content=b"rocks")
        assert sent.status_code == 201, sent.text
        return first["commit"]["sha"]


async def _fill(url):
    """Make what the tasks are about; why the webhook failed, in the words of the API."""
    async with api_of(url) as http:
        base = f"repos/{ADMINISTRATOR[0]}/{NAME}"
        await make(http, "user/repos", name=NAME)
        file = await make(
            http, f"{base}/contents/lamp.py", content=content("light(1)\n"), message="Light the lamp"
        )
        await make(
            http,
            f"{base}/contents/lamp.py",
            method="PUT",
            content=content("light(2)\n"),
            sha=file["content"]["sha"],
            message="Turn the lamp up",
        )
        await make(
            http,
            f"{base}/contents/door.txt",
            content=content("red\n"),
            message="Paint it",
            new_branch="paint",
        )
        for login in ("keeper", "painter"):
            await make(
                http, "admin/users", username=login, email=f"{login}@example.org", password="the lamp is lit"
            )
        await make(http, f"{base}/collaborators/painter", method="PUT", permission="write")
        await make(http, f"{base}/pulls", by="painter", title="Paint the door", head="paint", base="main")
        await make(http, f"{base}/releases", tag_name="v1", name="The first night")
        config = {"url": "http://127.0.0.1:9/", "content_type": "json"}
        hook = await make(http, f"{base}/hooks", type="gitea", config=config, events=["push"], active=True)
        await make(http, f"{base}/hooks/{hook['id']}/tests")
        async with asyncio.timeout(30):
            while (
                not (sent := (await http.get(f"{base}/hooks/{hook['id']}/deliveries")).json())
                or not sent[0]["error"]
            ):
                await asyncio.sleep(0.1)
        return sent[0]["error"]
