"""The Hugging Face hub; the only module that imports huggingface_hub.

Files are fetched by plain HTTP, not by Xet: HTTP continues where a transfer was cut, and its bytes can be counted as
they arrive. The settings of the hub's library hold: HF_ENDPOINT, HF_TOKEN, HF_HOME, HF_HUB_OFFLINE; and the proxy
variables.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import quote

from livetrans.base.errors import ModelError, UsageError, sentence
from livetrans.session.codec import decode

if TYPE_CHECKING:
    import httpx2

Arrived = Callable[[int], None]
"""Called with the bytes of a file that are on the disk, as they arrive."""

_COMMIT = re.compile("[0-9a-f]{40}")
_LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_SECONDS = 20.0
"""Longest wait for a connection, and for the next bytes."""
_PAUSES = (1.0, 2.0, 4.0, 8.0)
"""Seconds before each repetition of a request that failed for a passing cause; arriving bytes start the series anew."""
_PASSING = (408, 500, 502, 503, 504)
"""Status codes of a server that may pass."""


@dataclass(frozen=True, slots=True)
class LargeFile:
    """Entry that the hub has for large files only."""

    sha256: str


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file of a repository, by the hub's names."""

    rfilename: str
    """Its path."""
    size: int
    blobId: str | None = None
    """Git's SHA-1."""
    lfs: LargeFile | None = None


@dataclass(frozen=True, slots=True)
class Revision:
    """A repository at a commit, by the hub's names."""

    sha: str
    siblings: tuple[RemoteFile, ...]


def look_up(repository: str, revision: str) -> Revision:
    """Return the commit of a branch or of a commit's hash, and its files with sizes and hashes.

    Raises:
        UsageError: there is no such repository or revision, or its terms have to be accepted first.
        ModelError: the hub cannot be reached, or refuses, or answers with another commit; the sentence says what to do.
    """
    if is_offline():
        raise ModelError("HF_HUB_OFFLINE forbids the network; unset it, and run the same command again")

    def ask() -> Revision:
        with _answer(f"api/models/{repository}/revision/{quote(revision, safe='')}?blobs=true") as response:
            response.read()
            return decode(Revision, response.json())

    with _plain_errors(repository):
        found: Revision = _persistently(ask)
        # The commit becomes the name of a folder.
        if not _COMMIT.fullmatch(found.sha) or (_COMMIT.fullmatch(revision) and found.sha != revision):
            raise ValueError(f"it has commit {found.sha} in place of {revision}")
        return found


def fetch(repository: str, commit: str, file: RemoteFile, target: Path, arrived: Arrived) -> None:
    """Fetch a file to `target`, which may hold its beginning; if the fetch is cut, what arrived stays there.

    Each request goes to the hub, which names the address of the bytes anew: such addresses expire.

    Raises:
        UsageError, ModelError: as `look_up`, or the disk is full; the sentence says what was kept.
    """
    path = f"{repository}/resolve/{commit}/{quote(file.rfilename)}"
    with _plain_errors(repository, target), target.open("ab") as stream:
        _persistently(lambda: _receive(path, file, stream, arrived), stream)


def _persistently(request: Callable[[], Any], stream: BinaryIO | None = None) -> Any:
    """Make a request until it succeeds, or fails for a lasting cause, or too often without a further byte.

    `stream` is where the bytes of a file are written. A request without one is not repeated if the connection fails.
    """
    import httpx2

    pauses, reached = iter(_PAUSES), stream.tell() if stream else 0
    while True:
        try:
            return request()
        except (httpx2.HTTPStatusError, httpx2.TransportError) as error:
            may_pass = stream is not None
            if isinstance(error, httpx2.HTTPStatusError):
                # 403 after a redirect is the answer to an address that has expired.
                expired = error.response.status_code == 403 and bool(error.response.history)
                may_pass = error.response.status_code in _PASSING or expired
            if stream and stream.tell() > reached:
                pauses, reached = iter(_PAUSES), stream.tell()
            pause = next(pauses, None)
            if pause is None or not may_pass:
                raise
        time.sleep(pause)


def _receive(path: str, file: RemoteFile, stream: BinaryIO, arrived: Arrived) -> None:
    """Append the rest of a file to a stream by one request; every block is on the disk before the next is read.

    Raises:
        httpx2.HTTPError: the request failed, or the answer ended early.
        ValueError: the server has fewer bytes than are listed.
    """
    import httpx2

    arrived(stream.tell())
    if stream.tell() >= file.size:
        return
    with _answer(path, stream.tell()) as response:
        if response.status_code == 416:
            raise ValueError(f"{file.rfilename} is shorter than the {file.size:,} bytes listed for it")
        if response.status_code != 206:  # the whole file
            stream.seek(0)
            stream.truncate()
        for block in response.iter_bytes():
            # More than is listed is not read; the hash decides.
            stream.write(block[: file.size - stream.tell()])
            stream.flush()
            arrived(stream.tell())
            if stream.tell() == file.size:
                return
    raise httpx2.RemoteProtocolError("the answer ended early")


