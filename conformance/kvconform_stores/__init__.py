"""Stores of other projects behind the store port of `kvconform`.  Each needs its own packages."""
