"""Write the expected events of every scenario anew."""

from responses_api.protocol.sse import frames_to_data
from tests.golden.play import events_path, play, scenarios

for scenario in scenarios():
    events_path(scenario).write_bytes(b"".join(data + b"\n" for data in frames_to_data(play(scenario))))
