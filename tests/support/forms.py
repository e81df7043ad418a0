"""Forms with a file, byte by byte."""

from tests.support.client import Answer, Client

BOUNDARY = "b0undary"
HEADERS = {"content-type": f"multipart/form-data; boundary={BOUNDARY}"}


def part(disposition: str, content: bytes, *headers: str) -> bytes:
    """One part of a form."""
    lines = [f"--{BOUNDARY}", f"Content-Disposition: form-data; {disposition}", *headers, "", ""]
    return "\r\n".join(lines).encode() + content + b"\r\n"


def file_part(content: bytes, name: str = "herons.txt", *headers: str) -> bytes:
    """The part of the file."""
    return part(f'name="file"; filename="{name}"', content, *headers)


def form(*parts: bytes, **fields: str) -> bytes:
    """A whole form: its fields, then these parts."""
    told = b"".join(part(f'name="{name}"', value.encode()) for name, value in fields.items())
    return told + b"".join(parts) + f"--{BOUNDARY}--\r\n".encode()


def send(client: Client, *pieces: bytes, **headers: str) -> Answer:
    """Send a form, in these pieces."""
    body = pieces if len(pieces) > 1 else pieces[0]
    return client.request("POST", "/files", body, {**HEADERS, **headers})


def upload(client: Client, content: bytes, name: str = "herons.txt", purpose: str = "user_data") -> Answer:
    """Upload a file."""
    return send(client, form(file_part(content, name), purpose=purpose))
