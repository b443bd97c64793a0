"""From sound to transcripts: voice activity, streaming recognition, LocalAgreement, recorded streams."""

import os

# From 1.29 on, onnxruntime reports its use to its makers unless this is set before it is loaded.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
