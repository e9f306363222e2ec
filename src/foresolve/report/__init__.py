"""Records to tables, figures, findings and the page; private, imported from its modules."""

__all__: list[str] = []
