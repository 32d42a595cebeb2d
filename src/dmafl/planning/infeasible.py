"""What is raised where there is no plan."""

from __future__ import annotations

from dmafl.base.errors import BadInput


class Infeasible(BadInput):
    """No executable plan was found; says which limit binds and what would help."""
