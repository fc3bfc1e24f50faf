// Calls of the methods of gitea-js, each a check by its name.
import { createRequire } from 'node:module';
import { assert, check, password, token, url, user } from '../tap.mjs';

const { giteaApi } = createRequire(`${process.env.NODE_PATH}/`)('gitea-js');
const api = giteaApi(url, { token, customFetch: fetch });
const basic = giteaApi(url, {
  customFetch: (target, options) =>
    fetch(target, {
      ...options,
      headers: { ...options.headers, Authorization: `Basic ${btoa(`${user}:${password}`)}` },
    }),
});

/** Call a method, report it, and return the data of its answer. */
async function call(path, ...given) {
  const [group, method] = path.split('.');
  return check(path, async () => (await api[group][method](...given)).data);
}

const encode = (text) => btoa(text);
const o = user;
const r = 'gitea-js';
const org = 'js-org';

// Misc
for (const path of ['version.getVersion', 'nodeinfo.getNodeInfo', 'settings.getGeneralApiSettings',
  'settings.getGeneralAttachmentSettings', 'settings.getGeneralRepositorySettings', 'settings.getGeneralUiSettings',
  'gitignore.listGitignoresTemplates', 'label.listLabelTemplates', 'licenses.listLicenseTemplates',
  'user.userGetCurrent', 'user.getUserSettings', 'user.userListEmails', 'notifications.notifyNewAvailable']) await call(path);
await call('gitignore.getGitignoreTemplateInfo', 'Go');
await call('licenses.getLicenseTemplateInfo', 'MIT');
await call('label.getLabelTemplateInfo', 'Default');
await call('markdown.renderMarkdown', { Text: '# Title', Mode: 'gfm' });
await call('markdown.renderMarkdownRaw', 'a *word*');
await call('markup.renderMarkup', { Text: '# Title', Mode: 'markdown' });

// Users
await call('admin.adminCreateUser', { username: 'js-bob', email: 'js-bob@example.org', password: 'a long password of bob', must_change_password: false });
await call('admin.adminEditUser', 'js-bob', { login_name: 'js-bob', source_id: 0, full_name: 'Bob', allow_git_hook: false, max_repo_creation: 20 });
await call('admin.adminSearchUsers', { limit: 5 });
await call('admin.adminGetAllEmails');
await call('admin.adminGetAllOrgs');
await call('admin.adminCronList');
await call('admin.adminListUserBadges', 'js-bob');
await call('users.userGet', 'js-bob');
await call('users.userSearch', { q: 'js-bob' });
await call('users.userGetHeatmapData', o);
await call('users.userListActivityFeeds', o);
await call('users.userListRepos', o);
await call('users.orgListUserOrgs', o);
await check('users.userCreateToken', async () => {
  const { data } = await basic.users.userCreateToken(o, { name: 'js', scopes: ['all'] });
  await basic.users.userGetTokens(o);
  await basic.users.userDeleteAccessToken(o, String(data.id));
});
await call('user.userCurrentPutFollow', 'js-bob');
await call('user.userCurrentCheckFollowing', 'js-bob');
await call('user.userCurrentListFollowing');
await call('users.userCheckFollowing', o, 'js-bob');
await call('user.userCurrentDeleteFollow', 'js-bob');
await call('user.userAddEmail', { emails: ['second@example.org'] });
await call('user.userDeleteEmail', { emails: ['second@example.org'] });
await call('user.updateUserSettings', { full_name: 'Root', hide_email: false });
const application = await call('user.userCreateOAuth2Application', { name: 'js', redirect_uris: ['http://127.0.0.1/'], confidential_client: true });
await call('user.userGetOauth2Application');
if (application) {
  await call('user.userGetOAuth2Application', application.id);
  await call('user.userUpdateOAuth2Application', application.id, { name: 'js2', redirect_uris: ['http://127.0.0.1/'] });
  await call('user.userDeleteOAuth2Application', application.id);
}
await call('user.userListBlocks');
await call('user.userBlockUser', 'js-bob');
await call('user.userCheckUserBlock', 'js-bob');
await call('user.userUnblockUser', 'js-bob');
const hookOptions = { type: 'gitea', active: true, events: ['push'], config: { url: 'http://127.0.0.1:1/', content_type: 'json' } };
const userHook = await call('user.userCreateHook', hookOptions);
if (userHook) {
  await call('user.userGetHook', userHook.id);
  await call('user.userEditHook', userHook.id, { active: false });
  await call('user.userDeleteHook', userHook.id);
}

