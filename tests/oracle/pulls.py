"""Pull requests: whether they can be merged, what they have, and what each style of merge makes of them."""

import base64
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import quote

from .comparisons import Question, Status
from .ingot import Repository
from .plain import EMPTY_TREE, Plain

STYLES = (
    "merge",
    "squash",
    "rebase",
    "rebase-merge",
    "fast-forward-only",
    "update by merge",
    "update by rebase",
)
REFUSED = "refused"
PREFIX = "merges"


@dataclass(frozen=True)
class Pair:
    """Two commits to merge, and the branches of their own that have them."""

    number: int
    style: str
    base: str
    head: str

    @property
    def base_branch(self) -> str:
        return f"{PREFIX}/{self.number}/base"

    @property
    def head_branch(self) -> str:
        return f"{PREFIX}/{self.number}/head"


@dataclass
class Pulls:
    """The questions about one repository, which gets a pull request for each pair."""

    plain: Plain
    repository: Repository
    random: random.Random
    most: int
    pairs: list[Pair] = field(default_factory=list)

    def __post_init__(self) -> None:
        commits = sorted(self.plain.reachable)
        every = [(base, head) for base in commits for head in commits if self.plain.graph.between(base, head)]
        tips = sorted(set(self.plain.tips.values()))
        apart = [pair for pair in every if self.plain.graph.between(pair[1], pair[0])]
        of_tips = [pair for pair in apart if pair[0] in tips and pair[1] in tips]
        chosen = [
            *self.random.sample(of_tips, min(len(of_tips), self.most // 2)),
            *self.random.sample(apart, min(len(apart), self.most // 2)),
            *self.random.sample(every, min(len(every), 2)),
        ][: self.most]
        styles = [*STYLES]
        self.random.shuffle(styles)
        self.pairs = [
            Pair(number, styles[number % len(styles)], *pair)
            for number, pair in enumerate(dict.fromkeys(chosen))
        ]

    def refspecs(self) -> list[str]:
        """Return the refs that must be pushed first."""
        return [
            refspec
            for pair in self.pairs
            for refspec in (
                f"{pair.base}:refs/heads/{pair.base_branch}",
                f"{pair.head}:refs/heads/{pair.head_branch}",
            )
        ]

    def questions(self) -> Iterator[Question]:
        for pair in self.pairs:
            new = {"title": f"Merge {pair.number}", "head": pair.head_branch, "base": pair.base_branch}
            answer = self.repository.post("pulls", new)
            text = f"pull request of {pair.head[:12]} into {pair.base[:12]}"
            if answer.status_code != 201:
                yield Question(
                    "pull", text, lambda: Status(201), lambda answer=answer: Status(answer.status_code)
                )
                continue
            pull = answer.json()
            yield Question(
                "pull.mergeable", text, partial(self._is_mergeable, pair), lambda pull=pull: pull["mergeable"]
            )
            yield from self._contents(pair, pull["number"], text)
            yield self._merge(pair, pull["number"], text)

    def _is_mergeable(self, pair: Pair) -> bool:
        return self.plain.merged_tree(pair.base, pair.head) is not None

    def _contents(self, pair: Pair, number: int, text: str) -> Iterator[Question]:
        """Its commits, files and texts."""
        graph = self.plain.graph
        rest = graph.between(pair.base, pair.head)
        yield Question(
            "pull.commits", f"commits of {text}", lambda: (len(rest), sorted(rest)[:50]),
            partial(self._answered_commits, number),
        )  # fmt: skip
        bases = sorted(graph.merge_bases(pair.base, pair.head)) or [EMPTY_TREE]
        yield Question(
            "pull.files", f"files of {text}", lambda: self._files(bases[0], pair.head),
            partial(self._answered_files, number), lambda: [self._files(one, pair.head) for one in bases],
        )  # fmt: skip
        yield Question(
            "pull.diff", f"diff of {text}", lambda: self._diff(bases[0], pair.head),
            partial(self.repository.bytes, "pulls", f"{number}.diff", binary="true"),
            lambda: [self._diff(one, pair.head) for one in bases],
        )  # fmt: skip
        if not any(len(graph.parents[oid]) > 1 for oid in rest):
            yield Question(
                "pull.patch", f"patch of {text}", lambda: self._patches(rest),
                partial(self._answered_patches, number),
            )  # fmt: skip

    def _answered_commits(self, number: int) -> Any:
        path = ("pulls", str(number), "commits")
        answer = self.repository.get(*path, limit=50, files="false", stat="false", verification="false")
        if answer.status_code != 200:
            return Status(answer.status_code)
        return int(answer.headers["X-Total-Count"]), sorted(one["sha"] for one in answer.json())[:50]

    def _files(self, before: str, after: str) -> Any:
        fields = self.plain.git("diff-tree", "-r", "-z", "--name-status", "-M", before, after)
        words, files = iter(fields.decode("utf-8", "replace").split("\0")[:-1]), []
        for status in words:
            old = next(words) if status[0] in "RC" else ""
            files.append(
                (next(words), old, {"A": "added", "D": "deleted", "R": "renamed"}.get(status[0], "changed"))
            )
        return sorted(files)[:50]

    def _answered_files(self, number: int) -> Any:
        answer = self.repository.json("pulls", str(number), "files", limit=50)
        if isinstance(answer, Status):
            return answer
        return sorted((one["filename"], one["previous_filename"], one["status"]) for one in answer)[:50]

    def _diff(self, before: str, after: str) -> bytes:
        return self.plain.git("diff", "--binary", "--abbrev=7", "-M", before, after)

    def _patches(self, rest: frozenset[str]) -> list[str] | Status:
        """The ids that a mailbox names: an empty commit has no patch. 422 where git refuses a date."""
        if rest and self.plain.mailbox(["--root", "--no-walk=unsorted", *rest]) is None:
            return Status(422)
        return sorted(oid for oid in rest if self._has_changes(oid))

    def _has_changes(self, oid: str) -> bool:
        parents = self.plain.graph.parents[oid]
        before = self.plain.commit(parents[0]).tree if parents else EMPTY_TREE
        return self.plain.commit(oid).tree != before

    def _answered_patches(self, number: int) -> Any:
        answer = self.repository.bytes("pulls", f"{number}.patch")
        if isinstance(answer, Status):
            return answer
        end = b" Mon Sep 17 00:00:00 2001"
        lines = [line for line in answer.split(b"\n") if line.startswith(b"From ") and line.endswith(end)]
        return sorted(line[5:45].decode() for line in lines)

    def _merge(self, pair: Pair, number: int, text: str) -> Question:
        kind = f"merge.{pair.style.replace(' ', '-')}"
        return Question(
            kind,
            f"{pair.style}: {text}",
            partial(self._expected, pair),
            partial(self._answered_merge, pair, number),
        )

    def _expected(self, pair: Pair) -> Any:
        """The tree of the new tip, and what else is sure of it."""
        base, head, graph = pair.base, pair.head, self.plain.graph
        match pair.style:
            case "merge":
                tree = self.plain.merged_tree(base, head)
                return REFUSED if tree is None else (tree, [base, head])
            case "squash":
                tree = self.plain.merged_tree(base, head)
                return REFUSED if tree is None else (tree, [base])
            case "fast-forward-only":
                return head if base in graph.ancestors(head) else REFUSED
            case "update by merge":
                if base in graph.ancestors(head):
                    return head
                tree = self.plain.merged_tree(head, base)
                return REFUSED if tree is None else (tree, [head, base])
            case _:
                return self._replayed(pair, base in graph.ancestors(head))

    def _replayed(self, pair: Pair, is_ahead: bool) -> Any:
        """Return the result of a rebase: tree, and the messages of the new commits, oldest first.

        A commit whose changes the base has already is left out, and merges are.
        """
        order = self._order(pair)
        if is_ahead:
            tree = self.plain.commit(pair.head).tree
            return (tree, pair.head) if pair.style != "rebase-merge" else (tree, [pair.base, pair.head])
        tree, messages = self.plain.commit(pair.base).tree, []
        for oid in order:
            raw = self.plain.commit(oid)
            before = self.plain.commit(raw.parents[0]).tree if raw.parents else EMPTY_TREE
            replayed = self.plain.replayed_tree(before, raw.tree, tree)
            if replayed is None:
                return REFUSED
            if replayed != tree or raw.tree == before:
                messages.append(raw.message)
            tree = replayed
        return tree, messages

    def _order(self, pair: Pair) -> list[str]:
        """Commits to replay, as git-rebase(1) does, whose walk through all commits goes by no date.

        A commit is left out if a commit of the base alone has the same patch.
        """
        graph = self.plain.graph
        rest = graph.between(pair.base, pair.head)
        lines = self.plain.git("rev-list", "--topo-order", "--reverse", pair.head).decode().split()
        own = [oid for oid in lines if oid in rest and len(graph.parents[oid]) < 2]
        patches = self.plain.patch_ids([*own, *graph.between(pair.head, pair.base)])
        of_base = {patches.get(oid) for oid in graph.between(pair.head, pair.base)} - {None}
        return [oid for oid in own if patches.get(oid) not in of_base]

    def _answered_merge(self, pair: Pair, number: int) -> Any:
        is_update = pair.style.startswith("update")
        branch = pair.head_branch if is_update else pair.base_branch
        before = pair.head if is_update else pair.base
        if is_update:
            style = pair.style.rpartition(" ")[2]
            answer = self.repository.post(f"pulls/{number}/update?style={style}", {})
        else:
            body = {"do": pair.style, "MergeTitleField": "", "head_commit_id": pair.head}
            answer = self.repository.post(f"pulls/{number}/merge", body)
        if answer.status_code >= 500 or answer.status_code in (400, 401, 403, 404, 422):
            return Status(answer.status_code)
        refs = f"refs/heads/{branch}"
        self.plain.git("fetch", "-q", self.repository.url, f"+{refs}:refs/fetched/{pair.number}")
        tip = self.plain.git("rev-parse", f"refs/fetched/{pair.number}").decode().strip()
        self.plain.git("update-ref", "-d", f"refs/fetched/{pair.number}")
        if answer.status_code != 200:
            return REFUSED if tip == before else f"{answer.status_code}, and the branch moved"
        if tip in self.plain.graph.parents and pair.style in ("fast-forward-only", "update by merge"):
            return tip
        raw = self.plain.commit(tip)
        if pair.style not in ("rebase", "rebase-merge", "update by rebase"):
            return raw.tree, list(raw.parents)
        return self._answered_replay(pair, tip)

    def _answered_replay(self, pair: Pair, tip: str) -> Any:
        raw, is_ahead = self.plain.commit(tip), pair.base in self.plain.graph.ancestors(pair.head)
        if is_ahead:
            return (raw.tree, tip) if pair.style != "rebase-merge" else (raw.tree, list(raw.parents))
        at, messages = tip, []
        if pair.style == "rebase-merge" and tip != pair.base:
            at = raw.parents[1]
        while at != pair.base:
            one = self.plain.commit(at)
            messages.append(one.message)
            at = one.parents[0]
        return raw.tree, messages[::-1]


@dataclass
class Writes:
    """Changes of files over the API: the trees that come of them are those that git makes."""

    plain: Plain
    repository: Repository
    random: random.Random

    def questions(self) -> Iterator[Question]:
        tip = self.plain.refs["refs/heads/main"]
        paths = sorted(
            path
            for path, entry in self.plain.files(tip).items()
            if entry.kind == "blob" and entry.mode.startswith("100") and _is_plain(path)
        )
        for path in self.random.sample(paths, min(2, len(paths))):
            entry = self.plain.files(tip)[path]
            for method, data in (("PUT", b"written\n"), ("DELETE", None)):
                yield Question(
                    "write", f"{method} contents/{path!r}", partial(self._tree, tip, path, data),
                    partial(self._answered_tree, method, path, entry.oid, data),
                )  # fmt: skip
        if not self.plain.at(tip, "new") and not self.plain.at(tip, "new/file"):
            yield Question(
                "write", "POST contents/new/file", partial(self._tree, tip, "new/file", b"new\n"),
                partial(self._answered_tree, "POST", "new/file", "", b"new\n"),
            )  # fmt: skip
        for oid in self.random.sample(
            sorted(self.plain.graph.ancestors(tip)), min(2, len(self.plain.graph.ancestors(tip)))
        ):
            yield Question(
                "revert",
                f"commits/{oid}/revert",
                partial(self._reverted, tip, oid),
                partial(self._answered_revert, oid),
            )

    def _tree(self, tip: str, path: str, data: bytes | None) -> str:
        return self.plain.tree_with(self.plain.commit(tip).tree, path.encode(), data)

    def _answered_tree(self, method: str, path: str, oid: str, data: bytes | None) -> Any:
        body: dict[str, Any] = {"branch": "main", "new_branch": self._branch(), "message": "Write"}
        if data is not None:
            body["content"] = _base64(data)
        if oid:
            body["sha"] = oid
        answer = self.repository.post(f"contents/{quote(path)}", body, method)
        if answer.status_code not in (200, 201):
            return Status(answer.status_code), answer.text
        return answer.json()["commit"]["tree"]["sha"]

    def _branch(self) -> str:
        return f"writes/{self.random.randrange(2**40):x}"

    def _reverted(self, tip: str, oid: str) -> str:
        raw, own = self.plain.commit(oid), self.plain.commit(tip).tree
        before = self.plain.commit(raw.parents[0]).tree if raw.parents else EMPTY_TREE
        tree = self.plain.replayed_tree(raw.tree, before, own)
        return REFUSED if tree is None or tree == own else tree

    def _answered_revert(self, oid: str) -> Any:
        answer = self.repository.post(
            f"commits/{oid}/revert", {"branch": "main", "new_branch": self._branch()}
        )
        if answer.status_code == 409:
            return REFUSED
        return (
            answer.json()["commit"]["tree"]["sha"]
            if answer.status_code == 201
            else Status(answer.status_code)
        )


def _is_plain(path: str) -> bool:
    """True if the API writes files of that name: it refuses control characters and backslashes."""
    return not any(letter in path for letter in "\n\t\\") and path.strip() == path


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
