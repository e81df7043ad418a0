"""The Chat Completions wire format, as spoken by OpenAI, vLLM, llama.cpp, Ollama and most gateways."""
