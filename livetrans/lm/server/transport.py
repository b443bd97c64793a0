"""Requests to the server that translates; besides `livetrans.models.hub` the only module that opens connections."""

from __future__ import annotations

import ipaddress
import json
import math
import os
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from livetrans.base.clock import system_seconds
from livetrans.base.errors import ContextError, ModelError, UsageError
from livetrans.base.files import read_text
from livetrans.events import Notice

if TYPE_CHECKING:
    import httpx2

KEY_VARIABLE = "LIVETRANS_MT_KEY"
_CONNECT_SECONDS, _SILENT_SECONDS = 5.0, 60.0
"""Longest waits for a connection, and for the next bytes of an answer: a large model may be loaded first."""
QUIET_SECONDS = 3.0
"""A longer silence is said."""
LOADING_SECONDS = 120.0
"""A server that says at the start that it is loading is waited for so long."""
_QUIET = f"The translator has been silent for {QUIET_SECONDS:.0f} s: captions follow when it answers."
_MOST_BYTES = 1_000_000
_REFUSED_TEXT = (400, 413, 422)
"""Status codes by which a server refuses what it was sent, and not who sent it."""
Json = dict[str, Any]
_STICKY = ("X-Session-ID", "X-SMG-Routing-Key")
"""By these headers the routers of vLLM and of SGLang send all requests of a run to the server that has its cache."""
Result = TypeVar("Result")
SERVER = "server"
"""What notices that a server does not answer, or answers again, have as their subject."""
PRIVACY = "privacy"
"""What the notice that text leaves this machine has as its subject."""


def about_server(text: str) -> Notice:
    """Return the notice of why a server does not answer; without a text, that it answers again."""
    return Notice("warning", text, SERVER) if text else Notice("info", "The translator is back.", SERVER)


class ServerFault(ModelError):
    """The server cannot be used now; the text says why, and what to do."""


class ServerLoading(ServerFault):
    """It is not ready yet."""


def parse_server(text: str) -> str:
    """Return the address of a server without a path: `http://127.0.0.1:8080`.

    Raises:
        UsageError: it is none.
    """
    try:
        url = urlsplit(text if "://" in text else f"http://{text}")
        port = f":{url.port}" if url.port else ""
    except ValueError:
        url, port = urlsplit(""), ""
    if url.scheme not in ("http", "https") or not url.hostname or url.username or url.query:
        raise UsageError(f"{text!r} is not the address of a server; write for example http://127.0.0.1:8080")
    host = f"[{url.hostname}]" if ":" in url.hostname else url.hostname
    return f"{url.scheme}://{host}{port}{url.path.rstrip('/').removesuffix('/v1')}"


