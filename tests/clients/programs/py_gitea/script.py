"""Work with the objects of py-gitea, as its own tests do."""

import base64
import sys
from pathlib import Path

from gitea import Gitea, Issue, Milestone, NotFoundException, Organization, Repository, Team, User
from gitea.apiobject import RepoUnits

sys.path.append(str(Path(__file__).parents[1]))
from tap import TOKEN, URL, USER, check


def main() -> None:
    gitea = Gitea(URL, TOKEN)
    with check("version"):
        assert gitea.get_version()
    with check("the current user"):
        assert gitea.get_user().username == USER
    with check("create a user"):
        user = gitea.create_user("py-ann", "py-ann@example.org", "a long password of ann", send_notify=False)
        assert user.username == "py-ann"
    with check("list users, and find one by name and address"):
        assert "py-ann" in {answer.username for answer in gitea.get_users()}
        assert gitea.get_user_by_name("py-ann").id == gitea.get_user_by_email("py-ann@example.org").id
    with check("change a user"):
        user = User.request(gitea, "py-ann")
        user.full_name = "Ann"
        user.commit(user.username, 0)
        assert User.request(gitea, "py-ann").full_name == "Ann"
    with check("the heatmap of a user"):
        user.get_heatmap()
    with check("create an organization"):
        organization = gitea.create_org(gitea.get_user(), "py-org", "text", "", "")
        assert organization in gitea.get_orgs()
    with check("change an organization"):
        organization = Organization.request(gitea, "py-org")
        organization.full_name = "An organization"
        organization.commit()
        assert Organization.request(gitea, "py-org").full_name == "An organization"
    with check("create a repository of an organization"):
        repository = organization.create_repo("first", "text", default_branch="main")
        assert organization.get_repository("first").id == repository.id
    with check("create a repository of a user"):
        gitea.create_repo(user, "second", "text", default_branch="main")
        assert [answer.name for answer in user.get_repositories()] == ["second"]
    with check("change a repository"):
        repository = Repository.request(gitea, "py-org", "first")
        repository.description = "changed"
        repository.has_wiki = False
        repository.commit()
        assert Repository.request(gitea, "py-org", "first").description == "changed"
    with check("branches and commits"):
        repository.add_branch(repository.get_branches()[0], "feature")
        assert len(repository.get_branches()) == 2
        assert repository.get_commits()
    with check("create, read, change and delete a file"):
        repository.create_file("file.txt", base64.b64encode(b"text").decode())
        (content,) = [answer for answer in repository.get_git_content() if answer.name == "file.txt"]
        assert base64.b64decode(repository.get_file_content(content)) == b"text"
        repository.change_file("file.txt", content.sha, base64.b64encode(b"new").decode())
        (content,) = [answer for answer in repository.get_git_content() if answer.name == "file.txt"]
        repository.delete_file("file.txt", content.sha)
    with check("topics"):
        repository.add_topic("one")
        assert repository.get_topics() == ["one"]
        repository.del_topic("one")
    with check("hooks"):
        repository.create_gitea_hook("http://127.0.0.1:1/", ["push"])
        (hook,) = repository.list_hooks()
        repository.delete_hook(hook["id"])
    with check("issues"):
        repository.create_issue("first", assignees=[], description="text")
        issue = Issue.create_issue(gitea, repository, "second", "text")
        issue.body = "changed"
        issue.state = Issue.CLOSED
        issue.commit()
        assert [answer.title for answer in repository.get_issues_state(Issue.OPENED)] == ["first"]
        assert Issue.request(gitea, "py-org", "first", str(issue.number)).body == "changed"
    with check("times"):
        issue.add_time(60)
        assert len(issue.get_times()) == 1
        issue.delete_time(issue.get_times()[0]["id"])
    with check("milestones"):
        milestone = repository.create_milestone("one", "text")
        assert isinstance(milestone, Milestone)
    with check("create a team by units"):
        units = RepoUnits(code="write", issues="read", pulls="none")
        team = gitea.create_team(organization, "writers", "text", permission="write", units_map=units)
        assert organization.get_team("writers") == team
    with check("members and repositories of a team"):
        team.add_user(user)
        team.add_repo(organization.username, repository)
        assert user in team.get_members()
        assert [answer.name for answer in team.get_repos()] == ["first"]
    with check("members of an organization"):
        assert organization.is_member("py-ann")
    with check("organizations of a user"):
        assert user.get_orgs() == [organization]
    with check("people with access to a repository"):
        assert repository.get_user_permission("py-ann").permission == "read"
        assert user in repository.get_users_with_access()
    with check("change a team"):
        team = Team.request(gitea, team.id)
        team.description = "changed"
        team.commit()
        assert Team.request(gitea, team.id).description == "changed"
    with check("remove a member"):
        team.remove_team_member("py-ann")
        organization.remove_member(user)
    with check("transfer a repository"):
        Repository.request(gitea, "py-ann", "second").transfer_ownership(organization)
        assert {answer.name for answer in organization.get_repositories()} == {"first", "second"}
    with check("delete everything"):
        team.delete()
        for answer in organization.get_repositories():
            answer.delete()
        organization.delete()
        user.delete()
    with check("what is gone is not answer"):
        try:
            User.request(gitea, "py-ann")
        except NotFoundException:
            pass
        else:
            raise AssertionError("it is still there")


main()
