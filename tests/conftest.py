"""Makes the modules beside it importable by every folder of tests."""
