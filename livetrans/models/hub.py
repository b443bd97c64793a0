"""The Hugging Face hub; the only module that connects to other machines, and that imports huggingface_hub and httpx2.

Files are fetched by plain HTTP, not by Xet: HTTP continues where a transfer was cut, and its bytes can be counted as
they arrive. The library's own settings hold: HF_ENDPOINT, HF_TOKEN, HF_HOME, HF_HUB_OFFLINE and the proxy variables.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import logging
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from livetrans.errors import ModelError, UsageError, sentence

if TYPE_CHECKING:
    import httpx2

Arrived = Callable[[int], None]
"""Called with the bytes of a file that are on the disk, as they arrive."""

_COMMIT = re.compile("[0-9a-f]{40}")
_LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_PAUSES = (1.0, 2.0, 4.0, 8.0)
"""Seconds before each repetition of a request that failed for a passing cause; arriving bytes start the series anew."""
_PASSING = (408, 500, 502, 503, 504)
"""Status codes of a server that may pass."""


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file of a repository at a commit."""

    path: str
    size: int
    sha256: str | None
    """Published only for large files."""
    git_sha1: str | None
    """Git's hash, published for small files."""


@dataclass(frozen=True, slots=True)
class Revision:
    """The files of a repository at a commit."""

    repository: str
    commit: str
    files: tuple[RemoteFile, ...]


def look_up(repository: str, revision: str) -> Revision:
    """Return the commit of a branch or of a commit's hash, and its files with sizes and hashes.

    Raises:
        UsageError: there is no such repository or revision, or its terms have to be accepted first.
        ModelError: the hub cannot be reached, or refuses, or answers with another commit; the sentence says what to do.
    """
    if is_offline():
        raise ModelError("HF_HUB_OFFLINE forbids the network; unset it, and run the same command again")
    with _plain_errors(repository):
        api = _library().HfApi()
        info = _persistently(lambda: api.model_info(repository, revision=revision, files_metadata=True, timeout=20.0))
        # The commit becomes the name of a folder.
        if not _COMMIT.fullmatch(info.sha) or (_COMMIT.fullmatch(revision) and info.sha != revision):
            raise ValueError(f"it has commit {info.sha} in place of {revision}")
        return Revision(repository, info.sha, tuple(_listed(file) for file in info.siblings))


def fetch(revision: Revision, file: RemoteFile, target: Path, arrived: Arrived) -> None:
    """Fetch a file to `target`, which may hold its beginning; if the fetch is cut, what arrived stays there.

    Each request goes to the hub, which names the address of the bytes anew: such addresses expire.

    Raises:
        ModelError: as `look_up`, or the disk is full; the sentence says what was kept.
    """
    with _plain_errors(revision.repository, target), target.open("ab") as stream:
        url = _library().hf_hub_url(revision.repository, file.path, revision=revision.commit)
        _persistently(lambda: _receive(url, file, stream, arrived), stream)


def _persistently(request: Callable[[], Any], stream: BinaryIO | None = None) -> Any:
    """Make a request until it succeeds, or fails for a lasting cause, or too often without a further byte.

    `stream` is where the bytes of a file are written. A request without one is not repeated if the connection fails.
    """
    import httpx2
    from huggingface_hub.errors import HfHubHTTPError

    pauses, reached = iter(_PAUSES), stream.tell() if stream else 0
    while True:
        try:
            return request()
        except (HfHubHTTPError, httpx2.TransportError) as error:
            may_pass = stream is not None
            if isinstance(error, HfHubHTTPError):
                # 403 after a redirect is the answer to an address that has expired.
                expired = error.response.status_code == 403 and bool(error.response.history)
                may_pass = error.response.status_code in _PASSING or expired
            if stream and stream.tell() > reached:
                pauses, reached = iter(_PAUSES), stream.tell()
            pause = next(pauses, None)
            if pause is None or not may_pass:
                raise
        time.sleep(pause)


def _receive(url: str, file: RemoteFile, stream: BinaryIO, arrived: Arrived) -> None:
    """Append the rest of a file to a stream by one request; every block is on the disk before the next is read.

    Raises:
        httpx2.HTTPError, huggingface_hub.errors.HfHubHTTPError: the request failed, or the answer ended early.
        ValueError: the server has fewer bytes than are listed.
    """
    import httpx2
    from huggingface_hub import constants, get_session
    from huggingface_hub.utils import build_hf_headers, hf_raise_for_status  # type: ignore[attr-defined]

    arrived(stream.tell())
    if stream.tell() >= file.size:
        return
    headers = {**build_hf_headers(), "Accept-Encoding": "identity"}
    if stream.tell():
        headers["Range"] = f"bytes={stream.tell()}-"
    with get_session().stream("GET", url, headers=headers, timeout=constants.HF_HUB_DOWNLOAD_TIMEOUT) as response:
        if response.status_code == 416:
            raise ValueError(f"{file.path} is shorter than the {file.size:,} bytes listed for it")
        hf_raise_for_status(response)
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


