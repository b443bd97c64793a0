"""Audio sources: microphone, audio file, standard input."""
