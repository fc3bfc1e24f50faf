// Work with isomorphic-git over HTTP.
import fs from 'node:fs';
import { createRequire } from 'node:module';
import { api, assert, check, password, token, url, user } from '../tap.mjs';

const installed = createRequire(`${process.env.NODE_PATH}/`);
const git = installed('isomorphic-git');
const http = installed('isomorphic-git/http/node');

const { full_name: name } = await api('POST', '/user/repos', { name: 'isomorphic', auto_init: true, private: true });
const remote = `${url}/${name}.git`;
const author = { name: user, email: `${user}@example.org` };
const as = (username, secret) => ({ fs, http, url: remote, onAuth: () => ({ username, password: secret }), onAuthFailure: () => ({ cancel: true }) });
const account = as(user, token);

await check('clone with a token', () => git.clone({ ...account, dir: 'clone' }));
await check('clone with a password and depth 1', () => git.clone({ ...as(user, password), dir: 'other', depth: 1, singleBranch: true }));
await check('a wrong password is refused', async () => {
  const error = await git.clone({ ...as(user, 'wrong'), dir: 'refused' }).catch((reason) => reason);
  assert(error instanceof Error, 'it was cloned');
});
await check('push a commit', async () => {
  fs.writeFileSync('clone/file.txt', 'text\n');
  await git.add({ fs, dir: 'clone', filepath: 'file.txt' });
  const commit = await git.commit({ fs, dir: 'clone', message: 'add a file', author });
  const pushed = await git.push({ ...account, dir: 'clone', ref: 'main' });
  assert(pushed.ok, JSON.stringify(pushed));
  assert((await api('GET', `/repos/${name}/branches/main`)).commit.id === commit, 'the branch did not move');
});
await check('pull it', async () => {
  await git.pull({ ...account, dir: 'other', ref: 'main', author });
  assert(fs.existsSync('other/file.txt'), 'the file is missing');
});
await check('push a branch and a tag', async () => {
  await git.branch({ fs, dir: 'clone', ref: 'feature' });
  await git.annotatedTag({ fs, dir: 'clone', ref: 'v1', message: 'the first', tagger: author });
  await git.push({ ...account, dir: 'clone', ref: 'feature' });
  await git.push({ ...account, dir: 'clone', ref: 'v1' });
  assert((await api('GET', `/repos/${name}/tags`)).length === 1, 'the tag is missing');
});
await check('list references', async () => {
  const refs = await git.listServerRefs({ ...account, protocolVersion: 2, symrefs: true, peelTags: true });
  assert(refs.some(({ ref }) => ref === 'refs/tags/v1'), JSON.stringify(refs));
});
await check('delete a branch', async () => {
  await git.push({ ...account, dir: 'clone', ref: 'feature', delete: true });
  assert((await api('GET', `/repos/${name}/branches`)).length === 1, 'the branch is still there');
});
