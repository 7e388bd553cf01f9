"""Faults made by rule in a connector's own code, each of which the suite should catch."""
