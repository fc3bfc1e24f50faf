"""Rules about the commits and files of a branch: for pushes, changes by the API and merges."""

import asyncio
import contextlib
import os
import subprocess
import sys
from asyncio.subprocess import PIPE

import pytest

from ingot_git.hooks.hook_questions import UNKNOWN, HookQuestions, process_name
from ingot_git.hooks.update_hook import ANSWER_SECONDS, RefRefusal, hook_environment, hooks_folder

from ..code_world import opened
from ..commits.test_signatures import SshKey, register
from ..commits.test_signatures import commit as signed_commit
from ..ssh_world import Client, Key, ssh_before
from ..world import commit, git
from .test_protections import merge, protect, push, tip_of

FILES = "/repos/ann/app/contents"
PULL = {"base_branch": "master", "head_branch": "topic", "number": 1}


@pytest.fixture
async def work(base, ann, bob, git_url, questions, tmp_path):
    """The work tree of ann/app, at master; topic is one commit ahead, which adds b.txt."""
    await ann.call("PUT", "/api/v1/repos/ann/app/collaborators/bob", {"permission": "write"})
    await git("checkout", "-q", "master", cwd=tmp_path / "work")
    return tmp_path / "work"


async def run_hook(folder, question, **more):
    """Exit code and output of the hook `update`."""
    environment = hook_environment([RefRefusal("refs/heads/master", "", question=question)]) | more
    process = await asyncio.create_subprocess_exec(
        hooks_folder(folder) / "update", "refs/heads/master", "0" * 40, "1" * 40,
        env=environment | {"PATH": os.environ["PATH"]}, stderr=PIPE,
    )  # fmt: skip
    _, output = await process.communicate()
    return process.returncode, output.decode().strip()


@pytest.mark.parametrize(
    ("patterns", "name", "is_protected"),
    [
        ("*.lock;/CI/**", "ci/build.yml", True),
        ("*.lock ; ci/**", "yarn.LOCK", True),
        ("*.lock;ci/**", "sub/yarn.lock", False),
        ("makefile", "Makefile", True),
        (";", "Makefile", False),
    ],
)
async def test_a_push_changes_no_protected_file(ann, git_url, work, patterns, name, is_protected):
    await protect(ann, "mas*", enable_push=True, protected_file_patterns=patterns)
    before = await tip_of(ann)
    await commit(work, "free.txt")
    new = await commit(work, name)
    code, output = await push(ann, git_url, work, "master", "master:other")
    reason = f"remote: the rule 'mas*' protects the branch 'master': the file {name!r} must not change"
    assert (code != 0, reason in output) == (is_protected, is_protected), output
    assert await tip_of(ann) == (before if is_protected else new)
    assert await tip_of(ann, "other") == new


async def test_a_push_over_ssh_is_judged_by_the_same_rules(world, ann, work):
    await protect(ann, "master", enable_push=True, protected_file_patterns="a.txt")
    key = Key(work.parent, "ann")
    world.identity.ssh_keys[key.public.fingerprint] = (1, "laptop")
    await commit(work, "a.txt", "two\n")
    async with ssh_before(world) as port:
        client = Client(work.parent, port, key)
        code, output = await client.git("push", client.url("ann/app.git"), "master", "HEAD:other", cwd=work)
    assert (code, "the file 'a.txt' must not change" in output) == (1, True), output
    assert await tip_of(ann, "other") is not None


async def test_a_push_whose_files_take_too_long_to_be_compared_is_refused(ann, git_url, work):
    pattern = f"*{{{','.join('a' * 50)}}}{'**a' * 48}"
    await protect(ann, "master", enable_push=True, protected_file_patterns=pattern)
    await commit(work, f"{'a' * 99}/" * 20 + "b")
    code, output = await push(ann, git_url, work, "master")
    assert (code, "takes too long; push them in parts" in output) == (1, True), output


async def test_what_a_push_takes_back_again_has_not_changed(ann, git_url, work):
    await protect(ann, "master", enable_push=True, protected_file_patterns="a.txt")
    await commit(work, "a.txt", "two\n")
    await commit(work, "a.txt", "one\n")
    assert (await push(ann, git_url, work, "master"))[0] == 0


