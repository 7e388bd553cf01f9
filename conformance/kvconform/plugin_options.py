"""Values of options that the command line and the pytest plugin have in common."""

DEVICES = ("auto", "cpu", "cuda")
"""Where the engine's KV memory may live; ``auto`` takes CUDA if there is any."""
