"""Numbers: arrays in, a result with a status out; no autograd, no problems. Private, imported from its modules."""

__all__: list[str] = []
