"""Defaults of the contracts for fields that a response of an older release lacks."""

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple, get_args

import msgspec

from ingot_contracts.identity.accounts import User
from ingot_contracts.issues.issues import Comment, Issue
from ingot_contracts.issues.labels import Label, Milestone
from ingot_contracts.issues.pulls import PullRequest
from ingot_contracts.issues.reviews import PullReview, PullReviewComment
from ingot_contracts.repos.releases import Release
from ingot_contracts.repos.repositories import Repository

_REPOSITORY = "/repos/[^/]+/[^/]+"
_SHAPES_BY_PATH: dict[str, type[msgspec.Struct]] = {
    # The first one that fits counts: the search is no repository.
    rf"{_REPOSITORY}/issues(/\d+(/dependencies|/blocks)?|/pinned)?|/repos/issues/search": Issue,
    rf"{_REPOSITORY}(/forks)?|/repos/search|/user/repos|/(users|teams|orgs)/[^/]+/repos": Repository,
    r"/user|/users/[^/]+(/followers)?|/admin/users|/(orgs|teams)/[^/]+/members": User,
    rf"{_REPOSITORY}/(stargazers|subscribers|collaborators|assignees)": User,
    rf"{_REPOSITORY}/releases(/\d+|/latest|/tags/.+)?": Release,
    rf"{_REPOSITORY}/issues/comments/\d+": Comment,
    rf"({_REPOSITORY}|/orgs/[^/]+)/labels": Label,
    rf"{_REPOSITORY}/milestones(/\d+)?": Milestone,
    rf"{_REPOSITORY}/pulls/(\d+|pinned)": PullRequest,
    rf"{_REPOSITORY}/pulls/\d+/reviews(/\d+)?": PullReview,
    rf"{_REPOSITORY}/pulls/(\d+/comments|comments/\d+)": PullReviewComment,
}
SHAPES = tuple((re.compile(path), shape) for path, shape in _SHAPES_BY_PATH.items())
"""API paths with the struct of the response, which is one such struct or a list of them."""


class _Field(NamedTuple):
    """A field that a response may lack, or that contains other structs."""

    name: str
    default: Callable[[], Any] | None
    shape: type[msgspec.Struct] | None


def shape_of(path: str) -> type[msgspec.Struct] | None:
    """Return the struct of a response to GET ``path``; None if no contract defines it."""
    return next((shape for pattern, shape in SHAPES if pattern.fullmatch(path)), None)


def complete(answer: Any, shape: type[msgspec.Struct]) -> None:
    """Add default values of missing fields to ``answer``, which is one ``shape`` or a list of them."""
    if isinstance(answer, list):
        for one in answer:
            complete(one, shape)
    elif isinstance(answer, dict):
        for name, default, inner in _fields(shape):
            if name not in answer:
                if default is not None:
                    answer[name] = default()
            elif inner is not None:
                complete(answer[name], inner)


@cache
def _fields(shape: type[msgspec.Struct]) -> tuple[_Field, ...]:
    fields = [
        _Field(field.encode_name, _default(field), next(_structs(field.type), None))
        for field in msgspec.structs.fields(shape)
    ]
    return tuple(field for field in fields if field.default or field.shape)


def _default(field: msgspec.structs.FieldInfo) -> Callable[[], Any] | None:
    default, factory = field.default, field.default_factory
    if factory is not msgspec.NODEFAULT:
        return lambda: msgspec.to_builtins(factory())
    # An unset field is left out of answers: there is nothing to add.
    is_absent = default is msgspec.NODEFAULT or default is msgspec.UNSET
    return None if is_absent else lambda: msgspec.to_builtins(default)


def _structs(kind: Any) -> Iterator[type[msgspec.Struct]]:
    """Yield the structs in a type such as ``list[User] | None``."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        yield kind
    for part in get_args(kind):
        yield from _structs(part)
