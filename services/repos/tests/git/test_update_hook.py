"""The hook that refuses refs of a push: what it reads, and what it prints."""

import os
import subprocess
import sys

import pytest

from ingot_git.hooks.update_hook import RefRefusal, hook_environment, hooks_folder

from ..world import commit, git, work_tree


@pytest.fixture
def update(tmp_path):
    script = hooks_folder(tmp_path) / "update"

    def run(refusals, ref):
        environment = os.environ | hook_environment(refusals)
        ended = subprocess.run(
            [script, ref, "0" * 40, "1" * 40], env=environment, capture_output=True, text=True, check=False
        )
        return ended.returncode, ended.stderr.strip()

    return run


def test_a_ref_is_refused_with_its_reason_and_the_others_pass(update):
    refusals = [RefRefusal("refs/heads/main", "the rule 'main' protects it")]
    assert update(refusals, "refs/heads/main") == (1, "the rule 'main' protects it")
    assert update(refusals, "refs/heads/other") == (0, "")


def test_a_reason_with_control_characters_still_refuses(update):
    code, reason = update([RefRefusal("refs/heads/main", "a\nb\tc\x7f")], "refs/heads/main")
    assert (code, reason) == (1, "a?b?c?")


def test_more_refusals_than_a_variable_takes_refuse_the_whole_push(update):
    refusals = [RefRefusal(f"refs/heads/{number}", "protected " * 10) for number in range(5_000)]
    for ref in ("refs/heads/7", "refs/heads/free"):
        code, reason = update(refusals, ref)
        assert code == 1
        assert "5000 of these refs" in reason
    code, reason = update([RefRefusal("refs/heads/main", "", question="x" * 70_000)], "refs/heads/main")
    assert (code, "push fewer at once" in reason) == (1, True)


def test_a_push_of_which_nothing_may_move_names_each_ref_and_reason(tmp_path):
    refusals = [RefRefusal("refs/heads/a b", "no"), RefRefusal("refs/tags/v1", "never")]
    ended = subprocess.run(
        [hooks_folder(tmp_path) / "pre-receive"],
        input=f"{'0' * 40} {'1' * 40} refs/heads/a\n",
        env=os.environ | hook_environment(refusals, refuses_all=True),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (1, "refs/heads/a b: no\nrefs/tags/v1: never\n")


def test_a_volume_that_runs_no_hooks_is_refused(tmp_path):
    mounted = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs -o noexec tmpfs "$1" && shift && exec "$@"', "sh"]
    if subprocess.run([*mounted, tmp_path, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("no volume can be mounted here")
    program = (
        "import pathlib, ingot_git.hooks.update_hook as one; "
        f"one.hooks_folder(pathlib.Path({str(tmp_path)!r}))"
    )
    run = [*mounted, tmp_path, sys.executable, "-c", program]
    ended = subprocess.run(run, capture_output=True, text=True, check=False)
    assert f"HooksNotRun: {tmp_path} does not allow programs to run" in ended.stderr


@pytest.mark.parametrize("is_protected", [False, True])
@pytest.mark.parametrize("settings", [{"max_file_bytes": 1000}])
async def test_a_push_with_a_file_that_is_too_large_leaves_nothing(
    world, ann, git_url, tmp_path, is_protected
):
    created = await ann.create("app")
    if is_protected:
        await ann.post("/repos/ann/app/branch_protections", {"rule_name": "release", "enable_push": False})
    work, url = await work_tree(tmp_path), f"{git_url}/ann/app.git"
    await commit(work, "fine.txt", "x" * 1000)
    await git("push", "-q", url, "master", cwd=work, person=ann)
    await commit(work, "a b.bin", "y" * 1001)
    await commit(work, "c.txt", "small")
    (work / "a b.bin").unlink()
    await commit(work, "d.txt", "it was there before")
    code, said = await git("push", url, "master", "HEAD:release", cwd=work, person=ann, check=False)
    assert (code, "the file a b.bin has 1001 bytes; 1000 are allowed" in said) == (1, True), said
    assert "[remote rejected] master -> master (pre-receive hook declined)" in said
    path = world.components.storage.path(created["id"])
    blob = (await git("rev-parse", "HEAD~1:a b.bin", cwd=work)).strip()
    code, _ = await git(f"--git-dir={path}", "cat-file", "-e", blob, cwd=tmp_path, check=False)
    assert code == 1
    await git("push", "-q", url, "HEAD~3:refs/heads/topic", cwd=work, person=ann)
    await git("push", "-q", url, ":topic", cwd=work, person=ann)
    assert await world.rows("push") == []


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize("settings", [{"max_file_bytes": 1000}])
@pytest.mark.parametrize("options", [(), ("-a", "-m", "a tag")])
async def test_a_tag_of_a_file_that_is_too_large_is_refused(ann, git_url, tmp_path, options):
    await ann.create("app")
    work, url = await work_tree(tmp_path), f"{git_url}/ann/app.git"
    await commit(work, "a.txt")
    (work / "large").write_text("y" * 1001)
    (work / "fine").write_text("x" * 1000)
    for name in ("large", "fine"):
        blob = (await git("hash-object", "-w", name, cwd=work)).strip()
        await git("tag", *options, name, blob, cwd=work)
    code, said = await git("push", url, "large", cwd=work, person=ann, check=False)
    assert (code, "bytes; 1000 are allowed" in said, "has 1001" in said) == (1, True, True), said
    await git("push", "-q", url, "fine", cwd=work, person=ann)
    assert (await git("ls-remote", url, cwd=work, person=ann)).endswith(
        "refs/tags/fine" + ("^{}\n" if options else "\n")
    )
