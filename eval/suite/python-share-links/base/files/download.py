"""The handler behind /shared/…"""

from files.links import LinkError, LinkSigner


def serve_shared(url: str, signer: LinkSigner, storage) -> tuple[int, bytes]:
    try:
        path = signer.check(url)
    except LinkError as exc:
        return 403, str(exc).encode()
    try:
        return 200, storage.read(path)
    except FileNotFoundError:
        return 404, b"no such file"