def is_this_machine(url: str) -> bool:
    """Return whether what is sent to the address stays on this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def privacy(url: str) -> str:
    """Return where what is said goes; empty while that is this machine."""
    return "" if not url or is_this_machine(url) else f"what is said goes to {urlsplit(url).hostname}"


class _Counted(threading.local):
    requests = 0


class Connection:
    """A server's address, its key, and the connections that are kept open."""

    def __init__(self, url: str, key_file: Path, notify: Callable[[str], None] = lambda text: None) -> None:
        """`key_file` is `Path()` without one; then the key is that of the environment, if it has one.

        `notify` takes, from any thread, why the server does not answer, and an empty text once it answers again.

        Raises:
            UsageError: the key cannot be read, or would go unencrypted over a network.
        """
        import httpx2

        self.url = url
        is_here = is_this_machine(url)
        key = os.environ.get(KEY_VARIABLE, "")
        if key_file != Path():
            try:
                key = read_text(key_file)
            except OSError as fault:
                text = f"the key in {key_file} cannot be read ({fault.strerror}); name another file"
                raise UsageError(text) from None
        key = key.strip()
        if key and not (is_here or url.startswith("https:")):
            raise UsageError(f"a key is not sent unencrypted to {url}; give an address that begins with https://")
        if not (key.isascii() and key.isprintable()):
            raise UsageError(f"the key for {url} has characters that no key has; correct it")
        self._client = httpx2.Client(
            headers=({"Authorization": f"Bearer {key}"} if key else {}) | dict.fromkeys(_STICKY, secrets.token_hex(8)),
            timeout=httpx2.Timeout(_SILENT_SECONDS, connect=_CONNECT_SECONDS),
            follow_redirects=False,
            verify=httpx2.create_ssl_context(),  # With the certificates that SSL_CERT_FILE names.
            trust_env=not is_here,  # No proxy stands between this machine and itself.
        )
        self._counted = _Counted()
        self._notify, self._said, self._loading_since = notify, "", 0.0
        self._change, self._closed = threading.Lock(), threading.Event()
        self._awaited: dict[int, float] = {}
        """Since when each thread waits for the server."""
        threading.Thread(target=self._watch, name="server", daemon=True).start()

    def say(self, text: str) -> None:
        """Tell the user why the server does not answer; without a text, that it answers again."""
        if text != self._said:
            self._said = text
            self._notify(text)

    def wait_for(self, fault: ServerLoading) -> None:
        """Wait a second, and say why; raise the fault once that took as long as any model loads."""
        self._loading_since = self._loading_since or system_seconds()
        if system_seconds() - self._loading_since > LOADING_SECONDS:
            raise fault
        self.say(f"{self.url} is loading its model: captions begin when it is ready.")
        self._closed.wait(1.0)

    def _watch(self) -> None:
        while not self._closed.wait(QUIET_SECONDS / 6):
            with self._change:
                if not self._said and system_seconds() - min(self._awaited.values(), default=math.inf) > QUIET_SECONDS:
                    self.say(_QUIET)

    def _await(self, call: Callable[..., Result], *words: Any, **more: Any) -> Result:
        """Return what a call returns that waits for the server."""
        thread = threading.get_ident()
        with self._change:
            self._awaited[thread] = system_seconds()
        try:
            result = call(*words, **more)
        finally:
            with self._change:
                del self._awaited[thread]
        if self._said == _QUIET:
            self.say("")
        return result

    @property
    def requests(self) -> int:
        """Requests of this thread so far that a model had to answer."""
        return self._counted.requests

    def get(self, path: str) -> Json | None:
        """Return the answer to a question about the server; None if it has no such page.

        Raises:
            ServerFault: it cannot be reached, or refuses.
        """
        with self.faults():
            answer = self._await(self._client.get, self.url + path)
            if answer.status_code in (404, 405, 501):
                return None
            self._check(answer)
            try:
                found = answer.json()
            except ValueError:
                return None
            return found if isinstance(found, dict) else None

    def post(self, path: str, body: Json) -> Json:
        """Return the one answer to a request.

        Raises:
            ContextError: the server refuses this text.
            ServerFault: it cannot be reached, refuses, or answers with something else.
        """
        return next(self.stream(path, body))

    def stream(self, path: str, body: Json) -> Iterator[Json]:
        """Yield the parts of an answer as they arrive, from server-sent events or lines of JSON; errors as `post`.

        The connection is closed if the caller stops before the end, and so is the server's work.
        """
        import httpx2

        self._counted.requests += not path.endswith("tokenize")
        with self.faults():
            request = self._client.build_request("POST", self.url + path, json=body)
            send = partial(self._await, self._client.send, request, stream=True)
            try:
                answer = send()
            except (httpx2.RemoteProtocolError, httpx2.ReadError, httpx2.WriteError):
                answer = send()  # The server had closed an idle connection.
            try:
                self._check(answer)
                size, lines, is_translation = 0, answer.iter_lines(), False
                while (line := self._await(next, lines, None)) is not None:
                    size += len(line)
                    if size > _MOST_BYTES:
                        raise ServerFault(f"{self.url} sends an answer without end; restart it, or take another model")
                    line = line.removeprefix("data:").strip()
                    if line.startswith("{"):
                        part = json.loads(line)
                        if "error" in part:
                            raise ServerFault(f"{self.url} failed ({_reason(part)}); look at what it printed")
                        is_translation = True
                        yield part
                if not is_translation:
                    raise ValueError
            finally:
                answer.close()

    def close(self) -> None:
        self._closed.set()
        self._client.close()

    def _check(self, answer: httpx2.Response) -> None:
        """Raise for an answer that is none."""
        code, url = answer.status_code, self.url
        if code < 300:
            return
        if code < 400:
            place = answer.headers.get("location", "nowhere")
            raise ServerFault(f"{url} redirects to {place}; give the address itself with --mt-server")
        try:
            reason = _reason(json.loads(answer.read()))
        except (ValueError, AttributeError):
            reason = answer.reason_phrase
        if code in _REFUSED_TEXT:
            raise ContextError(f"{url} refuses the text ({reason})")
        advice = {
            401: f"set {KEY_VARIABLE} to its key, or name a file with it with --mt-key-file",
            403: f"set {KEY_VARIABLE} to its key, or name a file with it with --mt-key-file",
            404: "name one of `livetrans models --mt-server` with --mt-model",
            429: "it is busy; wait, or take another server",
            503: "it is loading or busy; wait a minute",
        }.get(code, "look at what it printed")
        raise (ServerLoading if code == 503 else ServerFault)(f"{url} answers {code} ({reason}); {advice}")

    @contextmanager
    def faults(self) -> Iterator[None]:
        """Turn what can go wrong on the way into one sentence."""
        import httpx2

        try:
            yield
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            if "CERTIFICATE" in str(error):
                raise ServerFault(
                    f"the certificate of {self.url} is not valid ({error}); correct it, trust it on this machine, or "
                    "name its file in SSL_CERT_FILE"
                ) from None
            if "[SSL" in str(error):
                raise ServerFault(f"{self.url} does not speak https; write http:// for it") from None
            raise ServerFault(
                f"nothing answers at {self.url}; start the server there, for example with "
                "`llama-server -m MODEL.gguf`, or correct --mt-server"
            ) from None
        except httpx2.TimeoutException:
            raise ServerFault(f"{self.url} is silent; look at its load, or take a smaller model there") from None
        except httpx2.HTTPError as error:
            raise ServerFault(f"the connection to {self.url} broke ({error or type(error).__name__})") from None
        except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError):
            text = f"{self.url} answers with something else than a translation; check the address, or restart it"
            raise ServerFault(text) from None


def _reason(answer: Json) -> str:
    """Return a server's own words for an error: dialects put them in several places."""
    found = answer.get("error") or answer.get("message") or answer.get("detail") or "no reason given"
    text = str(found.get("message", found) if isinstance(found, dict) else found)
    return " ".join(text.split())[:200]