def _listed(file: Any) -> RemoteFile:
    """Return a file as the hub lists it.

    Raises:
        ValueError: it has no size.
    """
    if not isinstance(file.rfilename, str) or not isinstance(file.size, int) or file.size < 0:
        raise ValueError("a file in its list has no size")
    return RemoteFile(file.rfilename, file.size, file.lfs.sha256 if file.lfs else None, file.blob_id)


def verify_hash(path: Path, file: RemoteFile, expected_sha256: str | None = None) -> str:
    """Return the SHA-256 of a fetched file after comparing it with the published hash; delete the file if they differ.

    Raises:
        ModelError: they differ.
    """
    found = sha256_of(path)
    published = {file.sha256, expected_sha256} - {None}
    if published - {found} or (not published and file.git_sha1 not in (None, _git_sha1(path))):
        path.unlink()
        raise ModelError(
            f"{file.path} arrived with another hash than was published for it, and was deleted; "
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
    """Return whether HF_HUB_OFFLINE forbids the network."""
    return bool(_constants().is_offline_mode())


def _constants() -> Any:
    """Return what huggingface_hub reads from the environment.

    Raises:
        UsageError: a variable is malformed.
    """
    try:
        from huggingface_hub import constants
    except ValueError as error:
        raise UsageError(
            f"HF_ENDPOINT, or another variable of the Hugging Face hub's library, is malformed ({error}); "
            "correct it, or unset it"
        ) from None
    return constants


@cache
def _library() -> Any:
    """Return huggingface_hub, without its log, and with our client."""
    import huggingface_hub

    logging.getLogger("huggingface_hub").setLevel(logging.CRITICAL)
    huggingface_hub.set_client_factory(_client)
    return huggingface_hub


def _client() -> httpx2.Client:
    """Return a client that refuses unencrypted addresses of other machines.

    Raises:
        UsageError: the proxy of the environment cannot be used.
    """
    import httpx2

    try:
        return httpx2.Client(event_hooks={"request": [_refuse_unencrypted]}, follow_redirects=True, timeout=None)
    except (ImportError, ValueError, httpx2.InvalidURL) as error:
        reason = "a SOCKS proxy needs the package socksio" if isinstance(error, ImportError) else error
        raise UsageError(f"the proxy in ALL_PROXY, HTTPS_PROXY or HTTP_PROXY cannot be used ({reason})") from None


def _refuse_unencrypted(request: httpx2.Request) -> None:
    if request.url.scheme != "https" and request.url.host not in _LOCAL_HOSTS:
        raise UsageError(f"{request.url} is no encrypted address; set HF_ENDPOINT to one that begins with https://")


@contextlib.contextmanager
def _plain_errors(repository: str, target: Path | None = None) -> Iterator[None]:
    """Turn errors of the library into one sentence that says what to do."""
    import httpx2
    from huggingface_hub.errors import HfHubHTTPError

    page = f"{_constants().ENDPOINT}/{repository}"
    again = "run the same command again"
    try:
        yield
    except HfHubHTTPError as error:
        status, host = error.response.status_code, error.response.url.host
        if status in (401, 403, 404) and not error.response.history:
            raise UsageError(
                f"{page} cannot be read ({status}); check the name, or if the model is private or has terms to accept, "
                "accept them there and set HF_TOKEN to a token of your account"
            ) from None
        later = "in some minutes, or set HF_TOKEN, which allows more requests" if status == 429 else "later"
        raise ModelError(f"{host} answered with an error ({status}) for {repository}; {again} {later}") from None
    except OSError as error:
        if error.errno not in _FULL or target is None:
            raise
        raise ModelError(
            f"the disk of {target.parent} is full; free some space, and {again}{_continues(target)}"
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(
            f"{page} did not answer as a model hub does ({sentence(error)}); check the name and HF_ENDPOINT, "
            "and whether the network wants a login first"
        ) from None
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise ModelError(
            f"the connection to {page} failed ({error}); check it and {again}{_continues(target)}; without one, "
            "copy the files from another machine and name them with --asr FOLDER and --mt FILE"
        ) from None


def _continues(target: Path | None) -> str:
    return f": it continues after the {target.stat().st_size / 1e6:.1f} MB that arrived" if target else ""