async def test_a_forced_push_that_drops_a_protected_file_is_refused(ann, git_url, work):
    await protect(ann, "topic", enable_push=True, enable_force_push=True, protected_file_patterns="b.txt")
    code, output = await push(ann, git_url, work, "+master:topic")
    assert (code, "the file 'b.txt' must not change" in output) == (1, True)


async def test_a_new_branch_is_compared_with_what_it_goes_on_from(ann, git_url, work):
    await protect(ann, "release/*", enable_push=True, protected_file_patterns="*.lock")
    assert (await push(ann, git_url, work, "master:release/1"))[0] == 0
    await commit(work, "yarn.lock")
    assert (await push(ann, git_url, work, "master:release/2"))[0] == 1
    assert (await push(ann, git_url, work, "master"))[0] == 0
    await git("checkout", "-q", "topic", cwd=work)
    await git("merge", "-q", "master", "-m", "both", cwd=work)
    assert (await push(ann, git_url, work, "topic:release/2", "topic:release/3"))[0] == 0
    await commit(work, "yarn.lock")
    code, output = await push(ann, git_url, work, "topic:release/4")
    assert (code, "'yarn.lock'" in output) == (1, True)


@pytest.mark.parametrize("demand", [{"protected_file_patterns": "a.txt"}, {"require_signed_commits": True}])
async def test_a_new_branch_does_not_go_on_from_what_another_rule_protects(ann, git_url, work, demand):
    for name in ("wip/**", "wop"):
        await protect(ann, name, enable_push=True)
    await protect(ann, "w*/**", enable_push=True, **demand)
    await protect(ann, "**", enable_push=True, **demand)
    await commit(work, "a.txt")
    for refs, code in (("master:wip/x", 0), ("master:wop", 0), ("master:new", 1), ("master:web/new", 1)):
        ended, output = await push(ann, git_url, work, refs)
        assert (ended, "protects the branch" in output) == (code, bool(code)), output
    assert (await push(ann, git_url, work, "topic:new"))[0] == 0


async def test_unprotected_files_are_pushed_by_those_who_may_not_push(ann, bob, git_url, work):
    await protect(
        ann, "master", unprotected_file_patterns="docs/**;*.md", protected_file_patterns="docs/law.md"
    )
    for name, refusal in (
        ("docs/a/b.txt", ""),
        ("readme.md", ""),
        ("a.txt", "it changes by pull requests only"),
        ("docs/law.md", "the file 'docs/law.md' must not change"),
    ):
        await commit(work, name)
        code, output = await push(bob, git_url, work, "master")
        assert (code, refusal in output) == (1 if refusal else 0, True), output
        if refusal:
            await git("reset", "-q", "--hard", "HEAD~1", cwd=work)
    await git("reset", "-q", "--hard", "HEAD~1", cwd=work)
    code, output = await push(bob, git_url, work, "+master")
    assert (code, "its history must not be replaced" in output) == (1, True)
    assert not (await bob.get("/repos/ann/app/branches/master")).json()["user_can_push"]


async def test_unprotected_files_let_nobody_make_a_branch_or_replace_its_history(ann, bob, git_url, work):
    for name in ("release/*", "topic"):
        await protect(ann, name, enable_force_push=True, unprotected_file_patterns="docs/**")
    await commit(work, "docs/a.txt")
    for refs, reason in (
        ("master~1:refs/heads/release/1", "it changes by pull requests only"),
        ("master:release/1", "it changes by pull requests only"),
        ("+master:topic", "its history must not be replaced"),
    ):
        code, output = await push(bob, git_url, work, refs)
        assert (code, reason in output) == (1, True), output


