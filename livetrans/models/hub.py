"""The Hugging Face hub; the only module that opens the network, and that imports huggingface_hub and its httpx2.

Files are fetched by plain HTTP, not by Xet: HTTP goes on where a transfer was cut, and its bytes can be counted as they
arrive. The library's own settings hold: HF_ENDPOINT, HF_TOKEN, HF_HOME, HF_HUB_OFFLINE and the proxies' variables.
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
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from livetrans.errors import ModelError, UsageError, sentence

if TYPE_CHECKING:
    import httpx2

Arrived = Callable[[int], None]
"""Called with the bytes of a file that are on the disk, as they arrive."""

COMMIT = re.compile("[0-9a-f]{40}")
_LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
_PAUSES = (1.0, 2.0, 4.0, 8.0)
"""Seconds before a request is made again that failed for a cause which may pass; bytes that arrive begin the series
again."""
_PASSING = (408, 500, 502, 503, 504)
"""States of a server that may pass."""


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file of a repository at a commit."""

    path: str
    size: int
    sha256: str | None
    """Published for large files."""
    git_sha1: str | None
    """Git's hash of the file, published for small ones."""


@dataclass(frozen=True, slots=True)
class Revision:
    """The files of a repository at a commit."""

    repository: str
    commit: str
    files: tuple[RemoteFile, ...]


@dataclass(frozen=True, slots=True)
class CachedRepository:
    """A model repository in the hub library's cache, at the commit of `main` or else at the last one fetched."""

    name: str
    """`owner/name`."""
    folder: Path
    files: dict[Path, str]
    """The name of each file's content: a large file's SHA-256."""


def look_up(repository: str, revision: str) -> Revision:
    """Return the commit of a branch or of a commit's hash, and its files with sizes and hashes.

    Raises:
        UsageError: there is no such repository or revision.
        ModelError: the hub cannot be reached, or refuses, or answers with another commit; the sentence says what to do.
    """
    with _plain_errors(repository):
        hub = _library()
        for pause in (*_PAUSES, None):
            try:
                info = hub.HfApi().model_info(repository, revision=revision, files_metadata=True, timeout=20.0)
                break
            except hub.errors.HfHubHTTPError as error:
                if pause is None or error.response.status_code not in _PASSING:
                    raise
                time.sleep(pause)
        # The commit becomes the name of a folder.
        if not isinstance(info.sha, str) or not COMMIT.fullmatch(info.sha):
            raise ValueError("its commit is not a hash of 40 digits")
        if COMMIT.fullmatch(revision) and info.sha != revision:
            raise ModelError(
                f"{_endpoint()} answers with commit {info.sha[:8]} of {repository} in place of {revision[:8]}; "
                "set HF_ENDPOINT to another address: this one does not serve what was asked for"
            )
        return Revision(repository, info.sha, tuple(_listed(file) for file in info.siblings or ()))


def fetch(revision: Revision, file: RemoteFile, target: Path, arrived: Arrived) -> None:
    """Fetch a file to `target`, which may hold its beginning; if the fetch is cut, what arrived stays there.

    Each request goes to the hub, which names the address of the bytes anew: such addresses expire.

    Raises:
        ModelError: as `look_up`, or the disk is full; the sentence says what was kept.
    """
    with _plain_errors(revision.repository, target), target.open("ab") as stream:
        url = _library().hf_hub_url(revision.repository, file.path, revision=revision.commit)
        failures = 0
        arrived(stream.tell())
        while (before := stream.tell()) < file.size:
            try:
                _receive(url, file, stream, arrived)
            except Exception as error:
                failures = 0 if stream.tell() > before else failures + 1
                if failures > len(_PAUSES) or not _may_pass(error):
                    raise
                time.sleep(_PAUSES[max(failures - 1, 0)])


