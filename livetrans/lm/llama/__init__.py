"""llama.cpp behind the language-model port: the only place that imports it."""
