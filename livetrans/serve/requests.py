"""Requests: which addresses and headers are accepted, and what answers them."""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from urllib.parse import parse_qs

from livetrans.base.languages import LANGUAGES
from livetrans.serve.address import ServeAddress, split_port
from livetrans.serve.lines import LINES_AT_FIRST, LINES_KEPT, StreamQuery

STREAM = "captions"
"""Path of the stream, relative to the page."""
SAFE_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Connection": "close",
}
_MOST_FIELDS = 16


class Refusal(Exception):
    """A refused request: the status, one sentence, and further headers."""

    def __init__(self, status: HTTPStatus, sentence: str, **headers: str) -> None:
        super().__init__(sentence)
        self.status, self.headers = status, headers


@dataclass(frozen=True, slots=True)
class PageFile:
    """A file of the page."""

    content_type: str
    content: bytes


def _page_file(name: str, kind: str) -> PageFile:
    return PageFile(f"text/{kind}; charset=utf-8", Path(__file__).with_name("page").joinpath(name).read_bytes())


FILES = {
    "": _page_file("index.html", "html"),
    "page.css": _page_file("page.css", "css"),
    **{
        name: _page_file(name, "javascript")
        for name in ("page.js", "hub.js", "lines.js", "options.js", "aloud.js", "words.js", "saving.js")
    },
}
"""The files that are served, by path. No path is looked up on the disk."""


def answer_to(
    method: bytes, target: bytes, headers: Iterable[tuple[bytes, bytes]], place: ServeAddress, token: str
) -> PageFile | StreamQuery:
    """Return the answer to a request: a file, or the query of a stream.

    Raises:
        Refusal: it does not come from a reader, or does not have the token.
    """
    named: dict[str, str] = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in headers}
    _check_where_from(named, place)
    if method != b"GET":
        raise Refusal(HTTPStatus.METHOD_NOT_ALLOWED, "Captions can only be read: send GET.", Allow="GET")
    path, mark, query = target.decode("latin-1").partition("?")
    if not path.startswith("/"):
        raise Refusal(HTTPStatus.BAD_REQUEST, "The path has to begin with a slash.")
    path = path[1:]
    if token:
        given, slash, path = path.partition("/")
        # The comparison takes equally long for every path.
        if not hmac.compare_digest(given.encode("latin-1"), token.encode()):
            raise Refusal(
                HTTPStatus.NOT_FOUND,
                "This is not the address of a run: scan its code again.",
            )
        if not slash:
            location = f"/{token}/{mark}{query}"
            raise Refusal(HTTPStatus.PERMANENT_REDIRECT, "The address ends with a slash.", Location=location)
    if path == STREAM:
        return _wanted(query, named)
    if path not in FILES:
        raise Refusal(HTTPStatus.NOT_FOUND, "There is nothing here.")
    return FILES[path]


def _check_where_from(headers: Mapping[str, str], place: ServeAddress) -> None:
    """Refuse requests that a page of another site can make a browser send."""
    host = headers.get("host", "")
    name, port = split_port(host)
    if not place.allows(name) or port.strip("0123456789"):
        raise Refusal(HTTPStatus.FORBIDDEN, "The request names another host than this one.")
    origin = headers.get("origin")
    if origin is not None and origin != f"http://{host}":
        raise Refusal(HTTPStatus.FORBIDDEN, "The request comes from another page.")
    is_link = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
    if headers.get("sec-fetch-site", "none") not in ("same-origin", "none") and not is_link:
        raise Refusal(HTTPStatus.FORBIDDEN, "The request comes from another page.")


def _wanted(query: str, headers: Mapping[str, str]) -> StreamQuery:
    """Return what a request for the stream asks for. Unknown names in its query are ignored.

    Raises:
        Refusal: a value is not allowed.
    """
    try:
        fields = parse_qs(query, keep_blank_values=True, strict_parsing=bool(query), max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise Refusal(HTTPStatus.BAD_REQUEST, "The query cannot be read.") from None
    values = {name: found[-1] for name, found in fields.items()}
    languages = frozenset(values.get("to", "").lower().split(",")) - {""}
    if not languages <= LANGUAGES.keys():
        raise Refusal(HTTPStatus.BAD_REQUEST, "to is a code of a language, as in to=fr.")
    last = values.get("last", str(LINES_AT_FIRST))
    if not re.fullmatch("[0-9]{1,4}", last) or int(last) > LINES_KEPT:
        raise Refusal(HTTPStatus.BAD_REQUEST, f"last is a number of lines up to {LINES_KEPT}.")
    finals = values.get("final", "0")
    if finals not in ("0", "1"):
        raise Refusal(HTTPStatus.BAD_REQUEST, "final is 0 or 1.")
    after = headers.get("last-event-id") or values.get("after", "")
    return StreamQuery(languages, int(last), finals == "1", after)
