"""Files that cannot be what they claim: a sentence or sound, in seconds, without a traceback."""

from __future__ import annotations

import gzip
import io
import json
import os
import socket
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import av
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from livetrans.audio import file as audio_file
from livetrans.audio.file import AudioFile
from livetrans.base.clock import ManualClock
from livetrans.base.errors import LivetransError, ModelError, SourceError
from livetrans.base.installation import data_folder
from livetrans.cli import run
from livetrans.cli.options import read_config
from livetrans.events import SAMPLE_RATE, Record
from livetrans.models.catalogue import read_catalogue
from livetrans.session.codec import read_records, to_line
from livetrans.session.export import export, read_captions
from livetrans.session.recorded import RecordedTranscripts
from tests.hostile_text import assert_harmless
from tests.session.examples import EVENTS

pytestmark = pytest.mark.usefixtures("translator_path", "recogniser_path")

Make = Callable[[Path], Path]
"""Makes the bad thing in a folder, and gives its path."""

TONE = (8000 * np.sin(np.arange(SAMPLE_RATE) / 20)).astype("<i2")


def wav(**changes: int) -> bytes:
    """A second of sound in a WAV whose header states what `changes` say."""
    data = TONE.tobytes()
    head = {"riff": len(data) + 36, "form": 16, "tag": 1, "channels": 1, "rate": SAMPLE_RATE}
    head |= {"byte_rate": 2 * SAMPLE_RATE, "align": 2, "bits": 16, "data": len(data)} | changes
    layout = "<4sI4s4sIHHIIHH4sI"
    names = ("tag", "channels", "rate", "byte_rate", "align", "bits")
    form = (head[name] for name in names)
    return (
        struct.pack(layout, b"RIFF", head["riff"], b"WAVE", b"fmt ", head["form"], *form, b"data", head["data"]) + data
    )


def encoded(format: str, codec: str) -> bytes:
    buffer = io.BytesIO()
    with av.open(buffer, "w", format=format) as container:
        stream = container.add_stream(codec, rate=SAMPLE_RATE if codec != "libopus" else 48_000)
        frame = av.AudioFrame.from_ndarray(TONE[None, :].astype(np.int16), format="s16", layout="mono")
        frame.sample_rate = SAMPLE_RATE
        resampler = av.AudioResampler(format=stream.codec_context.format, layout="mono", rate=stream.rate)
        for part in [*resampler.resample(frame), None]:
            container.mux(stream.encode(part))
    return buffer.getvalue()


def floats(value: float) -> bytes:
    samples = np.full(SAMPLE_RATE, value, "<f4").tobytes()
    return wav(tag=3, bits=32, align=4, byte_rate=4 * SAMPLE_RATE, data=len(samples))[:44] + samples


BIG = 0xFFFF_FFFF
HEADERS = {
    "rate": (0, 1, 999, 0x7FFF_FFFF, BIG),
    "channels": (0, 9, 65_535),
    "bits": (0, 1, 7, 33, 64, 65_535),
    "tag": (0, 2, 6, 0x55, 0x161, 0xFFFE, 65_535),
    "align": (0, 1, 65_535),
    "form": (0, 2, 1000, BIG),
    "data": (0, 1, 31_999, BIG),
    "riff": (0, 10, BIG),
    "byte_rate": (0, BIG),
}
TEXTS = {
    "list.m3u": "#EXTM3U\n#EXTINF:1,x\n/etc/passwd\nhttp://localhost:1/x.mp3\n",
    "list.m3u8": "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nhttp://localhost:1/x.ts\n",
    "list.pls": "[playlist]\nFile1=/etc/passwd\nNumberOfEntries=1\n",
    "concat.txt": "ffconcat version 1.0\nfile /etc/passwd\n",
    "concat.wav": "ffconcat version 1.0\nfile a.wav\n",
    "list.asx": "<asx version='3.0'><entry><ref href='file:///etc/passwd'/></entry></asx>",
    "list.xspf": "<?xml version='1.0'?><playlist><trackList/></playlist>",
    "call.sdp": "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nm=audio 5004 RTP/AVP 0\n",
    "dash.mpd": "<?xml version='1.0'?><MPD xmlns='urn:mpeg:dash:schema:mpd:2011'><Period/></MPD>",
    "words.srt": "1\n00:00:00,000 --> 00:00:01,000\nHello\n",
    "page.html": "<html><body>404</body></html>",
    "notes.txt": "just text\n" * 1000,
    "blank.wav": "\n" * 5000,
    "data.json": '{"a": 1}',
}
NAMES = (
    "new\nline.wav",
    "esc\x1b[31m.wav",
    "rtl\u202e.wav",
    "file:x.wav",
    "concat:a|b.wav",
    "-x.wav",
    "ü 😀.wav",
    "%s%n.wav",
)