async def test_no_push_of_unprotected_files_brings_commits_with_others(ann, bob, git_url, work):
    await protect(ann, "master", unprotected_file_patterns="docs/**")
    await git("checkout", "-q", "-b", "other", cwd=work)
    await commit(work, "a.txt", "two\n")
    await git("checkout", "-q", "master", cwd=work)
    await git("merge", "-q", "-s", "ours", "-m", "both", "other", cwd=work)
    await commit(work, "docs/a.txt")
    await git("checkout", "-q", "other", cwd=work)
    await git("revert", "--no-edit", "HEAD", cwd=work)
    await commit(work, "docs/b.txt")
    for branch in ("master~1", "master", "other"):
        code, output = await push(bob, git_url, work, f"{branch}:master")
        assert (code, "it changes by pull requests only" in output) == (1, True), output


async def test_unprotected_files_are_pushed_with_a_merge_of_what_the_branch_has(ann, bob, git_url, work):
    await protect(ann, "master", enable_push=True, enable_push_whitelist=True,
                  push_whitelist_usernames=["ann"], unprotected_file_patterns="docs/**")  # fmt: skip
    await commit(work, "a.txt", "two\n")
    assert (await push(ann, git_url, work, "master"))[0] == 0
    await git("checkout", "-q", "-b", "other", "HEAD~1", cwd=work)
    await commit(work, "docs/a.txt")
    await git("merge", "-q", "-m", "both", "master", cwd=work)
    code, output = await push(bob, git_url, work, "other:master")
    assert code == 0, output


async def test_the_api_changes_files_as_a_push_does(ann, bob, work):
    rule = {"protected_file_patterns": "*.lock", "unprotected_file_patterns": "*.md"}
    await protect(ann, "master", **rule)
    await protect(ann, "topic", enable_push=True, **rule)
    for branch, name, status, reason in (
        ("master", "a.md", 201, ""),
        ("master", "a.rs", 403, "it changes by pull requests only"),
        ("master", "a.lock", 403, "the file 'a.lock' must not change"),
        ("topic", "a.rs", 201, ""),
        ("topic", "a.lock", 403, "the file 'a.lock' must not change"),
    ):
        body = {"content": "b25l", "message": "one", "branch": branch}
        answer = await bob.post(f"{FILES}/{name}", body)
        assert (answer.status_code, reason in answer.text) == (status, True), answer.text


async def test_a_merge_changes_no_protected_file_unless_who_may_overrides(ann, bob, work):
    await protect(ann, "master", protected_file_patterns="b.*")
    for person, override, status in (
        (bob, False, 405),
        (bob, True, 405),
        (ann, False, 405),
        (ann, True, 200),
    ):
        answer = await merge(person, override=override)
        assert answer.status_code == status
        assert status == 200 or "the file 'b.txt' must not change" in answer.json()["message"]


async def test_unsigned_commits_are_refused_wherever_they_come_from(ann, git_url, work):
    await protect(ann, "master", enable_push=True, require_signed_commits=True)
    before, new = await tip_of(ann), await commit(work)
    code, output = await push(ann, git_url, work, "master", "master:other")
    assert (code, f"the commit {new[:12]} has no verified signature" in output) == (1, True)
    answer = await ann.post(f"{FILES}/one.txt", {"content": "b25l", "branch": "master"})
    assert (answer.status_code, "has no verified signature" in answer.text) == (403, True)
    for override in (False, True):
        answer = await merge(ann, override=override)
        assert (answer.status_code, "merge by fast-forward" in answer.text) == (405, True)
    body = PULL | {
        "head_sha": await tip_of(ann, "topic"),
        "head_repository_id": 1,
        "style": "fast-forward-only",
    }
    answer = await ann.internal("POST", "1/merge", body)
    assert (answer.status_code, "has no verified signature" in answer.text) == (405, True)
    assert await tip_of(ann) == before


async def test_commits_that_are_signed_by_their_committers_are_pushed_and_merged(
    world, ann, base, git_url, work
):
    await protect(ann, "master", enable_push=True, require_signed_commits=True)
    key, other = SshKey(), SshKey()
    register(world, key)
    register(world, other, "bob@example.org")
    repo, parent = opened(world, base), await tip_of(ann)
    for number, (signer, code) in enumerate(((other, 1), (key, 0))):
        oid = signed_commit(repo, f"commit {number}", signer.sign, parent)
        repo.references.create(f"refs/heads/signed-{number}", oid)
        await git("fetch", "-q", f"{git_url}/ann/app.git", f"signed-{number}", cwd=work, person=ann)
        refused, output = await push(ann, git_url, work, "FETCH_HEAD:refs/heads/master")
        assert refused == code, output
    head = signed_commit(repo, "to merge", key.sign, oid)
    repo.references.create("refs/heads/topic", head, force=True)
    body = PULL | {"head_sha": head, "head_repository_id": base, "style": "fast-forward-only"}
    answer = await ann.internal("POST", f"{base}/merge", body)
    assert (answer.status_code, answer.json().get("sha")) == (200, head), answer.text


