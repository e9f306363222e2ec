"""The ground floor, one of everything that all floors need; private, imported from its modules."""

__all__: list[str] = []
