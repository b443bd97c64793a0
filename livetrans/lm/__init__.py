"""The language-model port over token ids, its llama.cpp adapter, and prompt templates."""
