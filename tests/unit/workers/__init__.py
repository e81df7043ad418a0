"""The workers' pure parts: adapters, upstream client and emitter."""
