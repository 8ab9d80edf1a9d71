// The server, asked in one way: strict answers, and refusals as errors with a code.

const CSRF = document.querySelector('meta[name="csrf"]').content;

export class Refused extends Error {
  constructor(status, { code, message, problems = [] }) {
    super(message);
    this.status = status;
    this.code = code;
    this.problems = problems;
  }
}

// `text` is a body that is JSON already; `body` is a value to be written as JSON.
export async function ask(path, { method = "GET", body, text, signal } = {}) {
  const headers = { Accept: "application/json" };
  if (method !== "GET") headers["X-Fieldmark-Csrf"] = CSRF;
  if (body !== undefined || text !== undefined) headers["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch(path, { method, headers, body: text ?? (body === undefined ? undefined : JSON.stringify(body)), signal, keepalive: method === "DELETE" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, { code: "unreachable", message: "The server does not answer. Is it still running?" });
  }
  const said = await answer.json().catch(() => ({ error: { code: "unreadable", message: `The server answered ${answer.status}.` } }));
  if (!answer.ok) throw new Refused(answer.status, said.error);
  return said;
}

export function query(values) {
  const found = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== null && value !== undefined && value !== "" && value !== false) found.set(name, value);
  }
  const text = found.toString();
  return text ? `?${text}` : "";
}
