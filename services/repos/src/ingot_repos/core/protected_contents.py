"""What a rule demands of the commits that a branch gets: signatures, and files that stay as they are.

The fields ``require_signed_commits``, ``protected_file_patterns`` and ``unprotected_file_patterns``. Pushes over HTTP and SSH,
changes by the API and merges are all judged here, before the branch moves.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection, Sequence
from functools import partial
from typing import Any

import msgspec
import structlog

from ingot_chassis.errors import Denied
from ingot_repos.clients.identity import HttpIdentity
from ingot_repos.core import globs
from ingot_repos.core.signatures import Signed, verify_all
from ingot_repos.git.hook_questions import UNKNOWN
from ingot_repos.git.new_contents import MOST_COMMITS, NewCommit, NewContents, new_contents
from ingot_repos.git.read_cache import SharedCache
from ingot_repos.git.refs import BRANCHES, RefChange
from ingot_repos.git.storage import Storage
from ingot_repos.git.update_hook import RefRefusal

log = structlog.get_logger()

MOST_PATTERNS = 50
_SHOWN = 12
_MOST_STEPS = 5_000_000
"""Steps of ``globs``, some seconds of work."""


Read = Callable[..., Awaitable[Any]]
"""Runs a function, with its arguments, on a repository that has the commits of a change (see `Storage.call`)."""


class _TooMuch(Exception):
    """The patterns ask for more work than a push may make."""


class ContentRule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Patterns are of paths, any case of letters.

    ``earlier``, for a new branch, are the names of rules before this one: what they name, this one does not protect.

    With ``refusal``, which says why, nothing but ``unprotected`` files may change, in no commit that comes, and one must.
    """

    repository_id: int
    rule_name: str
    signed: bool = False
    protected: tuple[str, ...] = ()
    unprotected: tuple[str, ...] = ()
    refusal: str = ""
    earlier: tuple[str, ...] = ()

    def question(self) -> str:
        """The rule as the hook of a push passes it on to ``ContentJudge.answer``."""
        return msgspec.json.encode(self).decode()


class ContentJudge:
    """Decides by ``ContentRule``; ``verdicts`` are those of ``verify_all``."""

    def __init__(self, storage: Storage, identity: HttpIdentity, verdicts: SharedCache[bool]) -> None:
        self._storage, self._identity, self._verdicts = storage, identity, verdicts

    async def answer(self, question: str, change: RefChange) -> str:
        """Why a push may not make the change; nothing if it may. Never raises: what is not known is refused."""
        try:
            return await self.refusal(msgspec.json.decode(question, type=ContentRule), change)
        except Exception:
            log.exception("the contents of a push were not judged")
            return UNKNOWN

    async def require(self, refusals: Sequence[RefRefusal], changes: Sequence[RefChange], read: Read) -> None:
        """Raises Denied, with the reason, if one of the changes is refused for its contents."""
        by_ref = {change.name: change for change in changes}
        for refusal in refusals:
            if refusal.question:
                rule = msgspec.json.decode(refusal.question, type=ContentRule)
                if reason := await self.refusal(rule, by_ref[refusal.ref], read):
                    raise Denied(reason)

    async def refusal(self, rule: ContentRule, change: RefChange, read: Read | None = None) -> str:
        """Why the change may not be made; nothing if it may. One question to identity at most."""
        read = read or partial(self._storage.call, rule.repository_id)
        contents: NewContents = await read(
            new_contents,
            change.before,
            change.after,
            _is_of(rule),
            with_commits=rule.signed,
            with_files=bool(rule.protected or rule.refusal),
            # A branch must not get, by a merge or by what is taken back, what nobody could push alone.
            of_each_commit=bool(rule.refusal),
        )
        text = f"the rule {rule.rule_name!r} protects the branch {change.name.removeprefix(BRANCHES)!r}"
        if contents.commits is None:
            return f"{text}: more than {MOST_COMMITS} new commits are not looked at; push them in parts"
        if unverified := await self._unverified(contents.commits):
            return f"{text}: the commit {unverified[:_SHOWN]} has no verified signature"
        if contents.files is None:
            return f"{text}: more files change than are looked at; push them in parts"
        try:
            reason = await asyncio.to_thread(_refusal_of_files, rule, sorted(contents.files))
        except _TooMuch:
            return f"{text}: to compare the files that change with its patterns takes too long; push them in parts"
        return f"{text}: {reason}" if reason else ""

    async def _unverified(self, commits: Collection[NewCommit]) -> str:
        """The first commit without a verified signature; nothing if there is none."""
        signed = {
            commit.oid: Signed(commit.signature, commit.email)
            for commit in commits
            if commit.signature is not None
        }
        if len(signed) == len(commits):
            verifications = await verify_all(self._identity, signed, self._verdicts)
            signed = {oid: one for oid, one in signed.items() if verifications[oid].verified}
        return next((commit.oid for commit in commits if commit.oid not in signed), "")


def read_patterns(text: str) -> tuple[str, ...]:
    """The patterns of a field, which semicolons part. A slash before the first folder says nothing."""
    parts = (part.strip().lower().removeprefix("/") for part in re.split(r"[;\n]", text))
    return tuple(part for part in parts if part)


def _is_of(rule: ContentRule) -> Callable[[str], bool]:
    """Whether the rule protects a branch. Where names are too many to be compared, no more of them are its own."""
    own, earlier = _Patterns([rule.rule_name]), _Patterns(rule.earlier)

    def protects(name: str) -> bool:
        try:
            return own.match(name) and not earlier.match(name)
        except _TooMuch:  # then rather too many commits of a new branch are new
            return False

    return protects


def _refusal_of_files(rule: ContentRule, files: Sequence[str]) -> str:
    """Why these files may not change; nothing if they may. Raises _TooMuch. Blocks."""
    protected, unprotected = _Patterns(rule.protected), _Patterns(rule.unprotected)
    for file in files:
        if protected.match(file.lower()):
            return f"the file {file!r} does not change"
    if not rule.refusal:
        return ""
    # A push without files would still let the branch lead to other commits.
    may_change = files and all(unprotected.match(file.lower()) for file in files)
    return "" if may_change else rule.refusal


class _Patterns:
    """Patterns of names. Few names get as far as a real comparison: how they begin and end is looked at first."""

    def __init__(self, patterns: Collection[str]) -> None:
        self._names = {pattern for pattern in patterns if globs.is_plain(pattern)}
        self._others = [(pattern, *_ends(pattern)) for pattern in patterns if not globs.is_plain(pattern)]
        self._steps = 0

    def match(self, name: str) -> bool:
        """Raises _TooMuch when this was compared too often."""
        return name in self._names or any(
            name.startswith(head) and name.endswith(tail) and self._compare(pattern, name)
            for pattern, head, tail in self._others
        )

    def _compare(self, pattern: str, name: str) -> bool:
        self._steps += len(name) * globs.steps(pattern)
        if self._steps > _MOST_STEPS:
            raise _TooMuch
        return globs.matches(pattern, name)


def _ends(pattern: str) -> tuple[str, str]:
    """What a name must begin and end with, as far as that is plain to see."""
    if any(char in pattern for char in "[]{}\\"):
        return "", ""
    return re.split(r"[*?]", pattern)[0], re.split(r"[*?]", pattern)[-1]
