"""Environment variables by which a user's own things reach livetrans: his settings and his models."""

SETTINGS = (
    "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME",
    "LIVETRANS_ASR_MODEL", "LIVETRANS_MT_MODEL", "LIVETRANS_DEBUG",
    "LIVETRANS_MT_KEY", "LIVETRANS_HUB_SECRET",
)  # fmt: skip
MODELS = ("LIVETRANS_MODELS", "HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "LLAMA_CACHE", "OLLAMA_MODELS")
