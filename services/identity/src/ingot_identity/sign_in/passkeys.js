// Passkeys in forms: a button asks the browser for a credential, and sends its form with the answer.
const decode = (text) =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
const encode = (buffer) =>
  btoa(Array.from(new Uint8Array(buffer), (byte) => String.fromCharCode(byte)).join(""))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
const decodeId = (descriptor) => ({ ...descriptor, id: decode(descriptor.id) });

async function createCredential(options, name) {
  const user = decodeId(options.user);
  const publicKey = {
    ...options,
    challenge: decode(options.challenge),
    user: name ? { ...user, name, displayName: name } : user,
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
  const { form, dataset } = button;
  const registers = dataset.passkey === "register";
  const passwords = registers ? form.querySelectorAll("input[type=password]") : [];
  // The passkey takes their place: they are neither required nor sent.
  for (const field of passwords) field.disabled = true;
  if (registers && !form.reportValidity()) {
    for (const field of passwords) field.disabled = false;
    return;
  }
  button.disabled = true;
  status.textContent = "";
  try {
    const ask = dataset.passkey === "get" ? getCredential : createCredential;
    const name = registers ? form.elements.namedItem("username").value.trim() : "";
    const [credential, response] = await ask(JSON.parse(dataset.options), name);
    const id = encode(credential.rawId);
    const clientExtensionResults = credential.getClientExtensionResults();
    const sent = { id, rawId: id, type: credential.type, response, clientExtensionResults };
    form.elements.namedItem("credential").value = JSON.stringify(sent);
    if (registers) form.requestSubmit();
    else form.submit();
  } catch (error) {
    status.textContent = reasons[error.name] ?? "The passkey cannot be used.";
    button.disabled = false;
    for (const field of passwords) field.disabled = false;
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
