"""Signed links that let somebody without an account fetch one file."""

import hashlib
import hmac
import time
from dataclasses import dataclass
from urllib.parse import parse_qs, urlencode, urlsplit


class LinkError(Exception):
    """The link is malformed, was altered, or has expired."""


@dataclass(frozen=True)
class Grant:
    """What a valid link allows."""

    path: str
    preview_bytes: int | None  # None: the whole file


class LinkSigner:
    def __init__(self, key: bytes, clock=time.time):
        self._key = key
        self._clock = clock

    def _signature(self, *fields: str) -> str:
        message = "".join(fields)
        return hmac.new(self._key, message.encode(), hashlib.sha256).hexdigest()

    def make(self, path: str, lifetime: int, preview_bytes: int | None = None) -> str:
        """Return a relative URL for `path` that works for `lifetime` seconds.

        With `preview_bytes` it gives only that many bytes from the file's start.
        """
        if "\n" in path or "?" in path or "#" in path:
            raise ValueError(f"path cannot be shared: {path!r}")
        if preview_bytes is not None and preview_bytes < 1:
            raise ValueError("preview_bytes must be at least 1")
        expires = str(int(self._clock()) + lifetime)
        limit = "" if preview_bytes is None else str(preview_bytes)
        fields = {"e": expires, "n": limit, "s": self._signature(path, expires, limit)}
        return f"{path}?{urlencode(fields)}"

    def check(self, url: str) -> Grant:
        """Return what `url` grants access to, or raise LinkError."""
        parts = urlsplit(url)
        query = parse_qs(parts.query)
        expires = query.get("e", [""])[0]
        limit = query.get("n", [""])[0]
        given = query.get("s", [""])[0]
        wanted = self._signature(parts.path, expires, limit)
        if not hmac.compare_digest(wanted.encode(), given.encode()):
            raise LinkError("signature does not match")
        if int(expires) < self._clock():
            raise LinkError("link has expired")
        return Grant(parts.path, int(limit) if limit else None)
