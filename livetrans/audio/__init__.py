"""Audio sources: microphone, audio file, raw PCM on standard input."""
