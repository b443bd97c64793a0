"""The caption inputs of YouTube, Zoom and Teams: a link, a POST for each text, and what answers mean.

Sources: support.google.com/youtube/answer/6077032; support.zoom.us 115002212983; Microsoft's meeting APIs (CART).
"""

from __future__ import annotations

import http.client
import re
import ssl
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from urllib.parse import SplitResult

from livetrans.base.errors import LivetransError
from livetrans.base.languages import parse_language
from livetrans.serve.secret import connection_to, is_here, split_address

ANSWER_SECONDS = 10.0
"""Time limit for each step of a request."""
_LONGEST_ANSWER = 4096
_REGIONS = dict(
    code.split("-")
    for code in "ar-SA bg-BG cs-CZ da-DK de-DE el-GR en-US es-ES et-EE fi-FI fr-FR he-IL hi-IN hr-HR hu-HU id-ID it-IT "
    "ja-JP ko-KR lt-LT lv-LV nl-NL no-NO pl-PL pt-PT ro-RO ru-RU sk-SK sl-SI sv-SE th-TH tr-TR uk-UA vi-VN "
    "zh-CN".split()
)
"""The region that platforms name with a language."""


class NotTaken(Exception):
    """A platform did not take a text; its own text says why, without the link."""


@dataclass(frozen=True, slots=True)
class Platform:
    """What differs between the platforms."""

    name: str
    hosts: str
    """Of its links, as a regular expression."""
    path: str
    """The link's path and the beginning of its query, by which a stand-in on this machine is known."""
    counts: bool = True
    """Whether texts have numbers, so that one that comes twice is shown once."""
    has_times: bool = False
    line_end: str | None = None
    """What ends a line within a text; None where each text is one line."""
    charset: str = "; charset=utf-8"
    allows_http: bool = False
    """Whether its own links are http."""
    refusals: str = ""


PLATFORMS = (
    Platform("YouTube", r"upload\.youtube\.com", r"/closedcaption\?cid=", has_times=True, line_end="<br>", charset="",
             allows_http=True, refusals="is the stream's link still the same?"),
    Platform("Zoom", r"([a-z0-9-]+\.)*(zoom\.us|zoom\.com|zoomgov\.com)", r"/closedcaption\?", line_end="\n",
             refusals="has the meeting begun, with captions allowed?"),
    Platform("Teams", r"([a-z0-9-]+\.)*captions\.office\.microsoft\.com", r"/cartcaption\?", counts=False,
             refusals="has the meeting begun, with CART captions on?"),
)  # fmt: skip


@dataclass(frozen=True)
class CaptionLink:
    """A link of a platform and the language of its captions. Its `repr` hides the link."""

    platform: Platform
    language: str
    parts: SplitResult

    def __repr__(self) -> str:
        return f"CaptionLink({self.platform.name}, {self.language})"

    def post(self, number: int, at: float, lines: list[str]) -> float | None:
        """Hand a text to the platform; no lines only show that it answers.

        `at`: when it was spoken, in seconds since 1970. Return the platform's clock minus this machine's in seconds,
        None if the answer does not say.

        Raises:
            NotTaken: the same text and number may be tried again.
        """
        platform, query = self.platform, ""
        if platform.counts:
            query += f"&seq={number}"
        if platform.name != "YouTube" and not re.search("(^|&)lang=", self.parts.query):
            code = "-".join(filter(None, (self.language, _REGIONS.get(self.language))))
            query += f"&lang={code.lower() if platform.name == 'Teams' else code}"
        text = (platform.line_end or (" " if parse_language(self.language).spaced else "")).join(lines)
        if platform.has_times and lines:
            text = f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%S.%f}"[:-3] + f"\n{text}\n"
        sent = time.time()
        answer = self._ask(self.parts.path, query, text.encode())
        clock = _clock(answer) if platform.has_times else 0.0
        return clock - (sent + time.time()) / 2 if clock else None

    def last_number(self) -> int | None:
        """Return the number of the last text that Zoom has taken; None for other platforms.

        Raises:
            NotTaken: it does not answer.
        """
        if self.platform.name != "Zoom":
            return None
        answer = self._ask(f"{self.parts.path}/seq").strip()
        return int(answer) if re.fullmatch("[0-9]{1,9}", answer) else 0

    @cached_property
    def _trusted(self) -> ssl.SSLContext:
        return ssl.create_default_context()

    def _ask(self, path: str, query: str = "", body: bytes | None = None) -> str:
        """Return the answer's text. Redirections are not followed: the link is for its host alone."""
        link = connection_to(self.parts, ANSWER_SECONDS, self._trusted)
        headers = {} if body is None else {"Content-Type": f"text/plain{self.platform.charset}"}
        try:
            link.request("POST" if headers else "GET", f"{path}?{self.parts.query}{query}", body, headers)
            answer = link.getresponse()
            if answer.status >= 300:
                raise NotTaken(f"answer {answer.status}: {self.platform.refusals}")
            try:
                return answer.read(_LONGEST_ANSWER).decode("utf-8", "replace")
            except (OSError, http.client.HTTPException):
                return ""  # Its status has said that the text was taken.
        except ssl.SSLCertVerificationError:
            raise NotTaken("its certificate is not valid") from None
        except (OSError, http.client.HTTPException):
            raise NotTaken("no answer") from None
        finally:
            link.close()


def parse_link(text: str, language: str) -> CaptionLink:
    """Return the link of a platform.

    Raises:
        LivetransError: it is of no platform, or could be read on its way. It does not quote the link.
    """
    parts = split_address(text)
    for platform in PLATFORMS if parts else ():
        assert parts
        at_home = re.fullmatch(platform.hosts, parts.hostname or "")
        is_stand_in = is_here(parts) and re.match(platform.path, f"{parts.path}?{parts.query}")
        if not at_home and not is_stand_in:
            continue
        if parts.scheme == "http" and not (platform.allows_http or is_stand_in):
            raise LivetransError(f"The link of {platform.name} begins with http: copy it again, with https.")
        return CaptionLink(platform, language, parts)
    names = ", ".join(platform.name for platform in PLATFORMS)
    raise LivetransError(f"This is not a caption link of {names}: copy the link from the platform.")


def _clock(answer: str) -> float:
    """Return the time in an answer of YouTube in seconds since 1970; 0 if there is none."""
    found = re.search(r"\d{4}-\d\d-\d\dT[\d:.]+", answer)
    try:
        return datetime.fromisoformat(found[0] if found else "").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return 0.0
