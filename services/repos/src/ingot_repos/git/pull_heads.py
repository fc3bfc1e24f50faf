"""The ref that keeps the head of a pull request: `refs/pull/7/head`, or one that nobody fetches when it was closed without a merge.

What was closed can still be looked at, so the API reads both.
"""

from typing import Literal

import pygit2

from ingot_repos.git.configuration import CLOSED_PULLS
from ingot_repos.git.refs import ZERO_OID, RefChange, ref_target

PULLS = "refs/pull/"
HeadState = Literal["visible", "hidden", "gone"]


def visible_ref(number: int) -> str:
    return f"{PULLS}{number}/head"


def hidden_ref(number: int) -> str:
    return f"{CLOSED_PULLS}{number}/head"


def head_ref(repo: pygit2.Repository, number: int) -> str:
    """The one of the two that keeps the head. Only `changes_of_state` lead from one to the other."""
    hidden = hidden_ref(number)
    return visible_ref(number) if ref_target(repo, hidden) is None else hidden


def changes_of_state(repo: pygit2.Repository, number: int, state: HeadState) -> list[RefChange]:
    """What brings the head of a pull request into a state; nothing if it is there, or no head is stored.

    Where there are both refs, a comparison that began before has written the visible one, so that is the later one.
    """
    names = {"visible": visible_ref(number), "hidden": hidden_ref(number)}
    tips = {name: tip for name in names.values() if (tip := ref_target(repo, name)) is not None}
    target = names.get(state, "")
    changes = [RefChange(name, tip, ZERO_OID) for name, tip in tips.items() if name != target]
    latest, before = next(iter(tips.values()), ZERO_OID), tips.get(target, ZERO_OID)
    if target and latest != before:
        changes.append(RefChange(target, before, latest))
    return changes
