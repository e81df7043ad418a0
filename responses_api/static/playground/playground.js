// The page: reads the form, asks, and shows items and events side by side as they come.
import { element } from "./elements.js";
import { Items, shownItem } from "./items.js";
import { approvalRequests, approvalResponse } from "./receipts.js";
import { SNIPPETS, shareable } from "./snippets.js";
import { Refusal, byEvents, byJson, bySocket } from "./transport.js";

const find = (id) => document.getElementById(`pg-${id}`);
const form = find("form");
const page = document.getElementById("playground");
const TRANSPORTS = { sse: byEvents, websocket: bySocket, json: byJson };
const SOON_SECONDS = 30;
const EXAMPLES = {
  function: {
    type: "function",
    name: "get_weather",
    description: "The weather in a city now.",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
  mcp: {
    type: "mcp",
    server_label: "my_server",
    server_url: "https://mcp.example.com/mcp",
    require_approval: "always",
  },
  files: { type: "antiphon:file_search" },
};

let held = null; // the key, in memory alone: { key, expires_at, tenant }
let running = null; // what stops the request that runs
let last = null; // the last response
let decided = new Map(); // what was answered to its approval requests

// ---- the key

async function key() {
  const tenant = form.elements.tenant.value;
  if (held && held.tenant === tenant && held.expires_at - Date.now() / 1000 > SOON_SECONDS) return held.key;
  const answer = await fetch(page.dataset.keyUrl, {
    method: "POST",
    headers: { "X-CSRFToken": form.elements.csrfmiddlewaretoken.value },
    body: new URLSearchParams({ tenant }),
  });
  if (!answer.ok || !answer.headers.get("content-type")?.includes("json")) {
    throw new Refusal(answer.status, { message: "The playground was given no key: your session has ended, or you may not ask in this tenant's name. Reload the page." });
  }
  held = { ...(await answer.json()), tenant };
  return held.key;
}

// ---- the form

class Mistake extends Error {}

function parsed(text, what) {
  let value = null;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Mistake(`${what} is not valid JSON: ${error.message}`);
  }
  if (!Array.isArray(value)) throw new Mistake(`${what} must be a JSON list.`);
  return value;
}

function body() {
  const field = (name) => form.elements[name].value.trim();
  const input = form.elements.input.value;
  const asked = { model: field("model"), input: input.trimStart().startsWith("[") ? parsed(input, "The input") : input };
  for (const name of ["instructions", "previous_response_id"]) if (field(name)) asked[name] = field(name);
  for (const name of ["temperature", "max_output_tokens"]) if (field(name)) asked[name] = Number(field(name));
  if (field("tools")) {
    const tools = parsed(field("tools"), "The tools");
    if (tools.length) asked.tools = tools;
  }
  if (!form.elements.store.checked) asked.store = false;
  return asked;
}

function keepsNothing() {
  const tenant = form.elements.tenant;
  return (tenant.selectedOptions?.[0] ?? tenant).dataset?.keepsNothing === "yes";
}

function showRetention() {
  const nothing = keepsNothing();
  find("keeps-nothing").hidden = !nothing;
  form.elements.store.disabled = nothing;
  if (nothing) form.elements.store.checked = false;
}

// ---- what is shown

function problem(refusal) {
  const { message, code, param } = refusal.error ?? {};
  const facts = [refusal.status ? `status ${refusal.status}` : "", code ?? "", param ? `field ${param}` : ""].filter(Boolean);
  find("problem").textContent = `${message ?? refusal.message}${facts.length ? ` (${facts.join(", ")})` : ""}`;
  find("problem").hidden = false;
  find("problem").scrollIntoView({ block: "nearest" });
}

function showEvent(event, count) {
  const details = element("details");
  details.append(element("summary", "", `${event.sequence_number ?? count} ${event.type}${typeof event.delta === "string" ? ` ${JSON.stringify(event.delta)}` : ""}`));
  details.addEventListener("toggle", () => details.append(element("pre", "", JSON.stringify(event, null, 2))), { once: true });
  const line = element("li");
  line.append(details);
  const list = find("events");
  const isAtEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 40;
  list.append(line);
  if (isAtEnd) list.scrollTop = list.scrollHeight;
  find("count").textContent = `(${count})`;
}

class Shown {
  constructor(asked) {
    this.items = new Items();
    this.boxes = [];
    find("items").replaceChildren();
    const input = typeof asked.input === "string" ? [{ type: "message", role: "user", content: [{ text: asked.input }] }] : asked.input;
    for (const item of input) {
      const box = shownItem({ type: "message", ...item, content: typeof item.content === "string" ? [{ text: item.content }] : item.content });
      box.classList.add("pg-asked");
      find("items").append(box);
    }
  }

  apply(event) {
    const changed = this.items.apply(event);
    if (changed === null) return;
    const indexes = changed === "all" ? this.items.list.keys() : [changed];
    for (const at of indexes) {
      const box = shownItem(this.items.list[at]);
      if (this.boxes[at]) this.boxes[at].replaceWith(box);
      else find("items").append(box);
      this.boxes[at] = box;
    }
  }
}

