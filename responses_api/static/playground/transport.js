// The three ways to ask: each is a generator of events as they come. A refusal is thrown as a Refusal.

export class Refusal extends Error {
  constructor(status, error) {
    super(error?.message ?? "The server did not answer as expected.");
    this.status = status;
    this.error = error ?? {};
  }
}

async function refusalOf(answer) {
  let body = null;
  try {
    body = await answer.json();
  } catch {
    // A proxy's page, perhaps: the status says it all.
  }
  return new Refusal(answer.status, body?.error ?? { message: `The server answered with the status ${answer.status}.` });
}

async function post(body, key, signal) {
  const answer = await fetch("/v1/responses", {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${key}` },
    body: JSON.stringify(body),
    credentials: "omit",
    signal,
  });
  if (!answer.ok) throw await refusalOf(answer);
  return answer;
}

export async function* byJson(body, key, signal) {
  const answer = await post(body, key, signal);
  yield { type: "answer", response: await answer.json() };
}

export async function* byEvents(body, key, signal) {
  const answer = await post({ ...body, stream: true }, key, signal);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    rest += value;
    const frames = rest.split("\n\n");
    rest = frames.pop();
    for (const frame of frames) {
      const data = frame.split("\n").filter((line) => line.startsWith("data:")).map((line) => line.slice(5).trim());
      if (data.length && data[0] !== "[DONE]") yield JSON.parse(data.join("\n"));
    }
  }
}

// One socket for as long as the key lasts: what is not stored can be continued on it alone.
let socket = null;
let socketKey = null;

function opened(key) {
  if (socket?.readyState === WebSocket.OPEN && socketKey === key) return Promise.resolve(socket);
  socket?.close();
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  socket = new WebSocket(`${scheme}://${location.host}/v1/responses`, ["responses", `openai-insecure-api-key.${key}`]);
  socketKey = key;
  const fresh = socket;
  return new Promise((resolve, reject) => {
    fresh.addEventListener("open", () => resolve(fresh), { once: true });
    fresh.addEventListener("error", () => reject(new Refusal(0, { message: "The WebSocket could not be opened." })), { once: true });
  });
}

const LAST = new Set(["response.completed", "response.incomplete", "response.failed", "response.cancelled"]);

export async function* bySocket(body, key, signal) {
  const open = await opened(key);
  const waiting = [];
  let wake = () => {};
  const put = (entry) => { waiting.push(entry); wake(); };
  const hear = (message) => put(JSON.parse(message.data));
  const end = (close) => put({ closed: close.code });
  const stop = () => open.close();
  open.addEventListener("message", hear);
  open.addEventListener("close", end);
  signal.addEventListener("abort", stop);
  try {
    open.send(JSON.stringify({ type: "response.create", ...body }));
    for (;;) {
      if (!waiting.length) await new Promise((resolve) => { wake = resolve; });
      const event = waiting.shift();
      signal.throwIfAborted();
      if ("closed" in event) throw new Refusal(0, { message: `The WebSocket was closed (${event.closed}).` });
      if (event.type === "error" && "status" in event) throw new Refusal(event.status, event.error);
      yield event;
      if (LAST.has(event.type)) return;
    }
  } finally {
    open.removeEventListener("message", hear);
    open.removeEventListener("close", end);
    signal.removeEventListener("abort", stop);
  }
}