async def test_a_push_that_nobody_judges_is_refused(tmp_path):
    assert await run_hook(tmp_path, "{}") == (1, UNKNOWN)


@pytest.mark.parametrize("is_full", [False, True])
async def test_a_push_does_not_wait_for_a_process_that_was_killed(tmp_path, is_full):
    fifo = tmp_path / "questions" / process_name() / "asked"
    fifo.parent.mkdir(parents=True)
    os.mkfifo(fifo)
    descriptor = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
    try:
        if is_full:
            with contextlib.suppress(BlockingIOError):
                while os.write(descriptor, b"\n" * 4096):
                    pass
        async with asyncio.timeout(20):
            assert await run_hook(tmp_path, "{}", **{ANSWER_SECONDS: "0.1"}) == (1, UNKNOWN)
        assert [file.name for file in fifo.parent.iterdir()] == ["asked"]
    finally:
        os.close(descriptor)


@pytest.mark.parametrize(
    ("reason", "shown"), [(ValueError("no answer"), UNKNOWN), (OSError(), UNKNOWN), ("no \udcff", "no ?")]
)
async def test_a_push_does_not_wait_for_an_answer_that_fails(tmp_path, reason, shown):
    async def answer(question, change):
        if isinstance(reason, Exception):
            raise reason
        return reason

    questions = HookQuestions(tmp_path, answer, answer)
    await questions.open()
    try:
        assert await run_hook(tmp_path, "{}", **{ANSWER_SECONDS: "20"}) == (1, shown)
    finally:
        await questions.close()


async def test_a_question_that_cannot_be_read_is_answered(tmp_path):
    async def answer(question, change):
        return ""

    questions = HookQuestions(tmp_path, answer, answer)
    await questions.open()
    own = tmp_path / "questions" / process_name() / "own"
    own.mkdir()
    (own / "question").write_text("refs/heads/master\n")
    os.mkfifo(own / "answer")
    descriptor = os.open(own / "answer", os.O_RDWR)
    try:
        (own.parent / "asked").write_text("own\n")
        line = await asyncio.wait_for(asyncio.to_thread(os.read, descriptor, 1000), 20)
        assert line.decode().strip() == f"-{UNKNOWN}"
    finally:
        os.close(descriptor)
        await questions.close()


async def test_a_question_without_an_answer_refuses_the_push(world, questions):
    root = world.components.storage.root
    assert await run_hook(root, '{"repository_id": 1}') == (1, UNKNOWN)
    assert [file.name for file in root.glob("questions/*/*")] == ["asked"]
    await questions.close()
    assert not list((root / "questions").iterdir())


@pytest.mark.parametrize("field", ["protected_file_patterns", "unprotected_file_patterns"])
async def test_patterns_that_mean_nothing_are_refused(ann, base, field):
    for patterns in ("a;[b", "a\x01", ";".join(map(str, range(51))), "{a,b"):
        answer = await ann.post("/repos/ann/app/branch_protections", {"rule_name": "x", field: patterns})
        assert (answer.status_code, field in answer.text) == (422, True)
    rule = await protect(ann, "x", **{field: "a;b/**"})
    assert rule[field] == "a;b/**"


def test_processes_of_two_containers_have_different_names():
    """The containers of a pod have one host name, and each process is the first one of its own."""
    code = (
        "import os; os.getpid = lambda: 1\nfrom ingot_git.hooks.hook_questions import process_name\n"
        "print(process_name())"
    )
    names = {
        subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout for _ in range(2)
    }
    assert len(names) == 2
