"""A small OpenID Connect provider on loopback: discovery, authorization code with PKCE, signed id tokens, userinfo."""

import base64
import hashlib
import json
import secrets
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

CLIENT_ID = "antiphon"
CLIENT_SECRET = "a secret of the provider"


class IdentityProvider:
    """The provider. `person` is who is signed in there; `refuses` makes it answer no token."""

    def __init__(self) -> None:
        self.person: dict[str, Any] = {}
        self.refuses = False
        self.audience = CLIENT_ID
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self._codes: dict[str, dict[str, str]] = {}
        self._tokens: dict[str, dict[str, Any]] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.issuer = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> "IdentityProvider":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def authorize(self, url: str) -> str:
        """What the person's browser is told when it comes to the authorization page at `url`: where to go back to."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        assert url.startswith(f"{self.issuer}/authorize?")
        assert asked["client_id"] == CLIENT_ID
        assert asked["code_challenge_method"] == "S256"
        assert "openid" in asked["scope"].split()
        code = secrets.token_urlsafe(16)
        self._codes[code] = asked
        back = urlsplit(asked["redirect_uri"])
        return f"{back.path}?{urlencode({'code': code, 'state': asked['state']})}"

    def document(self) -> dict[str, Any]:
        """The discovery document."""
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "userinfo_endpoint": f"{self.issuer}/userinfo",
            "jwks_uri": f"{self.issuer}/keys",
            "token_endpoint_auth_methods_supported": ["client_secret_post"],
        }

    def keys(self) -> dict[str, Any]:
        """The public key."""
        public = json.loads(RSAAlgorithm.to_jwk(self._key.public_key()))
        return {"keys": [{**public, "kid": "1", "alg": "RS256", "use": "sig"}]}

    def token(self, form: dict[str, str]) -> dict[str, Any] | None:
        """The tokens for a code; None refuses."""
        asked = self._codes.pop(form.get("code", ""), None)
        if asked is None or self.refuses or form.get("client_secret") != CLIENT_SECRET:
            return None
        proof = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        if base64.urlsafe_b64encode(proof).rstrip(b"=").decode() != asked["code_challenge"]:
            return None
        access = secrets.token_urlsafe(16)
        self._tokens[access] = dict(self.person)
        claims = {**self.person, "iss": self.issuer, "aud": self.audience, "exp": int(time.time()) + 60}
        id_token = jwt.encode(claims, self._key, algorithm="RS256", headers={"kid": "1"})
        return {"access_token": access, "token_type": "Bearer", "id_token": id_token, "expires_in": 60}

    def userinfo(self, authorization: str) -> dict[str, Any] | None:
        """Who an access token stands for."""
        return self._tokens.get(authorization.removeprefix("Bearer "))


def _handler(provider: IdentityProvider) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            documents: dict[str, Any] = {
                "/.well-known/openid-configuration": provider.document,
                "/keys": provider.keys,
                "/userinfo": lambda: provider.userinfo(self.headers.get("Authorization", "")),
            }
            make = documents.get(urlsplit(self.path).path)
            self._answer(make() if make else None)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            self._answer(provider.token({name: values[0] for name, values in parse_qs(body).items()}))

        def _answer(self, told: dict[str, Any] | None) -> None:
            body = json.dumps(told or {"error": "invalid_grant"}).encode()
            self.send_response(200 if told else 400)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    return Handler
