"""The event log: what a worker tells, ordered and replayable, carried over Valkey to whoever follows.

Two streams take each message in one pipeline write. The *inbox* of the web process that asked is the fast way: all that
is pending for it in a turn of the worker's loop travels as one entry. The *journal* of a streamed response keeps its
messages while it runs and a short while after: what was told can be told again, and a lost worker's half-told answer
can be ended truthfully.

`publish` is the worker's end, `follow` the web's; `claims` says who runs what; `bus` reaches every process at once.
"""
