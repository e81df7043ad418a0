"""Model backends: one package per wire format, one client for all of them.

A format maps a job to the upstream's request (`request.py`) and the upstream's bytes to parts (`stream.py`).
Nothing here knows Django, the event stream or the client.
"""
