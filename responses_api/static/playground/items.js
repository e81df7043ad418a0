// Items as they grow, and how they are shown.
import { element, readable } from "./elements.js";
import { grow, shownReceipt } from "./receipts.js";

// What of a part or item each kind of delta makes longer.
const GROWS = {
  "response.output_text.delta": "text",
  "response.refusal.delta": "refusal",
  "response.reasoning.delta": "text",
  "response.reasoning_text.delta": "text",
};

// The items of one response: `apply` takes an event and tells which item changed, or null.
export class Items {
  constructor() {
    this.list = [];
  }

  apply(event) {
    const at = event.output_index;
    if (event.response?.output?.length) {
      this.list = event.response.output;
      return "all";
    }
    if (event.type === "response.output_item.added" || event.type === "response.output_item.done") {
      this.list[at] = structuredClone(event.item);
      return at;
    }
    const item = this.list[at];
    if (!item) return null;
    if (event.type === "response.content_part.added" || event.type === "response.content_part.done") {
      (item.content ??= [])[event.content_index] = structuredClone(event.part);
    } else if (event.type in GROWS) {
      const part = ((item.content ??= [])[event.content_index] ??= { type: "output_text" });
      part[GROWS[event.type]] = (part[GROWS[event.type]] ?? "") + event.delta;
    } else if (event.type === "response.reasoning_summary_text.delta") {
      const part = ((item.summary ??= [])[event.summary_index] ??= { type: "summary_text", text: "" });
      part.text += event.delta;
    } else if (event.type === "response.function_call_arguments.delta") {
      item.arguments = (item.arguments ?? "") + event.delta;
    } else if (!grow(item, event)) {
      return null;
    }
    return at;
  }
}

function shownPart(part) {
  if (typeof part.refusal === "string") return element("div", "pg-text pg-refused", `Refused: ${part.refusal}`);
  if (typeof part.text === "string") return element("div", "pg-text", part.text);
  return element("pre", "pg-code", JSON.stringify(part, null, 2));
}

export function shownItem(item) {
  const box = element("article", "pg-item");
  const state = item.step ?? item.status;
  const status = state && state !== "completed" ? ` · ${state.replace("_", " ")}` : "";
  box.append(element("header", "", `${item.type === "message" ? item.role : item.type.replaceAll("_", " ")}${status}`));
  const receipt = shownReceipt(item);
  if (item.type === "message" || item.type === "reasoning") {
    for (const part of [...(item.summary ?? []), ...(item.content ?? [])]) if (part) box.append(shownPart(part));
  } else if (item.type === "function_call") {
    box.append(element("div", "pg-text", `${item.name}(…)`), element("pre", "pg-code", readable(item.arguments)));
  } else if (receipt) {
    box.append(...receipt);
  } else {
    box.append(element("pre", "pg-code", JSON.stringify(item, null, 2)));
  }
  return box;
}
