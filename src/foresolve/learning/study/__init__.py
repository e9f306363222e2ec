"""Studies: references and decision-focused methods, trained with the same care and compared once."""