def bad_audio() -> Iterator[tuple[str, Make]]:
    def content(name: str, data: bytes) -> tuple[str, Make]:
        def make(folder: Path) -> Path:
            path = folder / name
            path.write_bytes(data)
            return path

        return name, make

    kinds = (("wav", "pcm_s16le"), ("flac", "flac"), ("mp3", "libmp3lame"), ("ogg", "libopus"), ("matroska", "aac"))
    for format, codec in kinds:
        whole = encoded(format, codec)
        for cut in (1, 4, 12, 20, 28, 36, 43, 44, 45, 60, 100, len(whole) // 2, len(whole) - 1):
            yield content(f"cut{cut}.{format}", whole[:cut])
        yield content(f"zeros.{format}", whole[:100] + bytes(len(whole) - 100))
    for field, values in HEADERS.items():
        for value in values:
            yield content(f"{field}-{value}.wav", wav(**{field: value}))
    for value in (float("nan"), float("inf"), -1e30):
        yield content(f"floats{value}.wav", floats(value))
    for name, text in TEXTS.items():
        yield content(name, text.encode())
    for name in NAMES:
        yield content(name, b"not sound")
    yield content("empty.wav", b"")
    yield content("one.wav", b"\x00")
    yield content("random.mp3", np.random.default_rng(0).bytes(200_000))
    yield content("sound.wav.gz", gzip.compress(wav()))
    yield "sparse", sparse
    yield "sparse-wav", lambda folder: sparse(folder, wav(data=BIG))
    yield "link", lambda folder: linked(folder / "a.wav", folder / "nothing.wav")
    yield "loop", lambda folder: linked(folder / "a.wav", folder / "a.wav")
    yield "folder", lambda folder: folder
    yield "missing", lambda folder: folder / "none.wav"
    yield "long name", lambda folder: folder / ("x" * 5000 + ".wav")
    yield "zero", lambda folder: folder / "a\x00b.wav"
    yield "surrogate", lambda folder: folder / "a\udcffb.wav"
    yield "null", lambda folder: Path("/dev/null")
    yield "socket", listening_socket
    yield "pipe", pipe


def sparse(folder: Path, beginning: bytes = b"") -> Path:
    path = folder / "sparse.wav"
    path.write_bytes(beginning)
    os.truncate(path, 1 << 40)
    return path


def linked(path: Path, target: Path) -> Path:
    path.symlink_to(target)
    return path


def listening_socket(folder: Path) -> Path:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / "s"))
    return folder / "s"


def pipe(folder: Path) -> Path:
    os.mkfifo(folder / "pipe")
    return folder / "pipe"


BAD_AUDIO = dict(bad_audio())


