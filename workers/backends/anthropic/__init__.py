"""The Messages format, Anthropic's own, which other servers speak too."""
