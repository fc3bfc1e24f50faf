// A real provider of OpenID Connect: node provider.mjs <folder of node_modules> <configuration as JSON>.
// It reads what it knows of people from a file at each request, and prints its issuer when it listens.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [folder, text] = process.argv.slice(2);
const settings = JSON.parse(text);
const resolved = createRequire(`${folder}/`).resolve("oidc-provider");
const { default: Provider } = await import(pathToFileURL(resolved));
const provider = new Provider(settings.issuer, {
  clients: settings.clients,
  scopes: ["openid", "profile", "email", "groups"],
  claims: {
    openid: ["sub", "sid"],
    profile: ["name", "preferred_username"],
    email: ["email", "email_verified"],
    groups: ["groups"],
  },
  cookies: { keys: ["a key of tests"] },
  features: { backchannelLogout: { enabled: true }, devInteractions: { enabled: true } },
  // Without the guard against private addresses: Ingot listens on loopback.
  fetch: (url, { dispatcher, ...options }) => globalThis.fetch(url, options),
  pkce: { required: () => true },
  async findAccount(_ctx, id) {
    const people = JSON.parse(readFileSync(settings.people, "utf8"));
    return people[id] && { accountId: id, claims: async () => ({ sub: id, ...people[id] }) };
  },
});
provider.on("backchannel.error", (_ctx, error) => console.error(error));
provider.on("end_session.error", (_ctx, error) => console.error(error));
const server = provider.listen(settings.port, "127.0.0.1", () => console.log(settings.issuer));
process.on("SIGTERM", () => server.close(() => process.exit(0)));