function showFacts(response, began, firstAt) {
  const facts = { "Response": response.id, "Status": response.status };
  if (response.incomplete_details) facts["Cut short by"] = response.incomplete_details.reason;
  const usage = response.usage;
  if (usage) {
    const cached = usage.input_tokens_details?.cached_tokens ?? 0;
    const reasoning = usage.output_tokens_details?.reasoning_tokens ?? 0;
    facts["Input tokens"] = `${usage.input_tokens}${cached ? `, of them ${cached} cached` : ""}`;
    facts["Output tokens"] = `${usage.output_tokens}${reasoning ? `, of them ${reasoning} reasoning` : ""}`;
  }
  facts["Time"] = `${Math.round(performance.now() - began)} ms, first event after ${Math.round(firstAt - began)} ms`;
  for (const [name, value] of Object.entries(response)) {
    if (name.startsWith("antiphon:") && value !== null) facts[name] = JSON.stringify(value);
  }
  find("facts").replaceChildren(...Object.entries(facts).flatMap(([name, value]) => [element("dt", "", name), element("dd", "", String(value))]));
}

// ---- asking

function busy(isBusy, status) {
  find("send").disabled = isBusy;
  find("stop").disabled = !isBusy;
  find("continue").disabled = isBusy || !last;
  find("status").textContent = status;
}

async function ask() {
  find("problem").hidden = true;
  let asked = null;
  try {
    asked = body();
  } catch (error) {
    problem(error);
    return;
  }
  running = new AbortController();
  last = null;
  decided = new Map();
  busy(true, "Asking…");
  find("events").replaceChildren();
  find("count").textContent = "";
  find("facts").replaceChildren();
  const shown = new Shown(asked);
  find("status").scrollIntoView({ block: "nearest" }); // on a phone it is below the form
  const began = performance.now();
  let firstAt = null;
  let count = 0;
  try {
    for await (const event of TRANSPORTS[form.elements.transport.value](asked, await key(), running.signal)) {
      firstAt ??= performance.now();
      count += 1;
      showEvent(event, count);
      shown.apply(event);
      if (event.response) last = event.response;
      if (event.type === "error") problem(event);
      find("status").textContent = event.response ? `The response is ${event.response.status.replace("_", " ")}.` : "The answer comes…";
    }
    if (last) showFacts(last, began, firstAt);
    if (last?.error && find("problem").hidden) problem({ error: last.error });
    busy(false, last ? `The response is ${last.status.replace("_", " ")}.` : "The answer ended early.");
    goOn();
  } catch (error) {
    if (running.signal.aborted) {
      busy(false, "Stopped.");
    } else {
      if (error.status === 401) held = null;
      problem(error instanceof Refusal ? error : { message: `The connection broke: ${error.message}` });
      busy(false, "Not answered.");
    }
  }
}

// The form as it continues the last response, with what that one leaves to be answered.
function fillContinuation() {
  form.elements.previous_response_id.value = last.id;
  const calls = last.output.filter((item) => item.type === "function_call");
  const outputs = calls.map((call) => ({ type: "function_call_output", call_id: call.call_id, output: "" }));
  const answers = approvalRequests(last.output).map((request) => approvalResponse(request.id, decided.get(request.id) ?? false));
  const input = [...outputs, ...answers];
  form.elements.input.value = input.length ? JSON.stringify(input, null, 2) : "";
}

// Once the response has ended, and each of its approval requests has its answer.
function goOn() {
  const requests = approvalRequests(last?.output ?? []);
  if (find("continue").disabled || !requests.length || !requests.every((request) => decided.has(request.id))) return;
  fillContinuation();
  // Calls of functions are answered by hand, in the same request.
  if (last.output.some((item) => item.type === "function_call")) {
    form.elements.input.focus();
  } else {
    find("status").focus(); // the button that was pressed goes; in the input a phone would bring up its keyboard
    ask();
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (!find("send").disabled) ask();
});
find("stop").addEventListener("click", () => running?.abort());
find("continue").addEventListener("click", () => {
  fillContinuation();
  form.elements.input.focus();
});
find("items").addEventListener("pg-approval", (event) => {
  decided.set(event.detail.id, event.detail.approve);
  goOn();
});
for (const button of page.querySelectorAll("[data-tool]")) {
  button.addEventListener("click", () => {
    try {
      const tools = form.elements.tools.value.trim() ? parsed(form.elements.tools.value, "The tools") : [];
      form.elements.tools.value = JSON.stringify([...tools, EXAMPLES[button.dataset.tool]], null, 2);
    } catch (error) {
      problem(error);
    }
  });
}
form.elements.tenant.addEventListener("change", showRetention);
for (const button of page.querySelectorAll("[data-copy]")) {
  button.addEventListener("click", async () => {
    find("problem").hidden = true;
    try {
      const code = SNIPPETS[button.dataset.copy](shareable(body()), form.elements.transport.value !== "json");
      find("code").textContent = code;
      find("code").hidden = false;
      await navigator.clipboard.writeText(code);
      find("copied").textContent = "Copied. Put a key of your own into ANTIPHON_API_KEY, and what MCP servers ask for where < and > are.";
    } catch (error) {
      if (error instanceof Mistake) problem(error);
      else find("copied").textContent = "Select the code to copy it.";
    }
  });
}
showRetention();
