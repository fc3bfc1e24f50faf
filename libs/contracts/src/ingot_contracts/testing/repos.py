"""The internal API of repos with data from tables: an ASGI app for tests of services that call repos."""

from collections.abc import Callable, MutableMapping, Sequence
from itertools import dropwhile
from typing import Any, TypeVar

import msgspec

from ingot_contracts.identity.units import Unit
from ingot_contracts.limits import DESCRIPTION_CHARACTERS, TEXT_CHARACTERS
from ingot_contracts.repos.access import (
    MOST_IDS,
    SERVED_UNITS,
    AccessLevel,
    Level,
    ReadableRepositories,
    Watchers,
    permission_of,
    reaches,
)
from ingot_contracts.repos.commits import (
    MOST_COMMIT_STATES,
    BranchTip,
    CheckedCommit,
    Commit,
    CommitAuthor,
    CommitStates,
)
from ingot_contracts.repos.comparisons import (
    MOST_HEADS,
    ChangedPath,
    ChangedPaths,
    Compare,
    CompareHeads,
    Comparison,
    Comparisons,
    PullHead,
)
from ingot_contracts.repos.conflicts import ConflictedFile, Conflicts, FindConflicts, ResolveConflicts
from ingot_contracts.repos.exports import ExportedLabels, ExportFile, ExportPage, ExportState
from ingot_contracts.repos.histories import History, HistoryCommit
from ingot_contracts.repos.imports import ImportFile, ImportPage, ReadImportFile, ReadImportPage
from ingot_contracts.repos.merge_rules import MergeRule
from ingot_contracts.repos.merges import Merge, Merged, OfficialReviewers, UpdateBranch, UpdatedBranch
from ingot_contracts.repos.range_diffs import CommitPair, RangeDiff
from ingot_contracts.repos.releases import PublishedRelease
from ingot_contracts.repos.repositories import Repository, RepositoryAccess
from ingot_contracts.testing.calls import (
    Caller,
    Receive,
    RecordedCall,
    Refusal,
    Send,
    body_of,
    error_body,
    id_of,
    parameter_of,
    read_body,
    recorded_call,
)

MOST_COMMITS = 1000
_B = TypeVar("_B", bound=msgspec.Struct)


