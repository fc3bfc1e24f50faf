"""Calls of giteapy, whose models check the types of all fields that they get."""

import base64
import sys
from pathlib import Path

import giteapy

sys.path.append(str(Path(__file__).parents[1]))
from tap import TOKEN, URL, USER, check


def main() -> None:
    configuration = giteapy.Configuration()
    configuration.host = f"{URL}/api/v1"
    configuration.api_key["Authorization"] = f"token {TOKEN}"
    configuration.api_key["access_token"] = TOKEN
    client = giteapy.ApiClient(configuration)
    admin, organizations, repositories, issues, users, server = (
        getattr(giteapy, f"{group}Api")(client)
        for group in ("Admin", "Organization", "Repository", "Issue", "User", "Miscellaneous")
    )
    with check("version"):
        assert server.get_version().version
    with check("render Markdown"):
        assert server.render_markdown(body=giteapy.MarkdownOption(text="*a*", mode="markdown")) is not None
    with check("create, change and list users"):
        option = giteapy.CreateUserOption(
            username="old-bob",
            email="old-bob@example.org",
            password="a long password of bob",
            must_change_password=False,
        )
        admin.admin_create_user(body=option)
        admin.admin_edit_user(
            "old-bob", body=giteapy.EditUserOption(email="old-bob@example.org", full_name="Bob")
        )
        assert "old-bob" in {answer.login for answer in admin.admin_get_all_users()}
        assert users.user_get("old-bob").full_name == "Bob"
        assert users.user_get_current().login == USER
    with check("search users"):
        assert users.user_search(q="old-bob").data[0].login == "old-bob"
    with check("follow"):
        users.user_current_put_follow("old-bob")
        users.user_current_check_following("old-bob")
        assert [answer.login for answer in users.user_current_list_following()] == ["old-bob"]
        users.user_current_delete_follow("old-bob")
    with check("organizations and teams"):
        organizations.org_create(giteapy.CreateOrgOption(username="old-org"))
        organizations.org_edit("old-org", giteapy.EditOrgOption(description="text", visibility="public"))
        option = giteapy.CreateTeamOption(
            name="writers", permission="write", units=["repo.code", "repo.issues"]
        )
        team = organizations.org_create_team("old-org", body=option)
        organizations.org_add_team_member(team.id, "old-bob")
        assert [answer.login for answer in organizations.org_list_team_members(team.id)] == ["old-bob"]
        organizations.create_org_repo("old-org", body=giteapy.CreateRepoOption(name="first"))
        organizations.org_add_team_repository(team.id, "old-org", "first")
        assert [answer.name for answer in organizations.org_list_team_repos(team.id)] == ["first"]
        assert {answer.name for answer in organizations.org_list_teams("old-org")} == {"Owners", "writers"}
    with check("repositories"):
        option = giteapy.CreateRepoOption(name="old", auto_init=True, readme="Default", description="text")
        assert users.create_current_user_repo(body=option).full_name == f"{USER}/old"
        repositories.repo_edit(USER, "old", body=giteapy.EditRepoOption(description="changed"))
        assert repositories.repo_get(USER, "old").description == "changed"
        assert repositories.repo_search(q="old").data
    with check("files, commits, trees and statuses"):
        option = giteapy.CreateFileOptions(
            content=base64.b64encode(b"text").decode(), message="add", new_branch="feature"
        )
        created = repositories.repo_create_file(USER, "old", "file.txt", option)
        sha = created.commit.sha
        assert repositories.repo_get_single_commit(USER, "old", sha).sha == sha
        assert repositories.get_tree(USER, "old", sha).tree
        assert repositories.repo_get_contents(USER, "old", "file.txt", ref="feature").name == "file.txt"
        status = giteapy.CreateStatusOption(state="success", context="ci", target_url="http://127.0.0.1/")
        repositories.repo_create_status(USER, "old", sha, body=status)
        assert len(repositories.repo_list_statuses(USER, "old", sha)) == 1
        assert len(repositories.repo_list_branches(USER, "old")) == 2
    with check("hooks"):
        option = giteapy.CreateHookOption(
            type="gitea",
            config={"url": "http://127.0.0.1:1/", "content_type": "json"},
            events=["push"],
            active=True,
        )
        hook = repositories.repo_create_hook(USER, "old", body=option)
        repositories.repo_edit_hook(USER, "old", hook.id, body=giteapy.EditHookOption(active=False))
        assert not repositories.repo_get_hook(USER, "old", hook.id).active
        repositories.repo_delete_hook(USER, "old", hook.id)
    with check("collaborators, stars, subscriptions, topics"):
        repositories.repo_add_collaborator(
            USER, "old", "old-bob", body=giteapy.AddCollaboratorOption(permission="write")
        )
        assert [answer.login for answer in repositories.repo_list_collaborators(USER, "old")] == ["old-bob"]
        users.user_current_put_star(USER, "old")
        assert [answer.login for answer in repositories.repo_list_stargazers(USER, "old")] == [USER]
        assert repositories.user_current_put_subscription(USER, "old").subscribed
        repositories.repo_update_topics(USER, "old", body=giteapy.RepoTopicOptions(topics=["one"]))
        assert repositories.repo_list_topics(USER, "old").topics == ["one"]
    with check("labels, milestones and issues"):
        label = issues.issue_create_label(
            USER, "old", body=giteapy.CreateLabelOption(name="bug", color="#ff0000")
        )
        milestone = issues.issue_create_milestone(
            USER, "old", body=giteapy.CreateMilestoneOption(title="one")
        )
        option = giteapy.CreateIssueOption(
            title="It crashes", body="text", assignees=[USER], labels=[label.id], milestone=milestone.id
        )
        issue = issues.issue_create_issue(USER, "old", body=option)
        assert [answer.name for answer in issue.labels] == ["bug"]
        changed = issues.issue_edit_issue(
            USER, "old", issue.number, body=giteapy.EditIssueOption(state="closed")
        )
        assert changed.state == "closed"
        assert len(issues.issue_list_issues(USER, "old", state="all")) == 1
    with check("comments and times"):
        comment = issues.issue_create_comment(
            USER, "old", issue.number, body=giteapy.CreateIssueCommentOption(body="a comment")
        )
        issues.issue_edit_comment(
            USER, "old", comment.id, body=giteapy.EditIssueCommentOption(body="changed")
        )
        assert [answer.body for answer in issues.issue_get_comments(USER, "old", issue.number)] == ["changed"]
        issues.issue_add_time(USER, "old", issue.number, body=giteapy.AddTimeOption(time=60))
        assert [answer.time for answer in issues.issue_tracked_times(USER, "old", issue.number)] == [60]
    with check("pull requests"):
        option = giteapy.CreatePullRequestOption(
            title="A change", head="feature", base=repositories.repo_get(USER, "old").default_branch
        )
        pull = repositories.repo_create_pull_request(USER, "old", body=option)
        assert repositories.repo_get_pull_request(USER, "old", pull.number).mergeable
        repositories.repo_merge_pull_request(
            USER, "old", pull.number, body=giteapy.MergePullRequestOption(do="merge")
        )
        repositories.repo_pull_request_is_merged(USER, "old", pull.number)
    with check("releases and their files"):
        option = giteapy.CreateReleaseOption(tag_name="v1", name="One", body="text")
        release = repositories.repo_create_release(USER, "old", body=option)
        Path("file.txt").write_text("text")
        repositories.repo_create_release_attachment(USER, "old", release.id, "file.txt", name="file.txt")
        assert len(repositories.repo_list_release_attachments(USER, "old", release.id)) == 1
        assert [answer.tag_name for answer in repositories.repo_list_releases(USER, "old")] == ["v1"]
    with check("forks"):
        repositories.create_fork(USER, "old", body=giteapy.CreateForkOption(organization="old-org"))
        assert [answer.owner.login for answer in repositories.list_forks(USER, "old")] == ["old-org"]
    with check("delete everything"):
        for owner, name in (("old-org", "old"), ("old-org", "first"), (USER, "old")):
            repositories.repo_delete(owner, name)
        organizations.org_delete_team(team.id)
        organizations.org_delete("old-org")
        admin.admin_delete_user("old-bob")


main()
