"""Write a checkpoint as a Q8_0 GGUF that llama.cpp loads: architecture `llama`, tokenizer `llama` (SentencePiece)."""

import argparse
import hashlib
from pathlib import Path

import gguf
import numpy as np
import sentencepiece
import torch
from gguf import GGMLQuantizationType, GGUFWriter, TokenType

from ..common.corpus import PAIRS
from .pairs import Tails, read_tails

TAIL_MARK = "<|tail|>"
"""Before the text of a piece: its tail piece."""
CHAT_TEMPLATE = "{{ bos_token }}<|src|>{{ messages[-1]['content'] }}<|tgt|>"


def tensors(weights: dict[str, torch.Tensor], layers: int, tails: Tails | None) -> dict[str, torch.Tensor]:
    """The checkpoint's weights under llama.cpp's names; no permutation, because the RoPE is interleaved in both."""
    tokens = weights["embedding.weight"]
    if tails:
        tokens = torch.cat((tokens, tokens[tails.pieces] + weights["marker"]))
    named = {"token_embd": tokens, "output_norm": weights["output_norm"]}
    for i in range(layers):
        ours, theirs = f"blocks.{i}.", f"blk.{i}."
        query, key, value = weights[ours + "query_key_value.weight"].chunk(3)
        gate, up = weights[ours + "gate_up.weight"].chunk(2)
        named |= {
            theirs + "attn_norm": weights[ours + "attention_norm"],
            theirs + "attn_q": query,
            theirs + "attn_k": key,
            theirs + "attn_v": value,
            theirs + "attn_output": weights[ours + "attention_output.weight"],
            theirs + "ffn_norm": weights[ours + "feed_norm"],
            theirs + "ffn_gate": gate,
            theirs + "ffn_up": up,
            theirs + "ffn_down": weights[ours + "down.weight"],
        }
    return named


def write_tokenizer(writer: GGUFWriter, tokenizer: sentencepiece.SentencePieceProcessor, tails: Tails | None) -> None:
    """Pieces, scores and types; `<|src|>`, `<|tgt|>` and tail pieces are control tokens, which no text contains."""
    pieces, scores, types = [], [], []
    for i in range(tokenizer.get_piece_size()):
        pieces.append(tokenizer.id_to_piece(i))
        scores.append(tokenizer.get_score(i))
        if tokenizer.is_unknown(i):
            types.append(TokenType.UNKNOWN)
        elif tokenizer.is_control(i):
            types.append(TokenType.CONTROL)
        else:
            types.append(TokenType.BYTE if tokenizer.is_byte(i) else TokenType.NORMAL)
    if tails:
        writer.add_string("livetrans.first_tail", str(len(pieces)))
        pieces += [TAIL_MARK + pieces[piece] for piece in tails.pieces]
        scores += [0.0] * len(tails)
        types += [TokenType.CONTROL] * len(tails)
    writer.add_tokenizer_model("llama")
    writer.add_token_list(pieces)
    writer.add_token_scores(scores)
    writer.add_token_types(types)
    writer.add_bos_token_id(tokenizer.bos_id())
    writer.add_eos_token_id(tokenizer.eos_id())
    writer.add_unk_token_id(tokenizer.unk_id())
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(False)
    writer.add_add_space_prefix(True)
    writer.add_chat_template(CHAT_TEMPLATE)


def write_gguf(work: Path, path: Path) -> None:
    """Export `checkpoint.pt` and `vocabulary.model` of a run's folder to `path`."""
    state = torch.load(work / "checkpoint.pt", map_location="cpu")
    tokenizer = sentencepiece.SentencePieceProcessor(model_file=str(work / "vocabulary.model"))
    shape, settings, progress = state["shape"], state["settings"], state["progress"]
    tails = read_tails(work / "tails.txt", tokenizer) if shape["tails"] else None
    writer = GGUFWriter(path, "llama")
    pair = PAIRS[settings["pair"]]
    writer.add_name(f"livetrans-double-{pair}" if tails else f"livetrans-{pair}")
    writer.add_description(
        f"{pair} for streaming captions; variant {settings['variant']}, seed {settings['seed']}, "
        f"{progress['step']} steps, {progress['tokens']} tokens"
    )
    writer.add_languages([pair.source, pair.target])
    # llama.cpp gives no access to lists of the metadata, and livetrans refuses other language pairs.
    writer.add_string("livetrans.source_language", pair.source)
    writer.add_string("livetrans.target_language", pair.target)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0)
    writer.add_license("CC-BY-2.0-FR")
    writer.add_author("trained by livetrans from sentences of the Tatoeba Project's contributors and MLQE-PE")
    writer.add_context_length(shape["context"])
    writer.add_embedding_length(shape["width"])
    writer.add_block_count(shape["layers"])
    writer.add_feed_forward_length(shape["feed_forward"])
    writer.add_head_count(shape["heads"])
    writer.add_head_count_kv(shape["heads"])
    writer.add_layer_norm_rms_eps(shape["norm_epsilon"])
    writer.add_rope_dimension_count(shape["width"] // shape["heads"])
    writer.add_rope_freq_base(shape["rope_base"])
    writer.add_vocab_size(shape["vocabulary"] + shape["tails"])
    write_tokenizer(writer, tokenizer, tails)
    quantized = GGMLQuantizationType.Q8_0
    for name, tensor in tensors(state["model"], shape["layers"], tails).items():
        array = np.ascontiguousarray(tensor.float().numpy())
        if array.ndim == 1:
            writer.add_tensor(name + ".weight", array)
        else:
            writer.add_tensor(name + ".weight", gguf.quants.quantize(array, quantized), raw_dtype=quantized)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True, help="folder of the run")
    parser.add_argument("--output", type=Path, required=True, help="the GGUF to write")
    options = parser.parse_args()
    write_gguf(options.work, options.output)
    data = options.output.read_bytes()
    print(f"{options.output}: {len(data):,} bytes, sha256 {hashlib.sha256(data).hexdigest()}")


if __name__ == "__main__":
    main()
