// The steps of semantic-release, as it calls the plugin.
import fs from 'node:fs';
import { createRequire } from 'node:module';
import { api, assert, check, token, url, user } from '../tap.mjs';

const plugin = createRequire(`${process.env.NODE_PATH}/`)('@saithodev/semantic-release-gitea');
const name = 'semantic-release';
await api('POST', '/user/repos', { name, auto_init: true });
await api('POST', `/repos/${user}/${name}/tags`, { tag_name: 'v1.0.0', target: 'main' });
await api('POST', `/repos/${user}/${name}/tags`, { tag_name: 'v1.1.0', target: 'main' });
fs.writeFileSync('asset.txt', 'an asset');

const logger = { log() {}, error: console.error, success() {} };
const contextOf = (secret, tag) => ({
  cwd: process.cwd(),
  env: { GITEA_TOKEN: secret, GITEA_URL: url },
  options: { repositoryUrl: `${url}/${user}/${name}.git` },
  branch: { name: 'main', main: true },
  nextRelease: { name: tag, gitTag: tag, notes: `Notes of ${tag}`, version: tag.slice(1) },
  logger,
});

await check('a wrong token is refused', async () => {
  const error = await plugin.verifyConditions({}, contextOf('0'.repeat(40), 'v1.0.0')).catch((reason) => reason);
  assert(error?.name === 'AggregateError' || error instanceof Error, 'it was accepted');
});
await check('verify the conditions', async () => {
  try {
    await plugin.verifyConditions({}, contextOf(token, 'v1.0.0'));
  } catch (error) {
    throw new Error([...(error.errors ?? [error])].map(({ message }) => message).join('; '));
  }
});
await check('publish a release', async () => {
  const { url: release } = await plugin.publish({}, contextOf(token, 'v1.0.0'));
  assert(release.startsWith(url), release);
  assert((await api('GET', `/repos/${user}/${name}/releases/tags/v1.0.0`)).body === 'Notes of v1.0.0', 'no notes');
});
await check('publish a release with an asset', async () => {
  await plugin.publish({ assets: ['asset.txt'] }, contextOf(token, 'v1.1.0'));
  const { assets, draft } = await api('GET', `/repos/${user}/${name}/releases/tags/v1.1.0`);
  assert(!draft && assets.length === 1 && assets[0].name === 'asset.txt', JSON.stringify(assets));
  assert((await (await fetch(assets[0].browser_download_url)).text()) === 'an asset', 'the asset differs');
});
