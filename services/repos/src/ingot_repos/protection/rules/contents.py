"""Checks of commits against branch rules: signatures, and files that must not change.

The rules have the fields ``require_signed_commits``, ``protected_file_patterns`` and
``unprotected_file_patterns``. Pushes over HTTP and SSH, changes by the API and merges are checked here before
the branch moves.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection, Sequence
from functools import partial
from typing import Any

import msgspec
import structlog

from ingot_chassis.errors import Denied
from ingot_git.hooks.hook_questions import UNKNOWN
from ingot_git.hooks.new_contents import MOST_COMMITS, NewCommit, NewContents, new_contents
from ingot_git.hooks.update_hook import RefRefusal
from ingot_git.refs.refs import BRANCHES, RefChange
from ingot_git.storage.storage import Storage
from ingot_repos.commits.rules.signatures import Signatures, Signed
from ingot_repos.protection.rules import globs

log = structlog.get_logger()

MOST_PATTERNS = 50
_SHOWN = 12
_MOST_STEPS = 5_000_000
"""Limit of steps of ``globs``: a few seconds of CPU time."""


Read = Callable[..., Awaitable[Any]]
"""Runs a function on a repository that has the commits of a change (see `Storage.call`)."""


class _TooManySteps(Exception):
    """The patterns need more work than a push may cause."""


class ContentRule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The conditions of a rule for contents. Patterns match paths in any letter case.

    ``earlier`` is set for a new branch: the patterns of rules with a higher priority, which protect their
    branches instead of this rule.

    ``refusal`` is the reason why the actor may not push. If it is set, each new commit may change only
    ``unprotected`` files, and at least one file must change.
    """

    repository_id: int
    rule_name: str
    signed: bool = False
    protected: tuple[str, ...] = ()
    unprotected: tuple[str, ...] = ()
    refusal: str = ""
    earlier: tuple[str, ...] = ()

    def question(self) -> str:
        """Return the rule as text. The hook of a push passes it to ``ContentJudge.answer``."""
        return msgspec.json.encode(self).decode()


class ContentJudge:
    """A checker of changes against a ``ContentRule``."""

    def __init__(self, storage: Storage, signatures: Signatures) -> None:
        self._storage, self._signatures = storage, signatures

    async def answer(self, question: str, change: RefChange) -> str:
        """Return the reason to refuse a change of a push; empty if it is allowed.

        Never raises. On an error it returns a refusal.
        """
        try:
            return await self.refusal(msgspec.json.decode(question, type=ContentRule), change)
        except Exception:
            log.exception("the contents of a push were not judged")
            return UNKNOWN

    async def require(self, refusals: Sequence[RefRefusal], changes: Sequence[RefChange], read: Read) -> None:
        """Raise Denied with the reason if the contents of a change are not allowed."""
        by_ref = {change.name: change for change in changes}
        for refusal in refusals:
            if refusal.question:
                rule = msgspec.json.decode(refusal.question, type=ContentRule)
                if reason := await self.refusal(rule, by_ref[refusal.ref], read):
                    raise Denied(reason)

    async def refusal(self, rule: ContentRule, change: RefChange, read: Read | None = None) -> str:
        """Return the reason to refuse a change; empty if it is allowed.

        Calls identity at most once.
        """
        read = read or partial(self._storage.call, rule.repository_id)
        contents: NewContents = await read(
            new_contents,
            change.before,
            change.after,
            _is_of(rule),
            with_commits=rule.signed,
            with_files=bool(rule.protected or rule.refusal),
            # Checked per commit: a merge or a revert must not bring in a change that could not be pushed
            # alone.
            of_each_commit=bool(rule.refusal),
        )
        text = f"the rule {rule.rule_name!r} protects the branch {change.name.removeprefix(BRANCHES)!r}"
        if contents.commits is None:
            return f"{text}: more than {MOST_COMMITS} new commits cannot be checked; push them in parts"
        if unverified := await self._unverified(rule.repository_id, contents.commits):
            return f"{text}: the commit {unverified[:_SHOWN]} has no verified signature"
        if contents.files is None:
            return f"{text}: too many files change to be checked; push them in parts"
        try:
            reason = await asyncio.to_thread(_refusal_of_files, rule, sorted(contents.files))
        except _TooManySteps:
            return f"{text}: comparing the changed files with its patterns takes too long; push them in parts"
        return f"{text}: {reason}" if reason else ""

    async def _unverified(self, repository_id: int, commits: Collection[NewCommit]) -> str:
        """Return the id of the first commit without a verified signature; empty if there is none."""
        signed = {
            commit.oid: Signed(commit.signature, commit.email)
            for commit in commits
            if commit.signature is not None
        }
        if len(signed) == len(commits):
            verifications = await self._signatures.verify(repository_id, signed)
            signed = {oid: one for oid, one in signed.items() if verifications[oid].verified}
        return next((commit.oid for commit in commits if commit.oid not in signed), "")


def read_patterns(text: str) -> tuple[str, ...]:
    """Split a field into patterns at semicolons and newlines. A leading slash is dropped."""
    parts = (part.strip().lower().removeprefix("/") for part in re.split(r"[;\n]", text))
    return tuple(part for part in parts if part)


def _is_of(rule: ContentRule) -> Callable[[str], bool]:
    """Return a function that takes the name of a branch, and returns True if the rule protects it.

    After too many comparisons of names, the function returns False.
    """
    own, earlier = _Patterns([rule.rule_name]), _Patterns(rule.earlier)

    def protects(name: str) -> bool:
        try:
            return own.match(name) and not earlier.match(name)
        except _TooManySteps:  # more commits of a new branch then count as new, which is safe
            return False

    return protects


def _refusal_of_files(rule: ContentRule, files: Sequence[str]) -> str:
    """Return the reason to reject changes of these files; empty if the changes are allowed.

    Raises _TooManySteps. Blocks the thread.
    """
    protected, unprotected = _Patterns(rule.protected), _Patterns(rule.unprotected)
    for file in files:
        if protected.match(file.lower()):
            return f"the file {file!r} must not change"
    if not rule.refusal:
        return ""
    # Without files a push could still move the branch to other commits.
    may_change = files and all(unprotected.match(file.lower()) for file in files)
    return "" if may_change else rule.refusal


class _Patterns:
    """A matcher of paths with several patterns. It compares prefix and suffix first, which is cheap."""

    def __init__(self, patterns: Collection[str]) -> None:
        self._names = {pattern for pattern in patterns if globs.is_plain(pattern)}
        self._others = [(pattern, *_ends(pattern)) for pattern in patterns if not globs.is_plain(pattern)]
        self._steps = 0

    def match(self, name: str) -> bool:
        """Return whether a pattern matches. Raises _TooManySteps after too many comparisons."""
        return name in self._names or any(
            name.startswith(head) and name.endswith(tail) and self._compare(pattern, name)
            for pattern, head, tail in self._others
        )

    def _compare(self, pattern: str, name: str) -> bool:
        self._steps += len(name) * globs.steps(pattern)
        if self._steps > _MOST_STEPS:
            raise _TooManySteps
        return globs.matches(pattern, name)


def _ends(pattern: str) -> tuple[str, str]:
    """Return the prefix and suffix that a matching name must have; empty if the pattern is complex."""
    if any(char in pattern for char in "[]{}\\"):
        return "", ""
    return re.split(r"[*?]", pattern)[0], re.split(r"[*?]", pattern)[-1]