class FakeRepos:
    """A fake with the routes of repos' internal API that issues, hooks and mail call.

    Tests may change the tables at any time. ``Ingot-Principal`` and ``Ingot-Service`` are read, but their
    signatures are not verified.
    """

    unavailable = False
    """True: every request gets 503."""
    conflicted_files: Sequence[ConflictedFile] = ()
    """Files in conflict of every merge of a base into a head branch."""

    largest_page = 1_000_000
    """Limit of characters of the texts of a page of an export."""

    def __init__(self) -> None:
        self.repositories: dict[int, Repository] = {}
        """Repository id to repository. Its ``has_issues`` and ``has_pull_requests`` switch units off."""
        self.levels: dict[tuple[int, int], Level | AccessLevel] = {}
        """Repository id and user id to level, or to access by unit.

        By default the owner owns it, and others read it unless it is private.
        """
        self.organizations: set[int] = set()
        """Ids of owners that are organizations."""
        self.administrators: set[int] = set()
        """Users who administer the site, for ``?user=``. The caller's principal has its own claim."""
        self.inactive: set[int] = set()
        """Users who may not sign in or do not exist, for ``?user=``."""
        self.unready: set[int] = set()
        """Repositories whose commits are not copied yet."""
        self.branches: dict[tuple[int, str], str] = {}
        """Repository id and branch to its tip. The next table has its protection."""
        self.releases: dict[tuple[int, int], PublishedRelease] = {}
        """Published releases by the ids of repository and release."""
        self.watchers: dict[int, list[int]] = {}
        """Repository id to user ids. ``teams`` has the teams of each repository."""
        self.teams, self.check_states = dict[int, list[int]](), dict[tuple[int, str], str]()
        """``check_states``: repository id and commit to the combined state of its checks."""
        self.merge_rules: dict[tuple[int, str], MergeRule] = {}
        self.outsiders, self.writing_teams = set[int](), set[int]()
        """Accounts that no rule lets merge. Teams whose decisions count without a list of approvers."""
        self.team_members: dict[int, list[int]] = {}
        self.comparison: Comparison | None = None
        """The result for branches that ``comparisons`` does not have; None: no such branch."""
        self.comparisons: dict[tuple[int, str], Comparison | None] = {}
        """Id of the head repository and branch to the result."""
        self.is_costly = False
        """True if merges need more CPU time than a request may use."""
        self.merged = Merged(sha="c" * 40)
        """The result of a successful merge."""
        self.merged_pulls: dict[tuple[int, int], str] = {}
        """Repository id and number to the commit that merged the pull request."""
        self.pull_heads: dict[tuple[int, int], str] = {}
        """Repository id and number to the last state that was set by ``PullHead``."""
        self.commits: list[HistoryCommit] = []
        self.totals: dict[tuple[str, str], int] = {}
        """Base and head to the number of commits between them; by default that of ``commits``."""
        self.files, self.pairs, self.missing_heads = list[ChangedPath](), list[CommitPair](), set[str]()
        """``pairs``: the commits of any two heads. ``missing_heads`` no longer exist."""
        self.diff, self.exports = "", dict[str, list[ExportPage]]()
        """The diff between any two commits; empty: a text that names them. The pages of exports by name."""
        self.import_pages: dict[tuple[int, str], ImportPage] = {}
        self.import_files, self.export_files = dict[str, ImportFile](), dict[str, bytes]()
        """Repository id and cursor to the page of its import. By default the import has ended.

        Files of imports by their addresses, and of exports by their hashes.
        """
        self.failures: dict[str, tuple[int, str]] = {}
        """Operation to the status and message with which it fails, whatever the tables say."""
        self.calls: list[RecordedCall] = []
        """Every request, in order."""

    def add(self, repository: Repository, levels: dict[int, Level | AccessLevel] | None = None) -> Repository:
        """Add a repository. ``levels``: user id to level."""
        self.repositories[repository.id] = repository
        self.levels |= {(repository.id, user): level for user, level in (levels or {}).items()}
        return repository

    def operations(self) -> list[str]:
        """Return the called operations, in order."""
        return [call.operation for call in self.calls]

    def bodies(self, operation: str, body_type: type[_B]) -> list[_B]:
        """Return the bodies of all calls of an operation, in order."""
        calls = (call for call in self.calls if call.operation == operation)
        return [msgspec.json.decode(call.body, type=body_type) for call in calls]

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        body = await read_body(receive)
        call = recorded_call(scope, body)
        self.calls.append(call)
        try:
            status, answer = self._answer(call)
        except Refusal as refusal:
            status, answer = refusal.status, error_body(str(refusal))
        content_type = b"text/plain" if isinstance(answer, str) else b"application/json"
        content = answer.encode() if isinstance(answer, str) else msgspec.json.encode(answer)
        headers = [(b"content-type", content_type)] if status != 204 else []
        headers += [(b"retry-after", b"1")] if status == 503 else []
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": content if status != 204 else b""})

    def _answer(self, call: RecordedCall) -> tuple[int, Any]:
        if self.unavailable:
            raise Refusal(503, "repos is not available")
        if call.operation in self.failures:
            raise Refusal(*self.failures[call.operation])
        peers: dict[str, tuple[str, ...]] = {"watchers": ("issues", "mail"), "releases": ("mail",)}
        if call.method == "GET" and call.operation in ("access", "level", "branches"):
            peers[call.operation] = ("issues", "hooks", "mail")
        if call.peer not in peers.get(call.operation, ("issues",)):
            raise Refusal(404)
        handlers: dict[tuple[str, str], Callable[[RecordedCall], Any]] = {
            ("GET", "access"): self._access,
            ("GET", "level"): self._user_level,
            ("GET", "branches"): self._branch_tip,
            ("DELETE", "branches"): self._delete_branch,
            ("POST", "readable-repositories"): self._readable,
            ("POST", "commit-states"): self._commit_states,
            ("POST", "compare"): self._compare,
            ("POST", "comparisons"): self._compare_heads,
            ("POST", "merge"): self._merge,
            ("GET", "watchers"): self._watchers,
            ("GET", "releases"): self._release,
            ("GET", "teams"): lambda call: sorted(self.teams.get(id_of(call.path.split("/")[3]), [])),
            ("GET", "merge-rule"): self._merge_rule,
            ("POST", "official-reviewers"): self._official_reviewers,
            ("POST", "update-branch"): self._update_branch,
            ("POST", "conflicts"): self._find_conflicts,
            ("POST", "resolutions"): self._resolve_conflicts,
            ("GET", "diff"): self._history,
            ("GET", "commits"): self._history,
            ("GET", "files"): self._history,
            ("GET", "range-diff"): self._range_diff,
            ("PUT", "pull-heads"): self._set_pull_head,
            ("POST", "pages"): self._page,
            ("GET", "state"): lambda call: self._export_state(call, parameter_of(call, "name")),
            ("POST", "imported-files"): self._import_file,
            ("POST", "exported-files"): self._export_file,
            ("POST", "labels"): lambda call: bool(body_of(call, ExportedLabels)),
        }
        handler = handlers.get((call.method, call.operation))
        if handler is None:
            raise Refusal(404)
        return (204 if call.method in ("DELETE", "PUT") else 200), handler(call)

    def _repository(self, call: RecordedCall) -> Repository:
        """Return the repository in the path."""
        segments = call.path.split("/")
        return self._named(*segments[4:6]) if segments[3] == "by-name" else self._by_id(id_of(segments[3]))

    def _by_id(self, repository_id: int) -> Repository:
        repository = self.repositories.get(repository_id)
        if repository is None:
            raise Refusal(404)
        return repository

    def _named(self, owner: str, name: str) -> Repository:
        for repository in self.repositories.values():
            if repository.full_name.lower() == f"{owner}/{name}".lower():
                return repository
        raise Refusal(404)

    def _caller(self, call: RecordedCall) -> Caller:
        """Return the caller, or the user that ``?user=`` names."""
        user = parameter_of(call, "user")
        if not user:
            return call.caller
        if not id_of(user):
            raise Refusal(400, "user is no id")
        user_id = id_of(user)
        return Caller() if user_id in self.inactive else Caller(user_id, user_id in self.administrators)

    def _access_to(self, repository: Repository, caller: Caller) -> AccessLevel:
        if caller.is_restricted(repository.id, public=not repository.private):
            caller = Caller(granted_only=caller.granted_only)
        if caller.id and (caller.admin or caller.id == repository.owner.id):
            return AccessLevel(level="owner")
        public: Level = "none" if repository.private or caller.granted_only else "read"
        access = self.levels.get((repository.id, caller.id), public)
        return access if isinstance(access, AccessLevel) else AccessLevel(level=access)

    def _level(self, repository: Repository, caller: Caller) -> Level:
        """Return the caller's level in the code."""
        return self._access_to(repository, caller).of("code")

    def _require(
        self, repository: Repository, caller: Caller, required: Level, unit: Unit | None = "code"
    ) -> None:
        level = self._access_to(repository, caller).of(unit)
        restricted = caller.is_restricted(repository.id, public=not repository.private)
        if level == "none":
            raise Refusal(404)
        if required != "read" and not caller.id:
            raise Refusal(401, "sign in to do that")
        if required != "read" and (restricted or not reaches(level, required)):
            raise Refusal(403, f"needs {required} access to the repository")

    def _require_ready(self, repository: Repository) -> None:
        if repository.id in self.unready:
            raise Refusal(503, "its commits are on their way")

    def _enter(self, call: RecordedCall, repository: Repository) -> None:
        """Check that the commits exist and that the caller may read the repository.

        Calls of issues without a user are always allowed.
        """
        if parameter_of(call, "unattended") != "true":
            self._require(repository, call.caller, "read")
        self._require_ready(repository)

    def _access(self, call: RecordedCall) -> RepositoryAccess:
        repository, caller = self._repository(call), self._caller(call)
        self._require(repository, caller, "read", None)
        access = self._access_to(repository, caller)
        shown = permission_of(access.of("code"))
        owner = repository.owner if caller.id else msgspec.structs.replace(repository.owner, email="")
        return RepositoryAccess(
            repository=msgspec.structs.replace(repository, owner=owner, permissions=shown),
            level=access.level,
            units=access.units,
            owner_kind="organization" if repository.owner.id in self.organizations else "user",
            issues_enabled=repository.has_issues,
            pulls_enabled=repository.has_pull_requests,
            ready=repository.id not in self.unready,
        )

    def _page(self, call: RecordedCall) -> ImportPage | ExportState:
        """Return a page of an import, or store a page of an export and return its state."""
        if call.path.split("/")[2] == "exports":
            page = body_of(call, ExportPage)
            state = self._export_state(call, page.name)
            if (state.state, state.cursor) == ("running", page.cursor):
                if sum(len(one.body) for one in page.issues) > self.largest_page:
                    raise Refusal(413)
                self.exports[page.name].append(page)
                if page.is_too_large:
                    return ExportState(state="ended")
            return self._export_state(call, page.name)
        request = body_of(call, ReadImportPage)
        ended = ImportPage(state="ended")
        return self.import_pages.get((id_of(call.path.split("/")[3]), request.cursor), ended)

    def _export_state(self, call: RecordedCall, name: str) -> ExportState:
        pages = self.exports.get(name)
        if pages is None or (pages and not pages[-1].following):
            return ExportState(state="ended")
        repository = self._repository(call)
        cursor = pages[-1].following if pages else ""
        return ExportState(state="running", cursor=cursor, owner_id=repository.owner.id)

    def _export_file(self, call: RecordedCall) -> ExportState:
        file = body_of(call, ExportFile)
        self.export_files[file.sha256] = file.content
        return self._export_state(call, file.name)

    def _import_file(self, call: RecordedCall) -> ImportFile:
        return self.import_files.get(body_of(call, ReadImportFile).address, ImportFile(state="absent"))

    def _user_level(self, call: RecordedCall) -> AccessLevel:
        if not parameter_of(call, "user"):
            raise Refusal(400, "user is no id")
        caller = self._caller(call)
        return self._access_to(self._repository(call), caller) if caller.id else AccessLevel(level="none")

    def _readable(self, call: RecordedCall) -> ReadableRepositories:
        question = body_of(call, ReadableRepositories)
        ids = question.ids
        if len(ids) > MOST_IDS:
            raise Refusal(400, f"more than {MOST_IDS} ids")
        if question.team_id:
            ids = [id_ for id_ in ids if question.team_id in self.teams.get(id_, [])]
        repositories = (self.repositories[id_] for id_ in set(ids) if id_ in self.repositories)
        accesses = {one.id: self._access_to(one, call.caller) for one in repositories}
        readable = sorted(
            id_
            for id_, access in accesses.items()
            if (access.of(None) if question.by_unit else access.level) != "none"
        )
        unreadable = {
            unit: [id_ for id_ in readable if accesses[id_].of(unit) == "none"] for unit in SERVED_UNITS
        }
        return ReadableRepositories(
            ids=readable,
            levels=[accesses[id_].of("code") for id_ in readable] if question.with_levels else [],
            unreadable={unit: ids for unit, ids in unreadable.items() if ids},
        )

    def _commit_states(self, call: RecordedCall) -> CommitStates:
        question = body_of(call, CommitStates)
        if len(question.commits) > MOST_COMMIT_STATES:
            raise Refusal(400, f"more than {MOST_COMMIT_STATES} commits")
        requested = sorted({(one.repository_id, one.sha) for one in question.commits})
        return CommitStates(
            commits=[
                CheckedCommit(repository_id=id_, sha=sha, state=self.check_states[id_, sha])
                for id_, sha in requested
                if (id_, sha) in self.check_states
                and self._access_to(self.repositories[id_], call.caller).of("code") != "none"
            ]
        )

    def _branch_tip(self, call: RecordedCall) -> BranchTip:
        repository, name = self._repository(call), _branch(call)
        self._enter(call, repository)
        if (repository.id, name) not in self.branches:
            raise Refusal(404)
        sha = self.branches[repository.id, name]
        commit = None
        if parameter_of(call, "commit") == "true":
            author = CommitAuthor(name="Ann", email="ann@example.org")
            commit = Commit(
                id=sha,
                message="Begin\n",
                url=f"{repository.html_url}/commit/{sha}",
                author=author,
                committer=author,
                timestamp=repository.created_at,
            )
        return BranchTip(name=name, sha=sha, commit=commit)

    def _delete_branch(self, call: RecordedCall) -> None:
        tip, name = parameter_of(call, "tip"), _branch(call)
        if not tip:
            raise Refusal(422, "tip: is required")
        repository = self._writable(self._caller(call), self._repository(call))
        if name == repository.default_branch:
            raise Refusal(409, "the default branch is not deleted")
        if (repository.id, name) not in self.branches:
            raise Refusal(404, "there is no such branch")
        if self.branches[repository.id, name] != tip:
            raise Refusal(409, "the branch has moved")
        del self.branches[repository.id, name]

    def _writable(self, caller: Caller, repository: Repository) -> Repository:
        self._require(repository, caller, "write")
        if repository.archived:
            raise Refusal(403, "the repository is archived")
        self._require_ready(repository)
        return repository

    def _compare(self, call: RecordedCall) -> Comparison:
        compare = body_of(call, Compare)
        self._enter(call, self._repository(call))
        comparison = self._comparison(call, compare.head_repository_id, compare.head_branch)
        if comparison is None:
            raise Refusal(404, "there is no such branch")
        return comparison

    def _compare_heads(self, call: RecordedCall) -> Comparisons:
        compare = body_of(call, CompareHeads)
        if len(compare.heads) > MOST_HEADS:
            raise Refusal(400, f"more than {MOST_HEADS} heads")
        self._enter(call, self._repository(call))
        heads = [self._comparison(call, head.repository_id, head.branch) for head in compare.heads]
        return Comparisons(comparisons=heads)

    def _comparison(self, call: RecordedCall, head_id: int, branch: str) -> Comparison | None:
        try:
            self._enter(call, self._by_id(head_id))
        except Refusal:
            return None
        return self.comparisons.get((head_id, branch), self.comparison)

    def _set_pull_head(self, call: RecordedCall) -> None:
        head, repository = body_of(call, PullHead), self._repository(call)
        self._require_ready(repository)
        self.pull_heads[repository.id, id_of(call.path.split("/")[5])] = head.state

    def _release(self, call: RecordedCall) -> PublishedRelease:
        ids = call.path.split("/")[3:6:2]
        release = self.releases.get((id_of(ids[0]), id_of(ids[1])))
        if release is None:
            raise Refusal(404)
        return release

    def _watchers(self, call: RecordedCall) -> Watchers:
        return Watchers(ids=self.watchers.get(id_of(call.path.split("/")[3]), []))

    def _merge_rule(self, call: RecordedCall) -> MergeRule:
        repository = self._repository(call)
        if parameter_of(call, "unattended") != "true":
            self._require(repository, self._caller(call), "read")
        rule = self.merge_rules.get((repository.id, parameter_of(call, "branch")), MergeRule())
        if rule.rule_name and self._caller(call).id in self.outsiders:
            return msgspec.structs.replace(rule, may_merge=False)
        return rule

    def _official_reviewers(self, call: RecordedCall) -> OfficialReviewers:
        repository, question = self._repository(call), body_of(call, OfficialReviewers)
        if max(len(question.ids), len(question.team_ids)) > MOST_IDS:
            raise Refusal(400, f"more than {MOST_IDS} ids")
        rule = self.merge_rules.get((repository.id, question.branch), MergeRule())
        ids, teams = set(question.ids) - self.inactive, self.writing_teams
        level: Level = "write"
        if rule.approvers is not None:
            teams, level = set(rule.approving_teams), "read"
            ids &= {*rule.approvers, *(one for team in teams for one in self.team_members.get(team, []))}
        callers = (Caller(one, one in self.administrators) for one in ids)
        ids = {one.id for one in callers if reaches(self._level(repository, one), level)}
        return OfficialReviewers(ids=sorted(ids), team_ids=sorted(teams.intersection(question.team_ids)))

    def _merge(self, call: RecordedCall) -> Merged:
        merge = body_of(call, Merge)
        if len(merge.title) > DESCRIPTION_CHARACTERS or len(merge.message) > TEXT_CHARACTERS:
            raise Refusal(422, "title or message: has too many characters")
        repository = self._writable(self._caller(call), self._repository(call))
        merged = self.merged_pulls.get((repository.id, merge.number))
        if merged is not None:
            return Merged(sha=merged, already=True)
        rule = self.merge_rules.get((repository.id, merge.base_branch), MergeRule())
        is_overridden = rule.may_override and parameter_of(call, "override") == "true"
        words = "protects the branch"
        if not is_overridden and (not rule.may_merge or rule.missing_checks):
            raise Refusal(405, f"the rule {rule.rule_name!r} {words}")
        head_id = merge.head_repository_id or repository.id
        comparison = self.comparisons.get((head_id, merge.head_branch), self.comparison)
        if comparison is not None and (
            comparison.head_sha != merge.head_sha or merge.merge_base not in (None, comparison.merge_base)
        ):
            raise Refusal(409, "the head of the pull request has moved")
        is_outdated = comparison is not None and comparison.merge_base != comparison.base_sha
        if rule.block_on_outdated_branch and is_outdated and not is_overridden:
            raise Refusal(409, f"the rule {rule.rule_name!r} {words}: the head branch is behind it")
        if comparison is not None and not comparison.mergeable:
            raise Refusal(405 if merge.head_branch else 409, "the branches conflict")
        if self.is_costly and not parameter_of(call, "user"):
            raise Refusal(413, "the merge takes more computing time than allowed")
        self.merged_pulls[repository.id, merge.number] = self.merged.sha
        return self.merged

    def _update_branch(self, call: RecordedCall) -> UpdatedBranch:
        update = body_of(call, UpdateBranch)
        repository = self._writable(call.caller, self._repository(call))
        self._require(self._by_id(update.base_repository_id), call.caller, "read")
        if self.branches.get((repository.id, update.head_branch)) != update.head_sha:
            raise Refusal(409, "the branch has moved")
        self.branches[repository.id, update.head_branch] = self.merged.sha
        return UpdatedBranch(sha=self.merged.sha)

    def _find_conflicts(self, call: RecordedCall) -> Conflicts:
        question = body_of(call, FindConflicts)
        self._require_movable(call, question.base_repository_id, question.head_branch, question.head_sha)
        base = self.branches.get((question.base_repository_id, question.base_branch), "")
        return Conflicts(head_sha=question.head_sha, base_sha=base, files=list(self.conflicted_files))

    def _resolve_conflicts(self, call: RecordedCall) -> UpdatedBranch:
        request = body_of(call, ResolveConflicts)
        repository = self._require_movable(
            call, request.base_repository_id, request.head_branch, request.resolution.head_sha
        )
        self.branches[repository.id, request.head_branch] = self.merged.sha
        return UpdatedBranch(sha=self.merged.sha)

    def _require_movable(
        self, call: RecordedCall, base_id: int, head_branch: str, head_sha: str
    ) -> Repository:
        """Return the repository of a head branch that the caller may move."""
        repository = self._writable(call.caller, self._repository(call))
        self._require(self._by_id(base_id), call.caller, "read")
        if self.branches.get((repository.id, head_branch)) != head_sha:
            raise Refusal(409, "one of the branches has moved; look at the conflicts again")
        return repository

    def _history(self, call: RecordedCall) -> History | ChangedPaths | str:
        self._enter(call, self._repository(call))
        base, head = parameter_of(call, "base"), parameter_of(call, "head")
        if not all(len(commit) == 40 and commit.isalnum() for commit in (base, head) if commit) or not head:
            raise Refusal(404, "there is no such commit")
        if call.operation == "diff" and self.diff:
            return self.diff
        if call.operation == "diff":
            return f"{parameter_of(call, 'format') or 'diff'} {base} {head}"
        start = int(parameter_of(call, "offset") or 0)
        end = start + min(int(parameter_of(call, "limit") or 50), MOST_COMMITS)
        if call.operation == "files":
            skip_to = parameter_of(call, "skip_to")
            files = list(dropwhile(lambda file: skip_to not in ("", file.path), self.files))
            return ChangedPaths(files=files[start:end], total=len(files))
        commits = self.commits[start:end]
        if parameter_of(call, "changes") != "true":
            commits = [msgspec.structs.replace(commit, changes=None) for commit in commits]
        if parameter_of(call, "verification") != "true":
            commits = [msgspec.structs.replace(commit, verification=None) for commit in commits]
        return History(commits=commits, total=self.totals.get((base, head), len(self.commits)))

    def _range_diff(self, call: RecordedCall) -> RangeDiff:
        heads = [parameter_of(call, "old"), parameter_of(call, "new")]
        if not all(len(head) == 40 and head.isalnum() for head in heads):
            raise Refusal(404, "there is no such commit")
        self._enter(call, self._repository(call))
        missing = next((head for head in heads if head in self.missing_heads), "")
        return RangeDiff(missing=missing) if missing else RangeDiff(pairs=self.pairs)


def _branch(call: RecordedCall) -> str:
    return "/".join(call.path.split("/")[5:])
