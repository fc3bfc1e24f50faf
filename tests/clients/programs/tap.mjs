// Checks of a script in JavaScript, reported as lines of TAP.
export const { INGOT_URL: url, INGOT_USER: user, INGOT_PASSWORD: password, INGOT_TOKEN: token } = process.env;

/** Report the outcome of an asynchronous function as one check, and return its value. */
export async function check(name, run) {
  try {
    const value = await run();
    console.log(`ok - ${name}`);
    return value;
  } catch (error) {
    const text = error?.error?.message ?? error?.message ?? JSON.stringify(error?.error ?? error);
    const status = error?.status ? `${error.status}: ` : '';
    console.log(`not ok - ${name} # ${status}${text}`.replace(/\s+/g, ' '));
    return undefined;
  }
}

/** Send one request that prepares the work, and return its answer. */
export async function api(method, path, body) {
  const answer = await fetch(`${url}/api/v1${path}`, {
    method,
    headers: { Authorization: `token ${token}`, 'Content-Type': 'application/json' },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return text ? JSON.parse(text) : undefined;
}

export function assert(condition, text) {
  if (!condition) throw new Error(text);
}
