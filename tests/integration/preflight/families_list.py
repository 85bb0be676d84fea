"""The model types of the library of models that train on text: an example of each, and what makes a tiny one."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from tests.integration.worker.worker_case import VOCABULARY

SLIDING = {"layer_types": ["sliding_attention", "full_attention"]}
DENSE_FIRST = {"mlp_layer_types": ["dense", "sparse"]}
#: Experts in groups, and one that all tokens go through.
GROUPS = {"n_group": 1, "topk_group": 1, "n_shared_experts": 1}
#: Latent attention.
MLA = {
    "q_lora_rank": 16,
    "kv_lora_rank": 16,
    "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 8,
    "v_head_dim": 16,
    "head_dim": 8,
    "num_key_value_heads": 2,
}
MAMBA = {"state_size": 8, "time_step_rank": 4, "intermediate_size": 64}
MAMBA2 = {"mamba_n_heads": 4, "mamba_d_head": 16, "mamba_d_state": 8, "mamba_n_groups": 1, "mamba_chunk_size": 8}
#: Blocks whose chunk holds a whole row: without, the library's code is wrong (`pacs.integration.checks.silent`).
ZAMBA = {
    "num_hidden_layers": 4,
    "num_key_value_heads": 2,
    "layers_block_type": ["mamba", "hybrid", "mamba", "hybrid"],
    "mamba_d_state": 8,
    "attention_hidden_size": 64,
    "attention_head_dim": 32,
}
NEMOTRON_H = {
    "num_hidden_layers": 4,
    "layers_block_type": ["mamba", "attention", "moe", "mlp"],
    "mamba_num_heads": 4,
    "mamba_head_dim": 16,
    "ssm_state_size": 8,
    "n_groups": 1,
    "chunk_size": 256,
    "moe_shared_expert_intermediate_size": 32,
}
DELTA_NET = {
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 2,
    "linear_key_head_dim": 16,
    "linear_value_head_dim": 16,
    "layer_types": ["linear_attention", "full_attention"],
}
PER_LAYER = {"vocab_size_per_layer_input": VOCABULARY, "hidden_size_per_layer_input": 8}
GPT2 = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}


class Family(NamedTuple):
    """A model that users know, and what a tiny config needs beside `COMMON`.

    Values are those of published models where the head, or what is dropped, depends on them.
    """

    example: str
    settings: Mapping[str, Any] = MappingProxyType({})


#: By model type.
FAMILIES: dict[str, Family] = {
    "qwen2": Family("Qwen2.5-7B-Instruct"),
    "qwen2_moe": Family("Qwen1.5-MoE-A2.7B"),
    "qwen3": Family("Qwen3-8B"),
    "qwen3_moe": Family("Qwen3-30B-A3B"),
    "qwen3_next": Family("Qwen3-Next-80B-A3B-Instruct", DELTA_NET),
    "qwen3_5_text": Family("Qwen3.5-27B, as text alone", DELTA_NET),
    "qwen3_5_moe_text": Family("Qwen3.5-35B-A3B, as text alone", DELTA_NET),
    "llama": Family("Llama-3.1-8B-Instruct"),
    "llama4_text": Family(
        "Llama-4-Scout-17B-16E, as text alone",
        {
            "layer_types": ["chunked_attention", "full_attention"],
            "no_rope_layers": [1, 0],
            "intermediate_size_mlp": 64,
            "num_experts_per_tok": 1,
            "moe_layers": [1],
            "floor_scale": 4,
        },
    ),
    "mistral": Family("Mistral-7B-Instruct-v0.3"),
    "mixtral": Family("Mixtral-8x7B-Instruct-v0.1"),
    "ministral": Family("Ministral-8B-Instruct-2410", SLIDING),
    "ministral3": Family("Ministral-3-8B-Base-2512, as text alone"),
    "gemma": Family("gemma-7b"),
    "gemma2": Family("gemma-2-9b-it", SLIDING | {"query_pre_attn_scalar": 16}),
    "gemma3_text": Family("gemma-3-1b-it", SLIDING),
    "gemma3n_text": Family(
        "gemma-3n-E4B-it, as text alone",
        SLIDING
        | PER_LAYER
        | {
            "laurel_rank": 8,
            "num_kv_shared_layers": 0,
            "activation_sparsity_pattern": [0.95, 0.0],
            "intermediate_size": [64, 64],
        },
    ),
    "gemma4_text": Family("gemma-4-E2B-it, as text alone", SLIDING | PER_LAYER | {"global_head_dim": 16}),
    "gemma4_unified_text": Family("gemma-4-12B-it, as text alone", SLIDING | {"global_head_dim": 16}),
    "vaultgemma": Family("vaultgemma-1b", SLIDING | {"query_pre_attn_scalar": 16}),
    "recurrent_gemma": Family("recurrentgemma-2b", {"lru_width": 32, "block_types": ["recurrent", "attention"]}),
    "phi": Family("phi-2", {"num_key_value_heads": 2}),
    "phi3": Family("Phi-4-mini-instruct, phi-4"),
    "phimoe": Family("Phi-3.5-MoE-instruct"),
    "deepseek_v2": Family("DeepSeek-V2-Lite", MLA | GROUPS | {"first_k_dense_replace": 1}),
    "deepseek_v3": Family("DeepSeek-V3, DeepSeek-R1, Moonlight", MLA | GROUPS | {"first_k_dense_replace": 1}),
    "deepseek_v4": Family(
        "DeepSeek-V4-Flash-Base",
        {
            "layer_types": ["heavily_compressed_attention", "compressed_sparse_attention"],
            "compress_rates": {"compressed_sparse_attention": 4, "heavily_compressed_attention": 8},
            "mlp_layer_types": ["moe", "moe"],
            "q_lora_rank": 16,
            "o_groups": 2,
            "o_lora_rank": 8,
            "index_n_heads": 32,
            "index_head_dim": 16,
            "index_topk": 4,
            "qk_rope_head_dim": 8,
            "partial_rotary_factor": 0.5,
            "hc_mult": 2,
            "n_shared_experts": 1,
            "num_nextn_predict_layers": 0,
        },
    ),
    "glm": Family("glm-4-9b-chat-hf"),
    "glm4": Family("GLM-4-9B-0414"),
    "glm4_moe": Family("GLM-4.5-Air", GROUPS | {"first_k_dense_replace": 1}),
    "glm4_moe_lite": Family("GLM-4.7-Flash", MLA | GROUPS | DENSE_FIRST),
    "glm_moe_dsa": Family(
        "GLM-5",
        MLA
        | GROUPS
        | DENSE_FIRST
        | {"index_topk": 8, "index_head_dim": 16, "index_n_heads": 32, "indexer_types": ["full", "full"]},
    ),
    "olmo": Family("OLMo-7B-hf"),
    "olmo2": Family("OLMo-2-1124-7B-Instruct"),
    "olmo3": Family("Olmo-3-7B-Instruct", SLIDING),
    "olmoe": Family("OLMoE-1B-7B-0924"),
    "olmo_hybrid": Family("Olmo-Hybrid-7B", DELTA_NET),
    "flex_olmo": Family("FlexOlmo-7x7B-1T"),
    "smollm3": Family("SmolLM3-3B"),
    "starcoder2": Family("starcoder2-7b", {"residual_dropout": 0.0, "embedding_dropout": 0.0}),
    "stablelm": Family("stablelm-2-1_6b"),
    "granite": Family("granite-3.3-8b-instruct", {"logits_scaling": 8.0}),
    "granitemoe": Family("granite-3.1-3b-a800m-instruct", {"logits_scaling": 6.0}),
    "granitemoehybrid": Family(
        "granite-4.0-h-tiny", MAMBA2 | {"layer_types": ["mamba", "attention"], "logits_scaling": 6.0}
    ),
    "cohere": Family("c4ai-command-r-v01", {"logit_scale": 0.0625}),
    "cohere2": Family("c4ai-command-r7b-12-2024", SLIDING | {"logit_scale": 0.0625}),
    "cohere2_moe": Family(
        "command-a-plus-05-2026",
        SLIDING | {"logit_scale": 0.0625, "mlp_layer_types": ["sparse", "sparse"], "sliding_window_pattern": 2},
    ),
    "gpt_oss": Family("gpt-oss-20b", SLIDING),
    "apertus": Family("Apertus-8B-Instruct-2509"),
    "arcee": Family("AFM-4.5B"),
    "afmoe": Family("Trinity-Mini", SLIDING),
    "bitnet": Family("bitnet-b1.58-2B-4T-bf16"),
    "cwm": Family("cwm", SLIDING),
    "seed_oss": Family("Seed-OSS-36B-Instruct"),
    "exaone4": Family("EXAONE-4.0-32B", SLIDING),
    "exaone_moe": Family("K-EXAONE-236B-A23B", GROUPS | SLIDING | DENSE_FIRST | {"num_shared_experts": 1}),
    "ernie4_5": Family("ERNIE-4.5-0.3B-PT"),
    "ernie4_5_moe": Family("ERNIE-4.5-21B-A3B-PT", {"moe_k": 2, "moe_num_experts": 4, "moe_num_shared_experts": 1}),
    "hunyuan_v1_dense": Family("Hunyuan-7B-Instruct"),
    "hunyuan_v1_moe": Family("Hunyuan-A13B-Instruct", {"moe_topk": 2}),
    "hy_v3": Family("Hy3-preview", DENSE_FIRST | {"num_shared_experts": 1}),
    "youtu": Family("Youtu-LLM-2B", MLA),
    "minimax": Family("MiniMax-Text-01-hf", {"layer_types": ["linear_attention", "full_attention"]}),
    "minimax_m2": Family("MiniMax-M2"),
    "dots1": Family("dots.llm1.inst", GROUPS | SLIDING | {"first_k_dense_replace": 1, "max_window_layers": 1}),
    "longcat_flash": Family(
        "LongCat-Flash-Chat",
        MLA
        | {"ffn_hidden_size": 64, "num_layers": 2, "moe_topk": 2, "zero_expert_num": 2, "expert_ffn_hidden_size": 32},
    ),
    "solar_open": Family("Solar-Open-100B", GROUPS),
    "laguna": Family("laguna-XS.2", SLIDING | DENSE_FIRST | {"num_attention_heads_per_layer": [2, 2]}),
    "mellum": Family("Mellum2-12B-A2.5B-Base", SLIDING | {"mlp_layer_types": ["sparse", "sparse"]}),
    "hyperclovax": Family("HyperCLOVAX-SEED-Think-14B", {"logits_scaling": 0.5}),
    "jais2": Family("Jais-2-8B-Chat"),
    "helium": Family("helium-1-preview"),
    "nanochat": Family("nanochat-d32"),
    "diffllama": Family("DiffLlama-0.3B-handcut", {"num_key_value_heads": 2}),
    "doge": Family("Doge-320M", {"sliding_window": None}),
    "hrm_text": Family("HRM-Text-1B", {"num_layers_per_stack": 1, "prefix_lm": False}),
    "aria_text": Family("Aria, as text alone", {"moe_num_experts": 4, "moe_topk": 2, "moe_num_shared_experts": 1}),
    "jetmoe": Family("jetmoe-8b", {"kv_channels": 16}),
    "lfm2": Family("LFM2-1.2B", {"layer_types": ["conv", "full_attention"]}),
    "lfm2_moe": Family("LFM2-8B-A1B", {"layer_types": ["conv", "full_attention"], "num_dense_layers": 1}),
    "falcon_h1": Family("Falcon-H1-1.5B-Deep-Instruct", MAMBA2 | {"mamba_d_ssm": 64, "lm_head_multiplier": 0.04}),
    "bamba": Family("Bamba-9.8b-2.2T-hf", MAMBA2 | {"attn_layer_indices": [1]}),
    "jamba": Family(
        "Jamba-v0.1", {"mamba_d_state": 8, "mamba_dt_rank": 4, "attn_layer_period": 2, "attn_layer_offset": 1}
    ),
    "nemotron": Family("Minitron-4B-Base"),
    "nemotron_h": Family("NVIDIA-Nemotron-3-Nano-30B-A3B", NEMOTRON_H),
    "zamba": Family("Zamba-7B-v1", ZAMBA | {"mamba_dt_rank": 4, "use_mamba_kernels": False}),
    "zamba2": Family(
        "Zamba2-2.7B",
        ZAMBA | {"n_mamba_heads": 4, "mamba_headdim": 16, "mamba_ngroups": 1, "num_mem_blocks": 1, "chunk_size": 256},
    ),
    "mamba": Family("mamba-2.8b-hf", MAMBA),
    "mamba2": Family(
        "Mamba-Codestral-7B-v0.1", {"num_heads": 4, "head_dim": 16, "state_size": 8, "n_groups": 1, "chunk_size": 8}
    ),
    "falcon_mamba": Family("falcon-mamba-7b", MAMBA),
    "xlstm": Family("xLSTM-7b", {"num_blocks": 2, "num_heads": 2, "embedding_dim": 32, "chunk_size": 8}),
    "rwkv": Family("rwkv-4-169m-pile", {"attention_hidden_size": 32, "context_length": 128}),
    "falcon": Family("falcon-7b", {"ffn_hidden_size": 64}),
    "persimmon": Family("persimmon-8b-base", {"num_key_value_heads": 2}),
    "gpt2": Family("gpt2", GPT2),
    "gpt_neo": Family(
        "gpt-neo-1.3B",
        {"num_layers": 2, "num_heads": 2, "attention_types": [[["global", "local"], 1]], "window_size": 8},
    ),
    "gpt_neox": Family("pythia-1.4b"),
    "gptj": Family("gpt-j-6B", {"rotary_dim": 8}),
    "gpt_bigcode": Family("starcoderbase-1b", GPT2),
    "bloom": Family("bloom-7b1", {"hidden_dropout": 0.0, "attention_dropout": 0.0, "n_head": 2}),
    "mpt": Family("mpt-7b", {"d_model": 32, "n_heads": 2, "n_layers": 2, "max_seq_len": 128}),
    "opt": Family("opt-1.3b", {"ffn_dim": 64, "word_embed_proj_dim": 32, "dropout": 0.0}),
}

#: The library's other models of language, and why they have no row.
NOT_TRIED = {
    "of image, audio or video; their text is above where it has a type of its own": (
        *("emu3", "fuyu", "gemma3", "gemma3n", "gemma4", "gemma4_assistant", "gemma4_unified"),
        *("gemma4_unified_assistant", "git", "got_ocr2", "llama4", "mllama", "moshi", "musicgen", "musicgen_melody"),
        *("phi4_multimodal", "qwen3_5", "qwen3_5_moe", "trocr", "whisper"),
    ),
    "encoders, and decoders of what was made for translation": (
        *("bart", "bert", "bert-generation", "big_bird", "bigbird_pegasus", "blenderbot", "blenderbot-small"),
        *("camembert", "data2vec-text", "electra", "ernie", "marian", "mbart", "megatron-bert", "modernbert-decoder"),
        *("mvp", "pegasus", "plbart", "prophetnet", "reformer", "rembert", "roberta", "roberta-prelayernorm"),
        *("roc_bert", "roformer", "xglm", "xlm", "xlm-roberta", "xlm-roberta-xl", "xlnet", "xmod"),
    ),
    "of before 2022, or of which no model that users would train is known here": (
        *("biogpt", "codegen", "cpmant", "ctrl", "gpt-sw3", "gpt_neox_japanese", "granitemoeshared", "openai-gpt"),
    ),
    "of bytes": ("blt",),
    "the installed version cannot build its default": ("dbrx",),
}
