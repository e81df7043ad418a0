// The request as code. The key is a placeholder: the playground's own never leaves the page's memory. So is what lets the
// service in at MCP servers: code is pasted where others read it.

const quoted = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

// JSON as a Python literal: the words differ, strings and numbers do not.
function python(value, indent) {
  const inner = " ".repeat(indent + 4);
  const outer = " ".repeat(indent);
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) {
    if (!value.length) return "[]";
    return `[\n${value.map((entry) => `${inner}${python(entry, indent + 4)},\n`).join("")}${outer}]`;
  }
  if (typeof value === "object") {
    const fields = Object.entries(value).map(([name, entry]) => `${inner}${JSON.stringify(name)}: ${python(entry, indent + 4)},\n`);
    return fields.length ? `{\n${fields.join("")}${outer}}` : "{}";
  }
  return JSON.stringify(value);
}

const instead = (what, label) => `<${what} of ${label}>`;

function shareableTool(tool) {
  if (tool?.type !== "mcp") return tool;
  const shown = { ...tool };
  const label = tool.server_label;
  if (tool.authorization) shown.authorization = instead("authorization", label);
  if (tool.headers && typeof tool.headers === "object") {
    shown.headers = Object.fromEntries(Object.keys(tool.headers).map((name) => [name, instead(name, label)]));
  }
  const [address, query] = String(tool.server_url ?? "").split(/\?(.*)/s);
  if (query) shown.server_url = `${address}?${instead("query", label)}`;
  return shown;
}

// The request with names in the place of what only its MCP servers may see.
export function shareable(body) {
  return body.tools ? { ...body, tools: body.tools.map(shareableTool) } : body;
}

export const SNIPPETS = {
  curl(body, stream) {
    return `curl ${stream ? "-N " : ""}${location.origin}/v1/responses \\
  -H "Authorization: Bearer $ANTIPHON_API_KEY" \\
  -H "Content-Type: application/json" \\
  -d ${quoted(JSON.stringify(stream ? { ...body, stream } : body, null, 2))}
`;
  },
  python(body, stream) {
    const fields = Object.entries(stream ? { ...body, stream } : body);
    const given = fields.map(([name, value]) => `    ${name}=${python(value, 4)},\n`).join("");
    const tell = stream
      ? `for event in response:
    print(event.type, getattr(event, "delta", ""))
`
      : "print(response.output_text)\n";
    return `import os

from openai import OpenAI

client = OpenAI(base_url="${location.origin}/v1", api_key=os.environ["ANTIPHON_API_KEY"])
response = client.responses.create(
${given})
${tell}`;
  },
  javascript(body, stream) {
    const given = JSON.stringify(stream ? { ...body, stream } : body, null, 2);
    const tell = stream
      ? "for await (const event of response) console.log(event.type, event.delta ?? \"\");\n"
      : "console.log(response.output_text);\n";
    return `import OpenAI from "openai";

const client = new OpenAI({ baseURL: "${location.origin}/v1", apiKey: process.env.ANTIPHON_API_KEY });
const response = await client.responses.create(${given});
${tell}`;
  },
};
