"""The built-in serving engine: pool, allocators, scheduler, ranks, virtual time."""
