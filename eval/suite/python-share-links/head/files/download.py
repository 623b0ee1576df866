"""The handler behind /shared/…"""

from files.links import LinkError, LinkSigner


def serve_shared(url: str, signer: LinkSigner, storage) -> tuple[int, bytes]:
    try:
        grant = signer.check(url)
    except LinkError as exc:
        return 403, str(exc).encode()
    try:
        content = storage.read(grant.path)
    except FileNotFoundError:
        return 404, b"no such file"
    if grant.preview_bytes is not None:
        return 200, content[: grant.preview_bytes]
    return 200, content
