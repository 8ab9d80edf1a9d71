// Requests to the API. Errors have a status, a code and problems.

export class ApiError extends Error {
  constructor(status, { code, message, problems = [] }) {
    super(message);
    this.status = status;
    this.code = code;
    this.problems = problems;
  }
}

/**
 * @typedef {{ method?: string, body?: unknown, text?: string, signal?: AbortSignal }} Options
 *   `text` is a JSON body; `body` is a value to serialize.
 */

/**
 * @param {string} path
 * @param {Options} [options]
 */
export async function request(path, options = {}) {
  return read(await respond(path, options));
}

async function read(response) {
  const content = await response.json().catch(() => ({ error: { code: "unreadable", message: `Unexpected response from the server (status ${response.status}).` } }));
  if (!response.ok || content.error?.code === "unreadable") throw new ApiError(response.status, content.error);
  return content;
}

/**
 * A file with its name and type; errors are the same as for `request`.
 * @param {string} path
 * @param {Options} [options]
 */
export async function requestFile(path, options = {}) {
  const response = await respond(path, options);
  if (!response.ok) await read(response);
  const name = /filename="([^"]+)"/.exec(response.headers.get("Content-Disposition") || "");
  return { content: await response.blob(), name: name ? name[1] : "download", type: response.headers.get("Content-Type") };
}

/**
 * @param {string} path
 * @param {Options} options
 */
async function respond(path, { method = "GET", body, text, signal }) {
  /** @type {Record<string, string>} */
  const headers = { Accept: "application/json" };
  if (method !== "GET") headers["X-Fieldmark-Csrf"] = document.querySelector('meta[name="csrf"]').getAttribute("content");
  if (body !== undefined || text !== undefined) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(path, { method, headers, body: text ?? (body === undefined ? undefined : JSON.stringify(body)), signal, keepalive: method === "DELETE" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, { code: "unreachable", message: "The server is not responding. Check that it is running." });
  }
  return response;
}

// Return a function like `request` that answers only the last of several requests: a late response
// never replaces a newer one.
export function lastRequest() {
  let last = null;
  return async (path, options = {}) => {
    if (last) last.abort();
    const own = new AbortController();
    last = own;
    try {
      const found = await request(path, { ...options, signal: own.signal });
      if (own === last) return found;
    } catch (error) {
      if (own === last) throw error;
    }
    return new Promise(() => {});
  };
}
