"""Certificates that nobody vouches for."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from pathlib import Path

import pytest


def new_certificate(folder: Path) -> Path:
    """Make a certificate of localhost, with its key in `privkey.pem`; without openssl the test is skipped."""
    if not shutil.which("openssl"):
        pytest.skip("no openssl here to make a certificate")
    key, certificate = folder / "privkey.pem", folder / "fullchain.pem"
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days", "2"]
    words += ["-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(words, check=True, capture_output=True)
    return certificate


def self_signed(folder: Path) -> ssl.SSLContext:
    """Return the context of a server with such a certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(new_certificate(folder), folder / "privkey.pem")
    return context
