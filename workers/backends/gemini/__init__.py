"""Backends that speak Gemini's generateContent."""
