"""The language-model port over token ids, its llama.cpp adapter, prompt templates, and a scripted model for tests."""