// Organizations and teams
await call('orgs.orgCreate', { username: org, full_name: 'An organization', visibility: 'public', repo_admin_change_team_access: true });
await call('orgs.orgEdit', org, { description: 'text' });
await call('orgs.orgGet', org);
await call('orgs.orgListTeams', org);
await call('orgs.orgListMembers', org);
await call('orgs.orgListHooks', org);
await call('orgs.orgIsMember', org, o);
await call('orgs.orgPublicizeMember', org, o);
await call('orgs.orgIsPublicMember', org, o);
await call('orgs.orgConcealMember', org, o);
await call('users.orgGetUserPermissions', o, org);
await call('orgs.createOrgRepo', org, { name: 'first', auto_init: true, default_branch: 'main', trust_model: 'default' });
await call('orgs.orgListRepos', org);
const label = await call('orgs.orgCreateLabel', org, { name: 'bug', color: '#ff0000', exclusive: false });
if (label) {
  await call('orgs.orgGetLabel', org, label.id);
  await call('orgs.orgEditLabel', org, label.id, { name: 'defect' });
  await call('orgs.orgListLabels', org);
  await call('orgs.orgDeleteLabel', org, label.id);
}
const team = await call('orgs.orgCreateTeam', org, {
  name: 'writers', permission: 'write', can_create_org_repo: true, includes_all_repositories: false,
  units_map: { 'repo.code': 'write', 'repo.issues': 'read', 'repo.pulls': 'none', 'repo.wiki': 'admin' },
});
if (team) {
  await call('teams.orgGetTeam', team.id);
  await call('teams.orgEditTeam', team.id, { name: 'writers', description: 'who write', permission: 'read', units: ['repo.code'] });
  await call('teams.orgAddTeamMember', team.id, 'js-bob');
  await call('teams.orgListTeamMembers', team.id);
  await call('teams.orgListTeamMember', team.id, 'js-bob');
  await call('teams.orgAddTeamRepository', team.id, org, 'first');
  await call('teams.orgListTeamRepos', team.id);
  await call('teams.orgListTeamRepo', team.id, org, 'first');
  await call('repos.repoListTeams', org, 'first');
  await call('repos.repoCheckTeam', org, 'first', 'writers');
  await call('teams.orgRemoveTeamRepository', team.id, org, 'first');
  await call('teams.orgRemoveTeamMember', team.id, 'js-bob');
  await call('orgs.teamSearch', org, { q: 'writ' });
  await call('teams.orgDeleteTeam', team.id);
}

// Repositories
await call('user.createCurrentUserRepo', { name: r, auto_init: true, readme: 'Default', gitignores: 'Go', license: 'MIT', issue_labels: 'Default', default_branch: 'main', template: true });
await call('repos.repoGet', o, r);
await call('repos.repoSearch', { q: r });
await call('repos.repoEdit', o, r, { description: 'text', default_merge_style: 'squash', enable_prune: true, mirror_interval: '8h0m0s' });
for (const method of ['repoGetAssignees', 'repoGetReviewers', 'repoListBranches', 'repoListTags', 'repoGetLanguages',
  'repoGetLicenses', 'repoListAllGitRefs', 'repoListStargazers', 'repoListSubscribers', 'repoListTopics', 'repoListKeys',
  'repoListHooks', 'repoListReleases', 'repoListPullRequests', 'repoListCollaborators', 'repoListActivityFeeds',
  'repoGetIssueTemplates', 'repoGetIssueConfig', 'repoValidateIssueConfig', 'repoListPinnedIssues', 'repoNewPinAllowed',
  'repoListPushMirrors', 'listForks', 'repoTrackedTimes', 'repoGetAllCommits', 'repoGetContentsList']) await call(`repos.${method}`, o, r);
