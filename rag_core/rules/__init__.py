"""How we decide: pure functions without IO, clock, randomness or logging."""
