"""Acme's KV offloading."""
