// Requests to the daemon. The browser sends the session's cookie; the header shows that this page sent the request.

export class DaemonError extends Error {
  constructor(status, body) {
    super(body?.message ?? `the daemon answered ${status}`);
    this.status = status;
    this.code = body?.data?.code;
    this.data = body?.data;
  }
}

async function request(method, path, body) {
  const headers = { "ruled-dashboard": "1" };
  if (body !== undefined) headers["content-type"] = "application/json";
  const response = await fetch(path, {
    method, headers, body: body === undefined ? undefined : JSON.stringify(body), cache: "no-store", credentials: "same-origin",
  });
  const text = await response.text();
  let answer;
  try { answer = text ? JSON.parse(text) : null; } catch { answer = { message: text }; }
  if (response.status === 401) {
    throw new DaemonError(401, { message: "The session is over. Run 'rulectl dashboard' for a new link." });
  }
  if (!response.ok) throw new DaemonError(response.status, answer);
  return answer;
}

const item = encodeURIComponent;
const search = (params) => {
  const found = Object.entries(params).filter(([, value]) => value !== undefined && value !== "");
  return found.length ? "?" + new URLSearchParams(found) : "";
};

export const health = () => request("GET", "/healthz");
export const rules = () => request("GET", "/v1/rules");
export const reload = () => request("POST", "/v1/rules/reload", {});
export const samples = () => request("GET", "/v1/samples");
export const query = (name, args, subject) => request("POST", `/v1/query/${item(name)}`, { args, subject });
export const event = (event) => request("POST", "/v1/events", event);
export const subjects = (prefix, limit = 100) => request("GET", "/v1/subjects" + search({ prefix, limit }));
export const exported = (subject) => request("GET", `/v1/subjects/${item(subject)}/export`);
export const state = (subject) => request("GET", `/v1/subjects/${item(subject)}`);
export const past = (subject, id) => request("POST", "/v1/explain", { subject, id });
export const shadow = () => request("GET", "/v1/shadow");
export const rollout = () => request("GET", "/v1/rollout");
export const retry = (id) => request("POST", `/v1/parked/${item(id)}/retry`, {});
export const drop = (id) => request("DELETE", `/v1/parked/${item(id)}`);
export const logOut = () => request("DELETE", "/v1/session");
export const resend = (id, subject) => request("POST", `/v1/effects/${item(id)}/resend` + search({ subject }), {});

// All elements of a listing that comes in pages, up to a bound; `isWhole` says whether that is all there is.
async function listed(path, name, params, bound) {
  const found = [];
  let after;
  do {
    const page = await request("GET", path + search({ ...params, after, limit: 1000 }));
    found.push(...page[name]);
    after = page.next;
  } while (after && found.length < bound);
  return { items: found, isWhole: !after };
}

export const parked = (bound = 5000) => listed("/v1/parked", "parked", {}, bound);
export const effects = (status, bound = 2000) => listed("/v1/effects", "effects", { status }, bound);
