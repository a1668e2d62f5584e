"""Reads a function along one path, on which the outcome of every condition is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcp_audit.proving.interpreter import Reader

if TYPE_CHECKING:
    import ast

    from dpcp_audit.proving.distances import Public, Value
    from dpcp_audit.proving.statements import Ends


class PathReader(Reader):
    """The part of a reading of one path that keeps it to one."""

    def truth(self, value: Value) -> bool:
        """Return whether a condition holds; on the path that is read it is known."""
        known = super().truth(value)
        if known is None:
            raise self.refuse("a condition whose outcome is not known")
        return known

    def _do_Assert(self, node: ast.Assert) -> None:
        if not self.truth(self.read(node.test)):
            raise self.refuse("raises AssertionError")

    def _do_Try(self, node: ast.Try) -> Ends:
        raise self.refuse("errors are caught, which may hide where a threshold comes from")

    def _until_settled(self, node: ast.For | ast.While, iterable: Public | None) -> Ends:
        raise self.refuse("a loop whose length is not known beforehand")
