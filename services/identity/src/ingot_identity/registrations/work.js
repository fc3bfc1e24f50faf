// The proof of work of a form: before it is sent, find a number whose SHA-256 begins with zero bits.
// Own code, because crypto.subtle is missing without TLS, and slow for many short texts.
const K = new Uint32Array(64);
const H = new Uint32Array(8);
(() => {
  let found = 0;
  for (let candidate = 2; found < 64; candidate++) {
    let isPrime = true;
    for (let factor = 2; factor * factor <= candidate; factor++) if (candidate % factor === 0) isPrime = false;
    if (!isPrime) continue;
    if (found < 8) H[found] = (candidate ** 0.5 % 1) * 2 ** 32;
    K[found++] = (Math.cbrt(candidate) % 1) * 2 ** 32;
  }
})();
const W = new Uint32Array(64);
const rotate = (word, bits) => (word >>> bits) | (word << (32 - bits));

function compress(state, block, offset) {
  for (let i = 0; i < 16; i++) W[i] = block.getUint32(offset + 4 * i);
  for (let i = 16; i < 64; i++) {
    const s0 = rotate(W[i - 15], 7) ^ rotate(W[i - 15], 18) ^ (W[i - 15] >>> 3);
    const s1 = rotate(W[i - 2], 17) ^ rotate(W[i - 2], 19) ^ (W[i - 2] >>> 10);
    W[i] = W[i - 16] + s0 + W[i - 7] + s1;
  }
  let [a, b, c, d, e, f, g, h] = state;
  for (let i = 0; i < 64; i++) {
    const s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + K[i] + W[i]) | 0;
    const s0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
    const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + t1) | 0;
    d = c;
    c = b;
    b = a;
    a = (t1 + t2) | 0;
  }
  [a, b, c, d, e, f, g, h].forEach((word, i) => (state[i] += word));
}

export function sha256(text) {
  const bytes = new TextEncoder().encode(text);
  const padded = new Uint8Array((((bytes.length + 8) >> 6) + 1) << 6);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 4, bytes.length * 8);
  const state = H.slice();
  for (let offset = 0; offset < padded.length; offset += 64) compress(state, view, offset);
  return state;
}

export async function solve(challenge) {
  const bits = Number.parseInt(challenge, 10);
  for (let answer = 0; ; answer++) {
    // Let the page answer now and then.
    if (answer % 20000 === 19999) await new Promise((resolve) => setTimeout(resolve));
    const [first] = sha256(`${challenge}.${answer}`);
    if (Math.clz32(first) >= bits) return answer;
  }
}

const field = globalThis.document?.querySelector("input[name=work]");
field?.form.addEventListener("submit", async (event) => {
  if (field.value) return;
  event.preventDefault();
  const button = field.form.querySelector("button");
  button.disabled = true;
  field.form.querySelector("[data-work-status]").textContent = "The browser works for some seconds …";
  field.value = await solve(field.form.elements.namedItem("challenge").value);
  field.form.submit();
});