await call('repos.repoCreateFile', o, r, 'src/one.txt', { message: 'add one', content: encode('one\n'), branch: 'main' });
const file = await call('repos.repoGetContents', o, r, 'src/one.txt');
if (file) await call('repos.repoUpdateFile', o, r, 'src/one.txt', { message: 'change one', content: encode('two\n'), sha: file.sha, branch: 'main', new_branch: 'feature' });
await call('repos.repoChangeFiles', o, r, { message: 'add more', branch: 'main', files: [{ operation: 'create', path: 'more.txt', content: encode('more\n') }] });
await call('repos.repoGetRawFile', o, r, 'more.txt');
await call('repos.repoGetRawFileOrLfs', o, r, 'more.txt');
await call('repos.repoCreateBranch', o, r, { new_branch_name: 'other', old_ref_name: 'main' });
await call('repos.repoUpdateBranch', o, r, 'other', { name: 'another' });
const branch = await call('repos.repoGetBranch', o, r, 'main');
const sha = branch?.commit?.id;
await call('repos.getTree', o, r, sha, { recursive: true });
await call('repos.getBlob', o, r, file?.sha);
await call('repos.repoGetSingleCommit', o, r, sha);
await call('repos.repoDownloadCommitDiffOrPatch', o, r, sha, 'diff');
await call('repos.repoCompareDiff', o, r, 'main...feature');
await call('repos.repoListGitRefs', o, r, 'heads/main');
await call('repos.repoGetArchive', o, r, 'main.zip');
await call('repos.repoCreateStatus', o, r, sha, { state: 'success', context: 'ci', target_url: 'http://127.0.0.1/' });
await call('repos.repoListStatuses', o, r, sha);
await call('repos.repoListStatusesByRef', o, r, 'main');
await call('repos.repoGetCombinedStatusByRef', o, r, 'main');
await call('repos.repoDeleteBranch', o, r, 'another');
await call('repos.repoCreateBranchProtection', o, r, { rule_name: 'release/*', enable_push: true, required_approvals: 1 });
await call('repos.repoListBranchProtection', o, r);
await call('repos.repoGetBranchProtection', o, r, 'release/*');
await call('repos.repoEditBranchProtection', o, r, 'release/*', { required_approvals: 2 });
await call('repos.repoUpdateBranchProtectionPriories', o, r, { ids: [1] });
await call('repos.repoDeleteBranchProtection', o, r, 'release/*');
const protection = await call('repos.repoCreateTagProtection', o, r, { name_pattern: 'v*', whitelist_usernames: [o] });
await call('repos.repoListTagProtection', o, r);
if (protection) {
  await call('repos.repoGetTagProtection', o, r, protection.id);
  await call('repos.repoEditTagProtection', o, r, protection.id, { name_pattern: 'w*' });
  await call('repos.repoDeleteTagProtection', o, r, protection.id);
}
const tag = await call('repos.repoCreateTag', o, r, { tag_name: 'v0', message: 'the first', target: 'main' });
await call('repos.repoGetTag', o, r, 'v0');
if (tag?.id) await call('repos.getAnnotatedTag', o, r, tag.id);
await call('repos.repoDeleteTag', o, r, 'v0');
await call('repos.repoAddCollaborator', o, r, 'js-bob', { permission: 'write' });
await call('repos.repoCheckCollaborator', o, r, 'js-bob');
await call('repos.repoGetRepoPermissions', o, r, 'js-bob');
await call('repos.repoUpdateTopics', o, r, { topics: ['one'] });
await call('repos.repoAddTopic', o, r, 'two');
await call('repos.repoDeleteTopic', o, r, 'two');
await call('topics.topicSearch', { q: 'one' });
await call('user.userCurrentPutStar', o, r);
await call('user.userCurrentCheckStarring', o, r);
await call('user.userCurrentListStarred');
await call('user.userCurrentDeleteStar', o, r);
await call('repos.userCurrentPutSubscription', o, r);
await call('repos.userCurrentCheckSubscription', o, r);
await call('user.userCurrentListSubscriptions');
const hook = await call('repos.repoCreateHook', o, r, { ...hookOptions, branch_filter: '*', authorization_header: 'Bearer x' });
if (hook) {
  await call('repos.repoGetHook', o, r, hook.id);
  await call('repos.repoEditHook', o, r, hook.id, { active: true });
  await call('repos.repoTestHook', o, r, hook.id);
  await call('repos.repoDeleteHook', o, r, hook.id);
}
await call('repos.generateRepo', o, r, { owner: o, name: 'js-generated', git_content: true, topics: true, git_hooks: false, webhooks: false, avatar: false, labels: true });
await call('repos.createFork', o, r, { organization: org, name: 'js-fork' });
await call('repositories.repoGetById', branch ? (await api.repos.repoGet(o, r)).data.id : 0);

