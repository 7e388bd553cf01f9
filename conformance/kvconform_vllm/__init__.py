"""vLLM as the engine: its scheduler, KV cache manager and connector classes, without a GPU.

Nothing here imports vLLM before a connector is named; `provider` is where that happens.
"""
