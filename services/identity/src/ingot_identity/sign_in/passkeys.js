// Passkeys in forms: a button asks the browser for a credential, and sends its form with the answer.
const decode = (text) =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
const encode = (buffer) =>
  btoa(Array.from(new Uint8Array(buffer), (byte) => String.fromCharCode(byte)).join(""))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
const decodeId = (descriptor) => ({ ...descriptor, id: decode(descriptor.id) });

async function createCredential(options) {
  const publicKey = {
    ...options,
    challenge: decode(options.challenge),
    user: decodeId(options.user),
    excludeCredentials: (options.excludeCredentials ?? []).map(decodeId),
  };
  const credential = await navigator.credentials.create({ publicKey });
  const { clientDataJSON, attestationObject } = credential.response;
  return [credential, { clientDataJSON: encode(clientDataJSON), attestationObject: encode(attestationObject) }];
}

async function getCredential(options) {
  const publicKey = {
    ...options,
    challenge: decode(options.challenge),
    allowCredentials: (options.allowCredentials ?? []).map(decodeId),
  };
  const credential = await navigator.credentials.get({ publicKey });
  const { clientDataJSON, authenticatorData, signature, userHandle } = credential.response;
  const response = {
    clientDataJSON: encode(clientDataJSON),
    authenticatorData: encode(authenticatorData),
    signature: encode(signature),
  };
  if (userHandle?.byteLength) response.userHandle = encode(userHandle);
  return [credential, response];
}

const reasons = {
  InvalidStateError: "This device or security key has a passkey of this account already.",
  NotAllowedError: "No passkey was used. Try again, or choose another way.",
  SecurityError: "The address of this page is not the one that its passkeys are for.",
};

async function answer(button, status) {
  button.disabled = true;
  status.textContent = "";
  try {
    const ask = button.dataset.passkey === "create" ? createCredential : getCredential;
    const [credential, response] = await ask(JSON.parse(button.dataset.options));
    const id = encode(credential.rawId);
    const field = button.form.elements.namedItem("credential");
    field.value = JSON.stringify({ id, rawId: id, type: credential.type, response });
    button.form.submit();
  } catch (error) {
    status.textContent = reasons[error.name] ?? "The passkey cannot be used.";
    button.disabled = false;
  }
}

for (const button of document.querySelectorAll("button[data-passkey]")) {
  const status = button.form.querySelector("[data-passkey-status]");
  if (!window.PublicKeyCredential) {
    status.textContent = "This browser has no passkeys here. Use a password and a code.";
    continue;
  }
  button.hidden = false;
  button.addEventListener("click", () => answer(button, status));
}
