"""Where OpenAI's own Chat Completions and everybody else's differ."""

from dataclasses import dataclass
from typing import Final, Literal


@dataclass(frozen=True, slots=True)
class Dialect:
    """What a server of this format knows of the request. OpenAI refuses each field that it does not know.

    `token_limit_field`: what the limit of output tokens is called. `takes_state`: whether it invented fields for
    reasoning and wants them back. `takes_videos`: whether it may know the content part `video_url`; who does not, says
    so. `takes_cache_key`: whether it knows `prompt_cache_key`.
    """

    token_limit_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    takes_state: bool = True
    takes_videos: bool = True
    takes_cache_key: bool = False


ANYBODY: Final = Dialect()
OPENAI: Final = Dialect("max_completion_tokens", takes_state=False, takes_videos=False, takes_cache_key=True)
