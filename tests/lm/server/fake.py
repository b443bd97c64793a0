"""A server of each dialect over the embedded translator, with what real ones do and what they do wrong.

Shapes and habits are those of real answers: of vLLM 0.32 (null first row, the token itself and the best one, the end of
generation as an id, unknown keys ignored), llama-server and llama_cpp.server; SGLang's and Ollama's are as documented.
"""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

from livetrans.lm.llama.model import LlamaModel

MODEL = "livetrans-en-de"
Json = dict[str, Any]
CONTEXT_TOKENS = 512
NOT_FOUND = {"detail": "Not Found"}


class FakeServer:
    """Answers on a port of loopback until it is stopped, and can start again on the same one.

    `fault` is one of those of `Handler`, or empty; `faults_left` is how many requests of the model have it. A silent
    server is so until `released`.
    """

    def __init__(
        self,
        model: LlamaModel,
        dialect: str,
        fault: str = "",
        *,
        key: str = "",
        certificate: ssl.SSLContext | None = None,
    ) -> None:
        self.model, self.dialect, self.key, self.certificate = model, dialect, key, certificate
        self.fault, self.faults_left = fault, 10**9
        self.released = threading.Event()
        self.loading = 0
        """Questions about the server that it has yet to refuse because it is loading."""
        self.rubbish: object = None
        """What it answers to everything."""
        self.delay = 0.0
        """Seconds before each answer of the model."""
        self.answering = self.most_at_once = 0
        self.slots = 1
        self.sessions: set[str] = set()
        """By which the requests are sticky."""
        self.requests: list[tuple[str, Json]] = []
        self.connections = 0
        self.lock, self.counting = threading.Lock(), threading.Lock()
        self._port = 0
        self.start()

    @property
    def url(self) -> str:
        return f"http{'s' if self.certificate else ''}://127.0.0.1:{self._port}"

    @property
    def asked(self) -> int:
        """Requests so far that the model had to answer."""
        return sum("okenize" not in path for path, _ in self.requests)

    def start(self) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", self._port), Handler)
        self._server.fake = self  # type: ignore[attr-defined]
        if self.certificate:
            self._server.socket = self.certificate.wrap_socket(self._server.socket, server_side=True)
        self._server.daemon_threads = True
        self._port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Count the requests that the model answers at once."""
        with self.counting:
            self.answering += 1
            self.most_at_once = max(self.most_at_once, self.answering)
        try:
            yield
        finally:
            with self.counting:
                self.answering -= 1

    def row(self, context: Sequence[int]) -> tuple[int, np.ndarray]:
        """Return the best token after a context, and the log-probabilities of all."""
        with self.lock:
            logits = self.model.evaluate([*context]).logits[-1].astype(np.float64)
        logs = logits - logits.max() - np.log(np.exp(logits - logits.max()).sum())
        return int(logs.argmax()), logs

    def written(self, context: Sequence[int], most: int) -> Iterator[tuple[int, float]]:
        """Yield what is written after a context, the end of generation included."""
        context = [*context]
        for _ in range(most):
            token, logs = self.row(context)
            yield token, float(logs[token])
            if self.model.is_end_of_generation(token):
                return
            context.append(token)

    def text(self, tokens: Sequence[int]) -> str:
        return self.model.detokenize(tokens).decode(errors="replace")


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 1 << 16
    answered = 0
    """Requests on this connection."""

    @property
    def _fake(self) -> FakeServer:
        return self.server.fake  # type: ignore[attr-defined, no-any-return]

    def handle(self) -> None:
        self._fake.connections += 1
        with suppress(OSError):  # The client has read enough.
            super().handle()

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        pages: dict[str, Json] = {"/v1/models": {"data": [{"id": MODEL}]}}
        dialect = self._fake.dialect
        if dialect == "llama-server":
            slots = self._fake.slots
            pages["/props"] = {
                "default_generation_settings": {"n_ctx": CONTEXT_TOKENS},
                "chat_template": "",
                "total_slots": slots,
            }
        if dialect == "vllm":
            pages["/version"] = {"version": "0.32.0"}
        if dialect == "sglang":
            pages["/get_model_info"] = {"model_path": MODEL}
        if dialect == "ollama":
            pages["/api/version"] = {"version": "0.12.11"}
        if self._fake.key and self.headers.get("Authorization") != f"Bearer {self._fake.key}":
            self._send(401, {"error": "no key"})
        elif self._fake.rubbish is not None:
            self._send(200, self._fake.rubbish)
        elif self._fake.loading:
            self._fake.loading -= 1
            self._send(503, {"error": {"message": "Loading model"}})
        elif self._fake.fault == "redirect":
            self._send(302, {}, Location="http://elsewhere/")
        elif self.path in pages:
            self._send(200, pages[self.path])
        else:
            self._send(404, {"error": {"message": "File Not Found"}} if dialect == "llama-server" else NOT_FOUND)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        fake = self._fake
        self.answered += 1
        if fake.fault == "idle" and self.answered > 1:
            self.close_connection = True  # As a server does that closes an idle connection while a request is coming.
            return
        fake.requests.append((self.path, body))
        if fake.rubbish is not None:
            self._send(200, fake.rubbish)
            return
        if fake.dialect in ("vllm", "sglang") and self.path in ("/tokenize", "/detokenize"):
            self._vocabulary(body)
            return
        fault = ""
        if fake.fault and fake.faults_left > 0:
            fake.faults_left -= 1
            fault = fake.fault
        if fault == "silent":
            fake.released.wait(20)
        fake.sessions |= {self.headers["X-Session-ID"], self.headers["X-SMG-Routing-Key"]}
        with fake.at_once():
            time.sleep(fake.delay)
            self._model_answer(body, fault)

    def _model_answer(self, body: Json, fault: str) -> None:
        fake = self._fake
        if fault.isdigit():
            self._send(int(fault), {"error": {"message": "This is the reason."}})
        elif fault == "redirected":
            self._send(307, {}, Location="https://elsewhere/")
        elif fault == "rubbish":
            self._answer(['data: {"choices": [{"text": 5}]}'])
        elif fault == "page":
            self._answer(["<html>Log in to the guest network</html>"])
        elif fault == "endless":
            self._answer(["data: " + json.dumps({"choices": [{"text": " " * 50_000}]})] * 30)
        elif fault == "thinking":
            part = {"text": "<think>Well, ", "response": "<think>Well, ", "finish_reason": "length", "done": True}
            self._answer(["data: " + json.dumps({"choices": [part], **part})])
        elif fault == "death":
            self._answer([], breaks=True)
        elif self.path == "/v1/completions" and isinstance(body["prompt"], list):
            self._vllm(body, fault)
        elif self.path == "/generate" and fake.dialect == "sglang":
            self._sglang(body, fault)
        elif self.path in ("/v1/completions", "/api/generate"):
            self._text(body, fault)
        else:
            self._send(404, NOT_FOUND)

    def _vocabulary(self, body: Json) -> None:
        model = self._fake.model
        if self.path == "/tokenize":
            tokens = model.tokenize(body["prompt"], special=True)
            self._send(200, {"tokens": [*(model.beginning_tokens if body["add_special_tokens"] else ()), *tokens]})
        else:  # A SentencePiece decoder leaves out the first space.
            text = self._fake.text(body["tokens"]).removeprefix(" ")
            self._send(200, {"prompt" if self._fake.dialect == "vllm" else "text": text})

    def _text(self, body: Json, fault: str) -> None:
        fake, is_ollama = self._fake, self.path == "/api/generate"
        model, prompt = fake.model, body["prompt"]
        if fault == "restarts":
            prompt = prompt[: prompt.index("<|tgt|>") + 7]
        context = [*model.beginning_tokens, *model.tokenize(prompt, special=True)]
        if fake.dialect == "vllm" and body["model"] != MODEL:
            self._send(404, {"error": {"message": f"The model `{body['model']}` does not exist."}})
            return
        if len(context) > CONTEXT_TOKENS and fake.dialect == "completions":  # llama_cpp.server ends the answer.
            self._answer([])
            return
        if len(context) > CONTEXT_TOKENS:
            self._send(400, {"error": {"message": f"the context has {CONTEXT_TOKENS} tokens"}})
            return
        most = body["options"]["num_predict"] if is_ollama else body["max_tokens"]
        parts: list[Json] = []
        for token, _ in fake.written(context, most):
            if model.is_end_of_generation(token):
                break
            parts.append({"text": fake.text([token]), "index": 0, "logprobs": None, "finish_reason": None})
        reason = "length" if len(parts) == most else "stop"
        if fake.dialect == "vllm" and reason == "length":
            parts[-1]["finish_reason"] = reason
        else:
            parts.append({"text": "", "index": 0, "logprobs": None, "finish_reason": reason})
        lines = [json.dumps({"response": one["text"], "done": one["finish_reason"] is not None}) for one in parts]
        if not is_ollama:
            lines = [*(f"data: {json.dumps(_completion([one]))}\n" for one in parts), "data: [DONE]"]
        if fault == "breaks off":
            self._answer(lines[:2], breaks=True)
        else:
            self._answer(lines)

    def _vllm(self, body: Json, fault: str) -> None:
        fake, prompt = self._fake, body["prompt"]
        rows: list[tuple[int, float | None, dict[int, float] | None]] = []
        if body["echo"]:
            rows.append((prompt[0], None, None))
            for at in range(1, len(prompt)):
                best, logs = fake.row(prompt[:at])
                rows.append(
                    (prompt[at], float(logs[prompt[at]]), {one: float(logs[one]) for one in (prompt[at], best)})
                )
        if fault == "short list":
            rows = rows[len(rows) // 2 :]
        if fault == "garbage list":
            rows = [(0, 3e-41, {0: 3e-41}) for _ in rows]
        lines = []
        for count, (token, log) in enumerate(fake.written(prompt, body["max_tokens"]), 1):
            rows.append((token, log, {token: log}))
            has_ended = fake.model.is_end_of_generation(token)
            logprobs = {
                "text_offset": [0 for _ in rows],
                "tokens": [f"token_id:{one}" for one, *_ in rows],
                "token_logprobs": [log for _, log, _ in rows],
                "top_logprobs": [top and {f"token_id:{one}": log for one, log in top.items()} for *_, top in rows],
            }
            choice = {"index": 0, "text": "" if has_ended else fake.text([token]), "logprobs": logprobs}
            reason = "stop" if has_ended else "length" if count == body["max_tokens"] else None
            ends = {"finish_reason": reason, "stop_reason": None}
            ids = {"prompt_token_ids": None, "token_ids": None}
            lines.append(f"data: {json.dumps(_completion([choice | ends | ids]))}\n")
            rows = []
        if fault == "breaks off":
            self._answer(lines[:1], breaks=True)
        else:
            self._answer([*lines, "data: [DONE]"])

    def _sglang(self, body: Json, fault: str) -> None:
        fake, context, start = self._fake, body["input_ids"], body["logprob_start_len"]
        own: list[list[Any]] = [[None, context[start], None]]
        top: list[list[list[Any]] | None] = [None]
        for at in range(start + 1, len(context)):
            best, logs = fake.row(context[:at])
            own.append([float(logs[context[at]]), context[at], None])
            top.append([[float(logs[best]), best, None]])
        if fault == "short list":
            own, top = own[:-1], top[:-1]
        if fault == "garbage list":
            own = [[log, 0, None] for log, *_ in own]
        meta: Json = {"input_token_logprobs": own, "input_top_logprobs": top, "output_token_logprobs": []}
        parts = []
        for token, log in fake.written(context, body["sampling_params"]["max_new_tokens"]):
            meta["output_token_logprobs"].append([log, token, None])
            if fake.model.is_end_of_generation(token):
                meta["finish_reason"] = {"type": "stop", "matched": token}
            parts.append(f"data: {json.dumps({'meta_info': meta})}\n")
        if fault == "breaks off":
            self._answer(parts[:1], breaks=True)
        else:
            self._answer([*parts, "data: [DONE]"])

    def _send(self, code: int, answer: object, **headers: str) -> None:
        data = json.dumps(answer).encode()
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
        self.wfile.flush()

    def _answer(self, lines: list[str], *, breaks: bool = False) -> None:
        """Send lines in chunks; with `breaks`, without the end of the last one."""
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            for line in lines:
                data = f"{line}\n".encode()
                self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            if not breaks:
                self.wfile.write(b"0\r\n\r\n")
            self.wfile.flush()
        except OSError:
            pass  # The client has read enough.
        self.close_connection = self.close_connection or breaks


def _completion(choices: list[Json]) -> Json:
    return {"id": "cmpl-1", "object": "text_completion", "created": 0, "model": MODEL, "choices": choices}