// Issues
await call('repos.issueListLabels', o, r);
const bug = await call('repos.issueCreateLabel', o, r, { name: 'crash', color: 'ff0000', description: 'it crashes', exclusive: false, is_archived: false });
await call('repos.issueEditLabel', o, r, bug?.id, { color: '#00ff00' });
await call('repos.issueGetLabel', o, r, bug?.id);
const milestone = await call('repos.issueCreateMilestone', o, r, { title: 'one', due_on: '2030-01-01T00:00:00Z', state: 'open' });
await call('repos.issueGetMilestonesList', o, r);
await call('repos.issueGetMilestone', o, r, String(milestone?.id));
await call('repos.issueEditMilestone', o, r, String(milestone?.id), { description: 'text' });
const issue = await call('repos.issueCreateIssue', o, r, { title: 'It crashes', body: 'text', assignees: [o], labels: [bug?.id], milestone: milestone?.id });
const second = await call('repos.issueCreateIssue', o, r, { title: 'Another' });
const i = issue?.number;
await call('repos.issueGetIssue', o, r, i);
await call('repos.issueListIssues', o, r, { state: 'all', type: 'issues' });
await call('repos.issueSearchIssues', { q: 'crashes' });
await call('repos.issueEditIssue', o, r, i, { body: 'more text', due_date: '2030-01-01T00:00:00Z' });
await call('repos.issueEditIssueDeadline', o, r, i, { due_date: '2031-01-01T00:00:00Z' });
const comment = await call('repos.issueCreateComment', o, r, i, { body: 'a comment' });
await call('repos.issueGetComments', o, r, i);
await call('repos.issueGetRepoComments', o, r);
await call('repos.issueGetCommentsAndTimeline', o, r, i);
await call('repos.issueGetComment', o, r, comment?.id);
await call('repos.issueEditComment', o, r, comment?.id, { body: 'changed' });
await call('repos.issuePostCommentReaction', o, r, comment?.id, { content: '+1' });
await call('repos.issueGetCommentReactions', o, r, comment?.id);
await call('repos.issueDeleteCommentReaction', o, r, comment?.id, { content: '+1' });
await call('repos.issuePostIssueReaction', o, r, i, { content: 'heart' });
await call('repos.issueGetIssueReactions', o, r, i);
await call('repos.issueDeleteIssueReaction', o, r, i, { content: 'heart' });
await call('repos.issueAddLabel', o, r, i, { labels: [bug?.id] });
await call('repos.issueGetLabels', o, r, i);
await call('repos.issueReplaceLabels', o, r, i, { labels: ['crash'] });
await call('repos.issueRemoveLabel', o, r, i, bug?.id);
await call('repos.issueClearLabels', o, r, i);
await call('repos.pinIssue', o, r, i);
await call('repos.moveIssuePin', o, r, i, 1);
await call('repos.unpinIssue', o, r, i);
await call('repos.issueAddSubscription', o, r, i, o);
await call('repos.issueCheckSubscription', o, r, i);
await call('repos.issueSubscriptions', o, r, i);
await call('repos.issueDeleteSubscription', o, r, i, o);
const meta = { owner: o, repo: r, index: second?.number };
await call('repos.issueCreateIssueDependencies', o, r, i, meta);
await call('repos.issueListIssueDependencies', o, r, String(i));
await call('repos.issueListBlocks', o, r, String(second?.number));
await call('repos.issueRemoveIssueDependencies', o, r, i, meta);
await call('repos.issueStartStopWatch', o, r, i);
await call('user.userGetStopWatches');
await call('repos.issueStopStopWatch', o, r, i);
const time = await call('repos.issueAddTime', o, r, i, { time: 60 });
await call('repos.issueTrackedTimes', o, r, i);
await call('user.userCurrentTrackedTimes');
await call('repos.issueDeleteTime', o, r, i, time?.id);
await call('repos.issueCreateIssueAttachment', o, r, i, { attachment: new File(['text'], 'note.txt') });
await call('repos.issueListIssueAttachments', o, r, i);
await call('repos.issueDeleteComment', o, r, comment?.id);
await call('repos.issueDelete', o, r, second?.number);

