"""Does training on decisions pay? References and methods, trained with the same care and compared once."""
