"""Pages of the documentation that are made from registries and runs, and checked against them."""
