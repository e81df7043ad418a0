"""Backends that speak the Responses API: OpenAI, vLLM, llama.cpp, other Open Responses servers."""
