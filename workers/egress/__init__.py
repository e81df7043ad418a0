"""What leaves for an address that a request or a policy named: checked, pinned and bounded, whoever asks for it.

`protocol/egress.py` says what may be reached. Here a name is resolved once, every address that it has is judged, and
the connection goes to one of those: DNS that answers otherwise a moment later changes nothing. Every request of a
client, a redirect's as well, passes through the same transport.
"""