// Pull requests
const pull = await call('repos.repoCreatePullRequest', o, r, { title: 'A change', head: 'feature', base: 'main', body: 'text', reviewers: ['js-bob'] });
const n = pull?.number;
await call('repos.repoGetPullRequest', o, r, n);
await call('repos.repoGetPullRequestByBaseHead', o, r, 'main', 'feature');
await call('repos.repoEditPullRequest', o, r, n, { title: 'The change', allow_maintainer_edit: true });
await call('repos.repoDownloadPullDiffOrPatch', o, r, n, 'diff');
await call('repos.repoGetPullRequestCommits', o, r, n);
await call('repos.repoGetPullRequestFiles', o, r, n);
await call('repos.repoDeletePullReviewRequests', o, r, n, { reviewers: ['js-bob'] });
await call('repos.repoCreatePullReviewRequests', o, r, n, { reviewers: ['js-bob'] });
const review = await call('repos.repoCreatePullReview', o, r, n, { body: 'a question', event: 'COMMENT', comments: [{ path: 'src/one.txt', body: 'why?', new_position: 1 }] });
await call('repos.repoListPullReviews', o, r, n);
await call('repos.repoGetPullReview', o, r, n, review?.id);
await call('repos.repoGetPullReviewComments', o, r, n, review?.id);
const pending = await call('repos.repoCreatePullReview', o, r, n, { body: 'later' });
await call('repos.repoSubmitPullReview', o, r, n, pending?.id, { event: 'COMMENT', body: 'now' });
await call('repos.repoDeletePullReview', o, r, n, review?.id);
await call('repos.repoUpdatePullRequest', o, r, n, { style: 'merge' });
await call('repos.repoMergePullRequest', o, r, n, { Do: 'squash', delete_branch_after_merge: true });
await call('repos.repoPullRequestIsMerged', o, r, n);
await call('repos.repoListPinnedPullRequests', o, r);

// Releases
const release = await call('repos.repoCreateRelease', o, r, { tag_name: 'v1', name: 'One', body: 'text', target_commitish: 'main' });
await call('repos.repoGetRelease', o, r, release?.id);
await call('repos.repoGetLatestRelease', o, r);
await call('repos.repoGetReleaseByTag', o, r, 'v1');
await call('repos.repoEditRelease', o, r, release?.id, { name: 'First' });
const asset = await call('repos.repoCreateReleaseAttachment', o, r, release?.id, { attachment: new File(['text'], 'file.txt') }, { name: 'file.txt' });
await call('repos.repoListReleaseAttachments', o, r, release?.id);
await call('repos.repoGetReleaseAttachment', o, r, release?.id, asset?.id);
await call('repos.repoEditReleaseAttachment', o, r, release?.id, asset?.id, { name: 'other.txt' });
await call('repos.repoDeleteReleaseAttachment', o, r, release?.id, asset?.id);
await call('repos.repoDeleteReleaseByTag', o, r, 'v1');

// Wiki
await call('repos.repoCreateWikiPage', o, r, { title: 'Home', content_base64: encode('# Home'), message: 'add it' });
await call('repos.repoGetWikiPages', o, r);
await call('repos.repoGetWikiPage', o, r, 'Home');
await call('repos.repoGetWikiPageRevisions', o, r, 'Home');
await call('repos.repoEditWikiPage', o, r, 'Home', { title: 'Home', content_base64: encode('# New') });
await call('repos.repoDeleteWikiPage', o, r, 'Home');

// Notifications, and the end
await call('notifications.notifyGetList', { all: true });
await call('repos.notifyGetRepoList', o, r);
await call('repos.notifyReadRepoList', o, r);
await call('notifications.notifyReadList');
await call('repos.repoTransfer', o, 'js-generated', { new_owner: org });
await call('repos.repoDelete', org, 'js-fork');
await call('repos.repoDelete', o, r);
await call('admin.adminRenameUser', 'js-bob', { new_username: 'js-robert' });
await call('admin.adminDeleteUser', 'js-robert', { purge: true });
await check('a repository that is gone is 404', async () => {
  const error = await api.repos.repoGet(o, r).catch((reason) => reason);
  assert(error.status === 404, JSON.stringify(error));
});
