// Receipts of tools that the service runs by itself, in either spelling: what was called, and what came of it.
import { element, readable } from "./elements.js";

const kind = (item) => String(item.type ?? "").replace("antiphon:", "");

function labelled(label, text, className = "pg-code") {
  return [element("div", "pg-hint", label), element(className === "pg-code" ? "pre" : "div", className, text)];
}

function problems(item) {
  const shown = [];
  if (item.error) shown.push(element("div", "pg-text pg-refused", typeof item.error === "string" ? item.error : JSON.stringify(item.error)));
  const refusal = item["antiphon:refused_by"];
  if (refusal) shown.push(element("div", "pg-hint", `Refused by the policy of the ${refusal.policy}, rule ${refusal.rule}.`));
  return shown;
}

function tools(item) {
  const list = element("ul", "pg-list");
  for (const tool of item.tools ?? []) {
    const line = element("li");
    line.append(element("strong", "", tool.name), ` ${tool.description ?? ""}`);
    list.append(line);
  }
  return [element("div", "pg-text", `Tools of ${item.server_label}`), list, ...problems(item)];
}

function call(item) {
  const shown = [element("div", "pg-text", `${item.server_label} · ${item.name}(…)`), element("pre", "pg-code", readable(item.arguments)), ...problems(item)];
  if (item.output !== null && item.output !== undefined) shown.push(...labelled("Output", readable(item.output)));
  return shown;
}

// The buttons tell the page, by an event, what was decided; it asks once every request of the response has its answer.
function request(item) {
  const actions = element("div", "pg-actions");
  for (const [name, approve] of [["Approve", true], ["Deny", false]]) {
    const button = element("button", `pg-button${approve ? " pg-primary" : ""}`, name);
    button.type = "button";
    button.addEventListener("click", () => {
      for (const each of actions.children) each.disabled = true;
      actions.append(element("span", "pg-hint", approve ? "Approved." : "Denied."));
      button.dispatchEvent(new CustomEvent("pg-approval", { bubbles: true, detail: { id: item.id, approve } }));
    });
    actions.append(button);
  }
  return [element("div", "pg-text", `May ${item.server_label} · ${item.name}(…) be called?`), element("pre", "pg-code", readable(item.arguments)), actions];
}

function response(item) {
  return [element("div", "pg-text", `${item.approve ? "Approved" : "Denied"}: ${item.approval_request_id}${item.reason ? ` (${item.reason})` : ""}`)];
}

function search(item) {
  const shown = [element("div", "pg-text", (item.queries ?? []).join("\n")), ...problems(item)];
  for (const result of item.results ?? []) {
    const details = element("details");
    details.append(element("summary", "", `${result.filename} · ${Number(result.score).toFixed(3)}`), element("div", "pg-text", result.text));
    shown.push(details);
  }
  return shown;
}

const SHOWN = {
  mcp_list_tools: tools,
  mcp_call: call,
  mcp_approval_request: request,
  mcp_approval_response: response,
  file_search_call: search,
};

// The parts of a receipt's box; null for an item that is none.
export function shownReceipt(item) {
  return SHOWN[kind(item)]?.(item) ?? null;
}

// Takes an event of a receipt: true where it changed the item.
export function grow(item, event) {
  if (!(kind(item) in SHOWN) || event.item_id !== item.id) return false;
  if (event.type.endsWith("mcp_call_arguments.delta")) item.arguments = (item.arguments ?? "") + event.delta;
  else if (event.type.endsWith("mcp_call_arguments.done")) item.arguments = event.arguments;
  else item.step = event.type.split(".").at(-1);
  return true;
}

export const approvalRequests = (output) => output.filter((item) => kind(item) === "mcp_approval_request");

export function approvalResponse(id, approve) {
  return { type: "mcp_approval_response", approval_request_id: id, approve };
}
