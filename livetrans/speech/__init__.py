"""From sound to transcripts: voice activity, streaming recognition, LocalAgreement, recorded streams."""

import os

os.environ["ORT_DISABLE_TELEMETRY"] = (
    "1"  # Else onnxruntime 1.29 and later report their use as soon as they are loaded.
)
