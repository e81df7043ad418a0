"""The local model as a backend of the service: `python -m config.local.backend URL`.

The first run adds it. Later ones change what follows from the model and where it is served, its address and that its
tools are emulated; what the operator changed (switched it off, other timeouts, more routes) stays as it is.
"""

import json
import os
import sys

import django
from django.core.management import call_command

from config.local.model import CONTEXT_WINDOW
from config.local.model import NAME as MODEL

NAME = "local"
TOOLS = "emulated"
_END_OF_TURN = 2
_LIKELIER = 4
DEFAULT_OPTIONS = {"logit_bias": {str(_END_OF_TURN): _LIKELIER}}
"""Left to itself a model of this size seldom finds an end: the token `<|im_end|>` is made a little likelier. Where an
answer is held to a schema, the token can come only where the schema lets it.
"""


def register(base_url: str) -> None:
    """Add the backend at `base_url`, or move the one that is there. The model knows no tools: one that was added before
    they could be emulated has them from now on.
    """
    from responses_api.models import Backend

    backend = Backend.objects.filter(name=NAME).first()
    if backend is None:
        call_command(
            "add_backend",
            NAME,
            f"--base-url={base_url}",
            f"--model={MODEL}",
            f"--context-window={CONTEXT_WINDOW}",
            "--token-counting=llama_cpp",
            "--images=noted",
            f"--tools={TOOLS}",
            *(f"--default-option={name}={json.dumps(value)}" for name, value in DEFAULT_OPTIONS.items()),
        )
    elif (backend.base_url, backend.tools) != (base_url, TOOLS):
        backend.base_url, backend.tools = base_url, TOOLS
        backend.save(update_fields=["base_url", "tools"])


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    register(sys.argv[1])
