"""The fields of each wire format that are the service's to set: what is asked, of which model, and what it may cost.

Policies and quotas were asked about these, so no backend option takes the place of one: neither a request's nor a
default of the backend's row.
"""

from typing import Final

CHAT_COMPLETIONS: Final = frozenset(
    {
        "model",
        "models",
        "route",
        "fallbacks",
        "api_base",
        "base_url",
        "api_key",
        "messages",
        "prompt",
        "stream",
        "stream_options",
        "max_tokens",
        "max_completion_tokens",
        "max_new_tokens",
        "max_tokens_to_sample",
        "n_predict",
        "num_predict",
        "n",
        "best_of",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "functions",
        "function_call",
        "plugins",
        "web_search_options",
        "response_format",
        "user",
        "safety_identifier",
        "store",
        "metadata",
        "service_tier",
        "extra_body",
        "extra_headers",
    }
)
"""Under the names that servers of this format have for it, gateways (`models`, `fallbacks`, `api_base`, `plugins`,
`extra_body` …) included."""

ANTHROPIC: Final = frozenset(
    {
        "model",
        "messages",
        "system",
        "stream",
        "max_tokens",
        "tools",
        "tool_choice",
        "mcp_servers",
        "container",
        "metadata",
        "service_tier",
        "inference_geo",
        "speed",
        "workspace_id",
        "user_profile_id",
    }
)

GEMINI: Final = frozenset(
    {
        "model",
        "contents",
        "systemInstruction",
        "tools",
        "toolConfig",
        "generationConfig",
        "generateContentRequest",
        "cachedContent",
        "serviceTier",
        "store",
        "labels",
    }
)

RESPONSES: Final = frozenset(
    {
        "model",
        "input",
        "instructions",
        "conversation",
        "prompt",
        "previous_response_id",
        "store",
        "stream",
        "stream_options",
        "background",
        "max_output_tokens",
        "max_tool_calls",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "text",
        "response_format",
        "include",
        "metadata",
        "user",
        "safety_identifier",
        "service_tier",
    }
)

OWN_FIELDS: Final = CHAT_COMPLETIONS | ANTHROPIC | GEMINI | RESPONSES
"""Those of every format: servers of one read the words of another (llama.cpp takes `n_predict` for the limit of tokens
beside all of them), and gateways those of each.
"""