@contextlib.contextmanager
def _answer(path: str, begin: int = 0) -> Iterator[httpx2.Response]:
    """Ask the hub for a path, from a byte on; the token goes to no other host."""
    from huggingface_hub import get_token

    token = get_token()
    headers = {"Accept-Encoding": "identity"} | ({"Authorization": f"Bearer {token}"} if token else {})
    if begin:
        headers["Range"] = f"bytes={begin}-"
    with _client().stream("GET", f"{_constants().ENDPOINT}/{path}", headers=headers) as response:
        if response.status_code != 416:
            response.raise_for_status()
        yield response


@cache
def _client() -> httpx2.Client:
    import httpx2

    hooks = {"request": [_refuse_unencrypted]}
    try:
        return httpx2.Client(event_hooks=hooks, follow_redirects=True, timeout=_SECONDS)
    except (ImportError, ValueError, httpx2.InvalidURL) as error:
        reason = "a SOCKS proxy needs the package socksio" if isinstance(error, ImportError) else error
        raise UsageError(f"the proxy in ALL_PROXY, HTTPS_PROXY or HTTP_PROXY cannot be used ({reason})") from None


def _refuse_unencrypted(request: httpx2.Request) -> None:
    if request.url.scheme != "https" and request.url.host not in _LOCAL_HOSTS:
        raise UsageError(f"{request.url} is not an encrypted address; set HF_ENDPOINT to one that begins with https://")


def verify_hash(path: Path, file: RemoteFile, expected_sha256: str | None = None) -> str:
    """Return the SHA-256 of a fetched file after comparing it with the published hash; delete the file if they differ.

    Raises:
        ModelError: they differ.
    """
    found = sha256_of(path)
    published = {file.lfs.sha256 if file.lfs else None, expected_sha256} - {None}
    if published - {found} or (not published and file.blobId not in (None, _git_sha1(path))):
        path.unlink()
        raise ModelError(
            f"{file.rfilename} did not have the published hash, and was deleted; "
            "run the same command again, and do not use the model if this happens twice"
        )
    return found


def sha256_of(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _git_sha1(path: Path) -> str:
    head = b"blob %d\0" % path.stat().st_size
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, lambda: hashlib.sha1(head, usedforsecurity=False)).hexdigest()


def cached_files(folder: Path | None) -> Iterator[tuple[str, Path, str]]:
    """Yield repository, path and content name (a large file's SHA-256) of the files in a cache of the hub's library.

    None is the user's own cache. The files are those of the commit of `main`, or else of the newest one.
    """
    path = folder or Path(_constants().HF_HUB_CACHE)
    if not path.is_dir():
        return
    from huggingface_hub import scan_cache_dir

    with contextlib.suppress(OSError, ValueError):
        for repository in sorted(scan_cache_dir(path).repos, key=lambda one: one.repo_id):
            if repository.repo_type == "model" and repository.revisions:
                newest = max(repository.revisions, key=lambda one: ("main" in one.refs, one.last_modified))
                for file in sorted(newest.files, key=lambda one: one.file_path):
                    yield repository.repo_id, file.file_path, file.blob_path.name


def is_offline() -> bool:
    return bool(_constants().is_offline_mode())


def _constants() -> Any:
    """Return what huggingface_hub reads from the environment."""
    try:
        from huggingface_hub import constants
    except ValueError as error:
        raise UsageError(
            f"HF_ENDPOINT, or another variable of the Hugging Face hub's library, is malformed ({error}); "
            "correct it, or unset it"
        ) from None
    return constants


@contextlib.contextmanager
def _plain_errors(repository: str, target: Path | None = None) -> Iterator[None]:
    """Turn a failed request or a full disk into one sentence that says what to do."""
    import httpx2

    page = f"{_constants().ENDPOINT}/{repository}"
    try:
        yield
    except httpx2.HTTPStatusError as error:
        status, host = error.response.status_code, error.response.url.host
        if status in (401, 403, 404) and not error.response.history:
            raise UsageError(
                f"{page} cannot be read ({status}); check the name, or if the model is private or has terms to accept, "
                "accept them there and set HF_TOKEN to a token of your account"
            ) from None
        later = "in some minutes, or set HF_TOKEN, which allows more requests" if status == 429 else "later"
        raise ModelError(
            f"{host} answered with an error ({status}) for {repository}; run the same command again {later}"
        ) from None
    except OSError as error:
        if error.errno not in _FULL or target is None:
            raise
        raise ModelError(
            f"the disk of {target.parent} is full; free some space, and run the same command again{_continues(target)}"
        ) from None
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise ModelError(
            f"the connection to {page} failed ({error}); check it and run the same command again{_continues(target)}; "
            "without one, copy the files from another machine and name them with --asr FOLDER and --mt FILE"
        ) from None
    except (ValueError, TypeError) as error:
        raise ModelError(
            f"{page} did not answer as a model hub does ({sentence(error)}); check the name and HF_ENDPOINT, "
            "and whether the network wants a login first"
        ) from None


def _continues(target: Path | None) -> str:
    return f": it continues after the {target.stat().st_size / 1e6:.1f} MB that arrived" if target else ""
