"""Tools for models that know none: a schema holds the answer to a turn that is either a call or an answer.

It wraps the adapter of any kind whose servers can hold an answer to a JSON Schema. A turn is one JSON object:

| turn | means |
| --- | --- |
| `{"answer": "…"}` | what the assistant says; where the request wants JSON of its own, that instead of the string |
| `{"tool": "NAME", "arguments": {…}}` | a call |
| `{"tool": "NAME", "arguments": {…}, "also": [{"tool": …, "arguments": …}]}` | several calls at once |

`schema.py` says which of them a request admits, `wording.py` tells the model of them, `job.py` makes the job that the
wrapped adapter maps, `reader.py` reads the turn while it comes, `adapter.py` puts all of it around an adapter.
"""
