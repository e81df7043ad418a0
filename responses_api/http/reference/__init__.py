"""The reference: what the service can do, said once, for programs (`/openapi.json`), people (`/docs`) and agents
(`/llms.txt`).

`calls.py` is the registry of the calls and `refusals.py` that of the errors; shapes come from the protocol's types.
"""
