"""Pushes: all or nothing, over another history, with options, and as a pull request."""

import json
import re

from tests.e2e.history import commit_file, git

SECONDS = 60.0


async def test_an_atomic_push_moves_all_refs_or_none(ann, app):
    await ann.call("POST", f"{app.path}/branch_protections", {"rule_name": "main", "enable_push": False})
    new = await commit_file(app.work, "b.txt", b"new\n", "Add b")
    output = await ann.refusal("push", "--atomic", "origin", "main", "HEAD:topic", cwd=app.work)
    assert "the rule 'main' protects the branch 'main'" in output
    assert await ann.refs(app.repository) == {"refs/heads/main": app.commits[-1]}
    output = await ann.refusal("push", "origin", "main", "HEAD:topic", cwd=app.work)
    assert "[new branch]" in output
    assert "[remote rejected] main -> main" in output
    expected = {"refs/heads/main": app.commits[-1], "refs/heads/topic": new}
    assert await ann.refs(app.repository) == expected
    await ann.git("push", "--atomic", "-q", "origin", "HEAD:one", ":topic", cwd=app.work)
    assert await ann.refs(app.repository) == {"refs/heads/main": app.commits[-1], "refs/heads/one": new}


async def test_history_is_replaced_by_force_alone(ann, app):
    await ann.git("push", "-q", "origin", "main~1:refs/tags/v1", cwd=app.work)
    await git("commit", "-q", "--amend", "-m", "Write it otherwise", cwd=app.work)
    new = (await git("rev-parse", "HEAD", cwd=app.work)).strip()
    assert "non-fast-forward" in await ann.refusal("push", "origin", "main", cwd=app.work)
    assert "already exists" in await ann.refusal("push", "origin", "main:refs/tags/v1", cwd=app.work)
    lease = f"--force-with-lease=main:{app.commits[0]}"
    assert "stale info" in await ann.refusal("push", lease, "origin", "main", cwd=app.work)
    old = {"refs/heads/main": app.commits[2], "refs/tags/v1": app.commits[1]}
    assert await ann.refs(app.repository) == old
    lease = f"--force-with-lease=main:{app.commits[2]}"
    await ann.git("push", "-q", lease, "origin", "main", cwd=app.work)
    await ann.git("push", "-q", "--force", "origin", "main:refs/tags/v1", cwd=app.work)
    assert await ann.refs(app.repository) == {"refs/heads/main": new, "refs/tags/v1": new}
    await ann.git("push", "-q", "--delete", "origin", "v1", cwd=app.work)
    assert await ann.refs(app.repository) == {"refs/heads/main": new}


async def test_webhooks_get_the_options_of_a_push(ann, app, receiver):
    config = {"url": receiver.url, "content_type": "json"}
    # The first push of `main` may reach the hooks later than this hook is there.
    hook = {"type": "gitea", "config": config, "events": ["push"], "branch_filter": "topic", "active": True}
    await ann.call("POST", f"{app.path}/hooks", hook)
    options = ("-o", "ci.skip", "-o", "title=Better")
    output = await ann.git("push", *options, "origin", "HEAD:topic", cwd=app.work)
    assert "remote: the option 'ci.skip' goes to the hooks of this push" in output
    assert "remote: the option 'title' means nothing here without refs/for/<branch>" in output
    (request,) = await receiver.wait_for(1, timeout=SECONDS)
    payload = json.loads(request.body)
    assert (payload["ref"], payload["push_options"]) == ("refs/heads/topic", ["ci.skip"])


async def test_a_reader_opens_a_pull_request_by_a_push_and_retitles_it(deployment, ann, bob, app, tmp_path):
    copy = tmp_path / "copy"
    await bob.git("clone", "-q", bob.url(app.repository), copy, cwd=tmp_path)
    await commit_file(copy, "b.txt", b"two\n", "Add b")
    output = await bob.git("push", "origin", "HEAD:refs/for/main/more", cwd=copy)
    address = re.search(r"Pull request: (\S+)", output)
    assert address is not None, output
    assert address[1] == f"{deployment.url}{app.repository['full_name']}/pulls/1"
    new = await commit_file(copy, "c.txt", b"three\n", "Add c")
    options = ("-o", "title=Two files", "-o", "topic=more")
    assert address[0] in await bob.git("push", *options, "origin", "HEAD:refs/for/main", cwd=copy)
    pull = await ann.call("GET", f"{app.path}/pulls/1")
    assert (pull["title"], pull["user"]["login"]) == ("Two files", bob.login)
    # Its head is compared after that.
    await ann.wait_until(
        f"{app.path}/pulls/1", lambda answer: answer.json()["head"]["sha"] == new, seconds=SECONDS
    )
    assert await ann.refs(app.repository) == {"refs/heads/main": app.commits[-1], "refs/pull/1/head": new}
    await ann.call("POST", f"{app.path}/pulls/1/merge", {"Do": "merge"})
    await ann.git("pull", "-q", "origin", "main", cwd=app.work)
    assert (app.work / "c.txt").read_text() == "three\n"
