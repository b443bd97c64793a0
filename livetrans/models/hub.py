"""The Hugging Face hub; the only module that opens the network, and that imports huggingface_hub and its httpx2.

Files are fetched by plain HTTP, not by Xet: HTTP goes on where a transfer was cut, and its bytes can be counted as they
arrive. The library's own settings hold: HF_ENDPOINT, HF_TOKEN, HF_HOME, HF_HUB_OFFLINE and the proxies' variables.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from livetrans.errors import ModelError, UsageError, sentence

if TYPE_CHECKING:
    import httpx2

Arrived = Callable[[int], None]
"""Called with the bytes of a file that are on the disk, as they arrive."""

_LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
_BLOCK = 1 << 20


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


class WrongHash(ModelError):
    """A fetched file has another hash than the hub or the catalogue states."""


def look_up(repository: str, revision: str) -> Revision:
    """Return the commit of a revision, and its files with sizes and hashes.

    Raises:
        UsageError: there is no such repository or revision.
        ModelError: the hub cannot be reached, or refuses; the sentence says what to do.
    """
    with _plain_errors(repository):
        hub = _library()
        info = hub.HfApi().model_info(repository, revision=revision, files_metadata=True, timeout=20.0)
        files = tuple(
            RemoteFile(file.rfilename, file.size or 0, file.lfs.sha256 if file.lfs else None, file.blob_id)
            for file in info.siblings or ()
        )
        if info.sha is None:
            raise ModelError(f"{_endpoint()} gave no commit for {repository}; check HF_ENDPOINT")
        return Revision(repository, info.sha, files)


def fetch(revision: Revision, file: RemoteFile, target: Path, arrived: Arrived) -> None:
    """Fetch a file to `target`, which may hold its beginning; if the fetch is cut, what arrived stays there.

    Raises:
        ModelError: as `look_up`, or the disk is full; the sentence says what was kept.
    """
    with _plain_errors(revision.repository, target), target.open("ab") as stream:
        hub = _library()
        from huggingface_hub.file_download import http_get

        begun = stream.tell()
        arrived(begun)
        http_get(
            hub.hf_hub_url(revision.repository, file.path, revision=revision.commit),
            stream,
            resume_size=begun,
            headers=hub.utils.build_hf_headers(),
            expected_size=file.size,
            tqdm_class=lambda **settings: _Counter(begun, arrived),  # type: ignore[arg-type]
        )


def sha256_of(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def check(path: Path, file: RemoteFile, expected_sha256: str | None = None) -> str:
    """Return the SHA-256 of a fetched file, after a comparison with the published hash.

    Raises:
        WrongHash: they differ.
    """
    found = sha256_of(path)
    wanted = [published for published in (file.sha256, expected_sha256) if published]
    if any(found != published for published in wanted) or (not wanted and file.git_sha1 not in (None, _git_sha1(path))):
        raise WrongHash(
            f"{file.path} arrived with another hash than was published for it, and was deleted; "
            "run the same command again, and if this stays so, do not use the model"
        )
    return found


def is_offline() -> bool:
    """Return whether HF_HUB_OFFLINE forbids the network."""
    from huggingface_hub import constants

    return constants.is_offline_mode()


def _git_sha1(path: Path) -> str:
    digest = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


class _Counter:
    """The part of tqdm's interface that the library uses."""

    def __init__(self, begun: int, arrived: Arrived) -> None:
        self._bytes = begun
        self._arrived = arrived

    def update(self, count: int) -> None:
        self._bytes += count
        self._arrived(self._bytes)

    def __enter__(self) -> _Counter:
        return self

    def __exit__(self, *exception: object) -> None:
        pass


def _library() -> Any:
    """Return huggingface_hub, without its log, and with a client that refuses unencrypted addresses elsewhere.

    Raises:
        ModelError: the network is forbidden.
    """
    import httpx2
    import huggingface_hub

    if is_offline():
        raise ModelError("HF_HUB_OFFLINE forbids the network; unset it, and run the same command again")
    hooks: dict[str, list[Callable[[Any], None]]] = {"request": [_refuse_unencrypted], "response": [_refuse_to_wait]}
    logging.getLogger("huggingface_hub").setLevel(logging.CRITICAL)
    huggingface_hub.set_client_factory(lambda: httpx2.Client(event_hooks=hooks, follow_redirects=True, timeout=None))
    return huggingface_hub


def _refuse_unencrypted(request: httpx2.Request) -> None:
    if request.url.scheme != "https" and request.url.host not in _LOCAL_HOSTS:
        raise UsageError(f"{request.url} is not encrypted; set HF_ENDPOINT to an address that begins with https://")


def _refuse_to_wait(response: httpx2.Response) -> None:
    """Report a rate limit at once: the library would wait for minutes without a message."""
    if response.status_code != 429:
        return
    from huggingface_hub.utils import parse_ratelimit_headers  # type: ignore[attr-defined]

    limit = parse_ratelimit_headers(response.headers)
    seconds = str(limit.reset_in_seconds) if limit else response.headers.get("retry-after", "")
    when = f"in {seconds} seconds" if seconds.isdigit() else "in some minutes"
    raise ModelError(
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
        if status in (401, 403):
            raise ModelError(f"{page} refuses the access ({status}); check HF_TOKEN") from None
        if status == 404:
            raise UsageError(f"{page} lacks a file that it lists; run the same command again") from None
        raise ModelError(f"{page} does not work at the moment ({status}); run the same command again later") from None
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) and target is not None:
            raise ModelError(
                f"the disk of {target.parent} is full; free some space, and run the same command again: {_kept(target)}"
            ) from None
        if error.filename is not None:
            raise
        raise _cut(page, target, error) from None
    except (ValueError, KeyError) as error:
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
