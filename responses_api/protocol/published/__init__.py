"""The shapes of everything the service sends, as the reference publishes them.

The service makes plain dicts; these types are what `/openapi.json` is generated from, and tests hold every answer
and every event against them, without a field more or less. Nothing that serves a request imports them.
"""
