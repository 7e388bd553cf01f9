"""The contract: clauses, checks and the token-level oracle.  Knows no engine."""