@pytest.mark.parametrize("name", BAD_AUDIO, ids=ascii)
def test_a_bad_recording_is_a_sentence_or_sound(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(audio_file, "_PIPE_SECONDS", 0.1)
    path = BAD_AUDIO[name](tmp_path)
    try:
        source = AudioFile(path, ManualClock(), real_time=False)
    except SourceError:
        assert run(["replay", "--no-session", "--", str(path)]) in (1, 2)
        output, errors = capfd.readouterr()
        assert output == ""
        assert_sentences(errors, 1)
        return
    for number, chunk in enumerate(source):
        assert chunk.samples.dtype == np.int16
        if number == 500:  # half a minute of it is enough
            break
    source.close()
    assert capfd.readouterr() == ("", "")


def assert_sentences(errors: str, most: int) -> None:
    """A line for each, without control characters."""
    lines = errors.removesuffix("\n").split("\n")
    assert 1 <= len(lines) <= most
    for line in lines:
        assert_harmless(line)
        assert line.startswith(("livetrans: ", "Figures: "))
        assert "Traceback" not in line and "internal error" not in line


LINE = {
    "event": "transcript",
    "at": 1.0,
    "segment_id": 0,
    "revision": 0,
    "committed": "Hi",
    "partial": "",
    "final": True,
}
CAPTION = {"event": "caption", "at": 1.0, "segment_id": 0, "revision": 0, "final": True, "source": "Hi", "text": "Ho"}
CAPTION |= {"start": 0.0, "end": 1.0, "tokens": [], "masked_tokens": 0}
SESSIONS = {
    "empty": b"",
    "blank": b"\n\n\n",
    "binary": bytes(range(256)) * 10,
    "utf16": json.dumps(CAPTION).encode("utf-16"),
    "bom": b"\xef\xbb\xbf" + json.dumps(CAPTION).encode(),
    "not json": b"hello\n",
    "list": b"[1, 2]\n",
    "number": b"7\n",
    "deep": b'{"a":' * 100_000,
    "huge number": b'{"event": "caption", "at": ' + b"9" * 5000 + b"}\n",
    "nan": json.dumps(CAPTION | {"start": float("nan")}).encode(),
    "infinite": json.dumps(CAPTION).encode().replace(b'"end": 1.0', b'"end": 1e999'),
    "far": json.dumps(CAPTION | {"start": 1e300, "end": 1e308}).encode() + b"\n",
    "before": json.dumps(CAPTION | {"start": -1e308, "end": -5.0}).encode() + b"\n",
    "newer": b'{"event": "run_started", "at": 0, "version": 999, "signature": {}}\n',
    "no kind": b'{"at": 1.0}\n',
    "other kind": b'{"event": "\\u001b[31mevil", "at": 1.0}\n',
    "bad span": json.dumps(CAPTION | {"accepted": [{"begin": -5, "end": 10**9}]}).encode() + b"\n",
    "bad tokens": json.dumps(CAPTION | {"tokens": ["x"]}).encode() + b"\n",
    "text is number": json.dumps(CAPTION | {"text": 5}).encode() + b"\n",
    "long line": b'{"event": "notice", "level": "info", "at": 0, "text": "' + b"x" * (17 << 20) + b'"}\n',
    "cut": json.dumps(CAPTION).encode()[:-20],
    "huge ids": json.dumps(CAPTION | {"segment_id": 10**30}).encode() + b"\n",
    "negative": json.dumps(LINE | {"segment_id": -5, "revision": -1}).encode() + b"\n",
}


@pytest.mark.parametrize("name", SESSIONS)
def test_a_bad_session_is_a_sentence_or_captions(name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(SESSIONS[name])
    exports = [["export", "--format", format] for format in ("srt", "vtt", "txt", "jsonl")]
    for command in [["replay", "--no-session", "--speed", "max"], *exports]:
        code = run([*command, str(path)])
        output, errors = capfd.readouterr()
        for line in output.splitlines():
            assert_harmless(line)
        assert code == 0 or (errors and not output)
        if errors:
            assert_sentences(errors, 2)  # that the last line was left out, and what is wrong with the rest


CONFIGS = {
    "binary": bytes(range(256)),
    "utf16": 'to = "de"\n'.encode("utf-16"),
    "wrong kind": b"to = 5\n",
    "nan": b"bias = nan\n",
    "deep": b"to = " + b"[" * 5000,
    "long number": b"mask-k = " + b"1" * 5000,
    "large number": b"bias = " + b"1" * 400,
    "date": b"to = 2020-01-01\n",
    "escape": b'to = "\\u001b[31m"\n',
    "table for value": b"[to]\nx = 1\n",
    "twice": b'to = "de"\nto = "fr"\n',
}


@pytest.mark.parametrize("name", CONFIGS)
def test_a_bad_configuration_is_a_sentence(name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(CONFIGS[name])
    assert run(["replay", "--config", str(path), "--no-session", str(tmp_path / "none.flac")]) in (1, 2)
    output, errors = capfd.readouterr()
    assert output == ""
    assert_sentences(errors, 1)


CATALOGUES = {
    "binary": bytes(range(256)),
    "not toml": b"models = [[[",
    "deep": b"a = " + b"[" * 5000,
    "wrong kind": b"models = 5\npurposes = 6\n",
    "no fields": b"[[models]]\n",
}


def _captions(path: Path) -> None:
    for record in read_records(path):
        to_line(record)
    for format in ("srt", "vtt", "txt", "jsonl"):
        "".join(export(read_captions(path), format, "both")).encode()  # type: ignore[arg-type]


def _transcripts(path: Path) -> None:
    assert all(isinstance(one.text, str) for one in RecordedTranscripts(path, ManualClock(), real_time=False))


EXAMPLES = b"".join(f"{to_line(Record(float(at), event))}\n".encode() for at, event in enumerate(EVENTS))
READERS: dict[str, tuple[bytes, Callable[[Path], object]]] = {
    "events.jsonl": (EXAMPLES, _captions),
    "stream.jsonl": ((data_folder("recordings") / "demo.jsonl").read_bytes()[:20_000], _transcripts),
    "config.toml": (b'from = "en"\nbias = 0.2\nmask-k = 3\nplain = true\n[replay]\nto = "fr"\n', read_config),
    "catalogue.toml": ((data_folder("models") / "catalogue.toml").read_bytes(), read_catalogue.__wrapped__),
}
"""A whole file, and what reads it."""
PIECES = [b"\x00", b"\xff", b"\xed\xa0\x80", b"\xe2\x80\xae", b"\x1b[2J", b"\n", b'"', b"\\ud800", b"[" * 3000, b"]"]
PIECES += [b"null", b"NaN", b"1e999", b"-1", b"9" * 5000, b"'", b"=", b"x" * 10_000, b"\x00" * 8]
change = st.tuples(st.integers(0, 1 << 20), st.integers(0, 64), st.sampled_from(PIECES) | st.binary(max_size=8))


@pytest.mark.parametrize("name", READERS)
@example([(0, 0, b"x" * 2000)])
@example([(0, 0, b"[" + b"x" * 2000 + b"]\n")])
@given(changes=st.lists(change, min_size=1, max_size=16))
def test_whatever_is_changed_in_a_file_it_is_used_or_refused_in_a_sentence(
    name: str, tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, int, bytes]]
) -> None:
    whole, read = READERS[name]
    data = bytearray(whole)
    for place, length, piece in changes:
        begin = place % (len(data) + 1)
        data[begin : begin + length] = piece
    path = tmp_path_factory.getbasetemp() / name
    path.write_bytes(data)
    try:
        read(path)
    except LivetransError as fault:
        assert_harmless(str(fault))


@pytest.mark.parametrize("name", CATALOGUES)
def test_a_bad_catalogue_is_a_sentence(name: str, tmp_path: Path) -> None:
    path = tmp_path / "catalogue.toml"
    path.write_bytes(CATALOGUES[name])
    with pytest.raises(ModelError, match=r"catalogue\.toml cannot be read"):
        read_catalogue(path)