def _receive(url: str, file: RemoteFile, stream: BinaryIO, arrived: Arrived) -> None:
    """Append the rest of a file to a stream by one request; every block is on the disk before the next is read.

    Raises:
        httpx2.HTTPError, huggingface_hub.errors.HfHubHTTPError: the request failed, or the answer ended early.
        ModelError: the server has a file of another size.
    """
    import httpx2
    from huggingface_hub import constants, get_session
    from huggingface_hub.utils import build_hf_headers, hf_raise_for_status  # type: ignore[attr-defined]

    have = stream.tell()
    headers = {**build_hf_headers(), "Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
    timeout = constants.HF_HUB_DOWNLOAD_TIMEOUT
    with get_session().stream("GET", url, headers=headers, timeout=timeout) as response:
        if response.status_code != 416:
            hf_raise_for_status(response)
        part = re.fullmatch(r"bytes (?:(\d+)-\d+|\*)/(\d+|\*)", response.headers.get("Content-Range", ""))
        whole = part[2] if part else response.headers.get("Content-Length", "")
        is_encoded = "Content-Encoding" in response.headers
        if response.status_code == 416 or (whole.isdigit() and int(whole) != file.size and not is_encoded):
            served = f"{int(whole):,}" if whole.isdigit() else "fewer"
            raise ModelError(
                f"{file.path} has {served} bytes at {response.url.host}, and {file.size:,} are listed for it; "
                "run the same command again later, or set HF_ENDPOINT to another address"
            )
        if have and not (part and part[1] == str(have)):
            # The server sends the whole file, or another part than was asked for.
            stream.seek(0)
            stream.truncate()
            have = 0
            arrived(0)
            if part:
                raise httpx2.RemoteProtocolError("another part of the file arrived")
        for block in response.iter_bytes():
            # More than is listed is not read; the hash decides.
            stream.write(block[: file.size - have])
            stream.flush()
            have = min(have + len(block), file.size)
            arrived(have)
            if have == file.size:
                return
    raise httpx2.RemoteProtocolError("the answer ended early")


def _may_pass(error: Exception) -> bool:
    """Return whether a request may succeed if it is made again."""
    import httpx2
    from huggingface_hub.errors import HfHubHTTPError

    if isinstance(error, HfHubHTTPError):
        # Behind a redirect 403 is the answer to an address that has expired.
        return error.response.status_code in _PASSING or _is_expired(error)
    return isinstance(error, httpx2.TransportError) and not isinstance(error, httpx2.UnsupportedProtocol)


def _is_expired(error: Any) -> bool:
    return error.response.status_code == 403 and bool(error.response.history)


def _listed(file: Any) -> RemoteFile:
    """Return a file as the hub lists it.

    Raises:
        ValueError: it has no size.
    """
    if not isinstance(file.rfilename, str) or not isinstance(file.size, int) or file.size < 0:
        raise ValueError("a file in its list has no size")
    return RemoteFile(file.rfilename, file.size, file.lfs.sha256 if file.lfs else None, file.blob_id)


def sha256_of(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def check(path: Path, file: RemoteFile, expected_sha256: str | None = None) -> str:
    """Return the SHA-256 of a fetched file, after a comparison with the published hash; delete it if they differ.

    Raises:
        ModelError: they differ.
    """
    found = sha256_of(path)
    wanted = [published for published in (file.sha256, expected_sha256) if published]
    if any(found != published for published in wanted) or (not wanted and file.git_sha1 not in (None, _git_sha1(path))):
        path.unlink()
        raise ModelError(
            f"{file.path} arrived with another hash than was published for it, and was deleted; "
            "run the same command again, and if this stays so, do not use the model"
        )
    return found


def cached_repositories(folder: Path | None) -> Iterator[CachedRepository]:
    """Yield the model repositories in a cache that the hub's library wrote; None is the user's own cache."""
    from huggingface_hub import constants

    path = folder or Path(constants.HF_HUB_CACHE)
    if not path.is_dir():
        return
    from huggingface_hub import scan_cache_dir

    with contextlib.suppress(OSError, ValueError):
        for repository in sorted(scan_cache_dir(path).repos, key=lambda one: one.repo_id):
            if repository.repo_type == "model" and repository.revisions:
                newest = max(repository.revisions, key=lambda one: ("main" in one.refs, one.last_modified))
                files = {file.file_path: file.blob_path.name for file in newest.files}
                yield CachedRepository(repository.repo_id, newest.snapshot_path, files)


def is_offline() -> bool:
    """Return whether HF_HUB_OFFLINE forbids the network."""
    from huggingface_hub import constants

    return constants.is_offline_mode()


def _git_sha1(path: Path) -> str:
    head = b"blob %d\0" % path.stat().st_size
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, lambda: hashlib.sha1(head, usedforsecurity=False)).hexdigest()


def _library() -> Any:
    """Return huggingface_hub, without its log, and with our client.

    Raises:
        ModelError: the network is forbidden.
    """
    import huggingface_hub

    if is_offline():
        raise ModelError("HF_HUB_OFFLINE forbids the network; unset it, and run the same command again")
    logging.getLogger("huggingface_hub").setLevel(logging.CRITICAL)
    huggingface_hub.set_client_factory(_client)
    return huggingface_hub


def _client() -> httpx2.Client:
    """Return a client that refuses unencrypted addresses elsewhere.

    Raises:
        UsageError: the proxy of the environment cannot be used.
    """
    import httpx2

    try:
        return httpx2.Client(event_hooks={"request": [_refuse_unencrypted]}, follow_redirects=True, timeout=None)
    except ImportError:
        needed = "a SOCKS proxy, which needs the package socksio: install that with pip, or name an HTTP proxy"
        raise UsageError(f"ALL_PROXY or HTTPS_PROXY names {needed}") from None
    except (ValueError, httpx2.InvalidURL) as error:
        raise UsageError(f"ALL_PROXY, HTTPS_PROXY or HTTP_PROXY cannot be used ({sentence(error)})") from None


def _refuse_unencrypted(request: httpx2.Request) -> None:
    if request.url.scheme != "https" and request.url.host not in _LOCAL_HOSTS:
        raise UsageError(f"{request.url} is not encrypted; set HF_ENDPOINT to an address that begins with https://")


def _rate_limit(response: httpx2.Response) -> ModelError:
    from huggingface_hub.utils import parse_ratelimit_headers  # type: ignore[attr-defined]

    limit = parse_ratelimit_headers(response.headers)
    seconds = str(limit.reset_in_seconds) if limit else response.headers.get("retry-after", "")
    when = f"in {seconds} seconds" if seconds.isdigit() else "in some minutes"
    return ModelError(
        f"{response.url.host} allows no more requests for the moment; run the same command again {when}, "
        "or set HF_TOKEN, which allows more"
    )


def _endpoint() -> str:
    from huggingface_hub import constants

    return constants.ENDPOINT


@contextlib.contextmanager
def _plain_errors(repository: str, target: Path | None = None) -> Iterator[None]:
    """Turn errors of the library into one sentence that says what to do."""
    import httpx2
    from huggingface_hub import errors

    page = f"{_endpoint()}/{repository}"
    try:
        yield
    except errors.GatedRepoError:
        raise ModelError(
            f"{repository} is given only to those who accept its terms; accept them at {page}, "
            "then set HF_TOKEN to a token from your account there, and run the same command again"
        ) from None
    except errors.RevisionNotFoundError:
        raise UsageError(
            f"{page} does not have the commit that was asked for; `livetrans models pull {repository}:FILE` "
            "fetches a file of its newest one, without :FILE a recogniser"
        ) from None
    except errors.RepositoryNotFoundError:
        raise UsageError(
            f"there is no {page}, or it is private; check the name, or set HF_TOKEN to a token that may read it"
        ) from None
    except errors.HfHubHTTPError as error:
        status = error.response.status_code
        if status == 429:
            raise _rate_limit(error.response) from None
        if status in (401, 403) and not _is_expired(error):
            raise ModelError(f"{page} refuses the access ({status}); check HF_TOKEN") from None
        if status == 404:
            raise UsageError(f"{page} lacks a file that it lists; run the same command again") from None
        raise ModelError(
            f"{error.response.url.host} answered with an error ({status}) for {repository}; "
            "run the same command again later"
        ) from None
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) and target is not None:
            raise ModelError(
                f"the disk of {target.parent} is full; free some space, and run the same command again: {_kept(target)}"
            ) from None
        if error.filename is not None:
            raise
        raise _cut(page, target, error) from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(
            f"{page} did not answer as a model hub does ({sentence(error)}); check the name and HF_ENDPOINT, "
            "and whether the network wants a login first"
        ) from None
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise _cut(page, target, error) from None


def _cut(page: str, target: Path | None, error: Exception) -> ModelError:
    host = page.split("/")[2]
    if target is None:
        return ModelError(
            f"{host} cannot be reached ({error}); check the connection and run the same command again, set HF_ENDPOINT "
            "to a mirror, or copy the files from another machine and name them with --asr FOLDER and --mt FILE"
        )
    return ModelError(f"the connection to {host} was cut; run the same command again: {_kept(target)}")


def _kept(target: Path) -> str:
    size = target.stat().st_size if target.exists() else 0
    return f"it goes on after the {size / 1e6:.1f} MB that arrived"
