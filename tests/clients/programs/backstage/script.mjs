// The action publish:gitea, as the scaffolder of Backstage calls it.
import fs from 'node:fs';
import { createRequire } from 'node:module';
import { api, assert, check, password, url, user } from '../tap.mjs';

const installed = createRequire(`${process.env.NODE_PATH}/`);
const { createPublishGiteaAction } = installed('@backstage/plugin-scaffolder-backend-module-gitea');
const { ConfigReader } = installed('@backstage/config');
const { ScmIntegrations } = installed('@backstage/integration');

const { host } = new URL(url);
const config = new ConfigReader({
  integrations: { gitea: [{ host, baseUrl: url, username: user, password }] },
  scaffolder: { defaultAuthor: { name: 'Scaffolder', email: 'scaffolder@example.org' } },
});
const action = createPublishGiteaAction({ integrations: ScmIntegrations.fromConfig(config), config });
await api('POST', '/orgs', { username: 'backstage' });

const logger = { info() {}, warn: console.error, error: console.error, debug() {}, child: () => logger };
for (const repoVisibility of ['public', 'private', 'internal']) {
  await check(`publish a ${repoVisibility} repository`, async () => {
    const workspacePath = fs.mkdtempSync('workspace-');
    fs.writeFileSync(`${workspacePath}/catalog-info.yaml`, 'kind: Component\n');
    const outputs = {};
    await action.handler({
      input: { repoUrl: `${host}?owner=backstage&repo=${repoVisibility}`, description: 'text', repoVisibility },
      workspacePath,
      logger,
      output: (name, value) => { outputs[name] = value; },
      createTemporaryDirectory: async () => fs.mkdtempSync('temporary-'),
      checkpoint: async ({ fn }) => fn(),
      getInitiatorCredentials: async () => ({}),
      signal: new AbortController().signal,
    });
    const { commit } = await api('GET', `/repos/backstage/${repoVisibility}/branches/main`);
    assert(commit.id === outputs.commitHash, JSON.stringify(outputs));
    const answer = await api('GET', `/repos/backstage/${repoVisibility}`);
    assert(answer.private === (repoVisibility === 'private'), `private is ${answer.private}`);
  });
}
await check('a repository of an unknown organization is refused', async () => {
  const input = { repoUrl: `${host}?owner=unknown&repo=x`, description: 'text' };
  const error = await action.handler({ input, logger, workspacePath: '.', output() {} }).catch((reason) => reason);
  assert(error.message.includes('unknown'), String(error));
});
