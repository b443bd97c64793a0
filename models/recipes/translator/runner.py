"""The smallest llama.cpp user that the recipe's checks need: greedy translation and tokenisation.

The project's own engine lives in `livetrans.lm`; the recipe keeps apart from it so that a model can be judged
by code that does not change with the product.
"""

from pathlib import Path

import llama_cpp


class Runner:
    """A GGUF on the CPU with the prompt of this recipe, `<s><|src|>SOURCE<|tgt|>`.

    Every pass reads one token: llama.cpp crashes in longer ones on CPUs with AMX (its issue 20824), and the binding's
    class has no option against that.
    """

    def __init__(self, path: Path, threads: int = 1) -> None:
        self.llama = llama_cpp.Llama(str(path), n_ctx=1024, n_batch=1, n_gpu_layers=0, n_threads=threads, verbose=False)
        self.end = self.llama.token_eos()

    def prompt(self, source: str) -> list[int]:
        """Token ids of the prompt as llama.cpp makes them, control tokens parsed."""
        return self.llama.tokenize(f"<|src|>{source}<|tgt|>".encode(), add_bos=True, special=True)

    def translate(self, source: str, limit: int = 200) -> list[int]:
        """Greedy target tokens without `</s>`, from an empty cache."""
        prompt = self.prompt(source)
        self.llama.reset()
        tokens: list[int] = []
        for token in self.llama.generate(prompt, top_k=1, temp=0.0, repeat_penalty=1.0):
            if token == self.end or len(tokens) >= limit or len(prompt) + len(tokens) >= 1000:
                break
            tokens.append(token)
        return tokens

    def text(self, tokens: list[int]) -> str:
        """Text of target tokens; the space before the first word belongs to the tokens, not to the text."""
        return self.llama.detokenize(tokens).decode(errors="replace").strip()
