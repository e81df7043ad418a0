// An app on the AI SDK, as its users write it. Its first argument says what it does; it prints one JSON object.
import { createOpenResponses } from "@ai-sdk/open-responses";
import { generateText, isStepCount, Output, streamText, tool } from "ai";
import { z } from "zod";

const { BASE_URL, API_KEY, MODEL } = process.env;
const provider = createOpenResponses({ name: "antiphon", url: `${BASE_URL}/responses`, apiKey: API_KEY });
const model = provider(MODEL);

const weather = tool({
  description: "The weather of a place",
  inputSchema: z.object({ location: z.string() }),
  execute: async ({ location }) => `12 degrees in ${location}`,
});

const scenes = {
  async text() {
    const { text, usage, finishReason } = await generateText({ model, prompt: "Hello", maxRetries: 0 });
    return { text, usage, finishReason };
  },
  async stream() {
    const result = streamText({ model, prompt: "Hello", maxRetries: 0, onError() {} });
    const parts = [];
    for await (const part of result.fullStream) parts.push(part);
    return {
      deltas: parts.filter((part) => part.type === "text-delta").map((part) => part.text),
      reasoning: parts.filter((part) => part.type === "reasoning-delta").map((part) => part.text),
      errors: parts.filter((part) => part.type === "error").map((part) => String(part.error?.message ?? part.error)),
      finishReason: parts.find((part) => part.type === "finish")?.finishReason ?? null,
    };
  },
  async tools() {
    const result = await generateText({
      model,
      prompt: "How is the weather?",
      tools: { get_weather: weather },
      stopWhen: isStepCount(3),
      maxRetries: 0,
    });
    return { text: result.text, steps: result.steps.length };
  },
  async streamedTools() {
    const result = streamText({
      model,
      prompt: "How is the weather?",
      tools: { get_weather: weather },
      stopWhen: isStepCount(3),
      maxRetries: 0,
    });
    const calls = [];
    for await (const part of result.fullStream) if (part.type === "tool-call") calls.push(part.input);
    return { text: await result.text, calls };
  },
  async object() {
    const schema = z.object({ name: z.string(), age: z.number() });
    const result = await generateText({ model, prompt: "Who?", output: Output.object({ schema }), maxRetries: 0 });
    return { object: result.output };
  },
  async turns() {
    const messages = [
      { role: "system", content: "Be brief." },
      { role: "user", content: "My name is Ada." },
      { role: "assistant", content: "Hello Ada." },
      { role: "user", content: [{ type: "text", text: "And who am I?" }] },
    ];
    const { text } = await generateText({ model, messages, allowSystemInMessages: true, maxRetries: 0 });
    return { text };
  },
  async refused() {
    try {
      await generateText({ model: provider("no-such-model"), prompt: "Hello", maxRetries: 0 });
      return { refused: false };
    } catch (error) {
      return { refused: true, status: error.statusCode, message: error.message };
    }
  },
};

console.log(JSON.stringify(await scenes[process.argv[2]]()));
