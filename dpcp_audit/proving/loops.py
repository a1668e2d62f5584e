"""Loops: through known entries, over records, and while a condition holds."""

# pyright: reportUnknownArgumentType=false
from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dpcp_audit.proving import loop_forms
from dpcp_audit.proving.arithmetic import kind
from dpcp_audit.proving.distances import Public, Records, Refusal, Value, sources_of
from dpcp_audit.proving.paths import join_paths
from dpcp_audit.proving.statements import Ends, Statements

if TYPE_CHECKING:
    from dpcp_audit.proving.charges import Ledger
    from dpcp_audit.proving.paths import Path

MOST_STEPS = 200_000
"""Expressions that are read at most."""
_MOST_ROUNDS = 5_000
"""Rounds of a loop by ``while``."""
_MOST_EXITS = 500
"""Rounds of a loop that each may be the last, as far as is known: each has paths of its own."""


class Loops(Statements):
    """The part of the interpreter that reads loops."""

    def _do_For(self, node: ast.For) -> Ends:
        chosen = loop_forms.permute_and_flip(self, node)
        if chosen is not None:
            ends = self.block(chosen)
            if ends.after or ends.continued:
                raise self.refuse("permute-and-flip goes on after a coin shows heads")
            return self._left(ends, None, node)
        iterable = self.read(node.iter)
        if isinstance(iterable, Records):
            if self.reports is not None and self.reports.draws(self._reader, *node.body):
                self.reports.RecordReports(self._reader, iterable, node.target).loop(node)
            else:
                self._accumulate(node, iterable)
            return self.block(node.orelse)
        if isinstance(iterable, range) and len(iterable) * _least_steps(node) > MOST_STEPS:
            raise self.too_long()
        items = self.entries_or_none(iterable)
        if items is None and isinstance(iterable, Public):
            raise self._unknown_length()
        if items is None:
            raise self.refuse(f"a loop goes through {kind(iterable)}")
        before = len(self.iterated)
        self.iterated += sources_of(iterable)
        kept = loop_forms.running_maximum(self, node, items)
        ends = Ends(self.path) if kept else self._rounds_of(node, items)
        del self.iterated[before:]
        return ends

    def too_long(self) -> Refusal:
        """Return the refusal of a program that takes too many steps to be read."""
        refusal: Refusal = self.refuse(
            "the program takes too many steps to be read",
            "bound its rounds, or draw all noise at once: size=...",
        )
        return refusal

    def _rounds_of(self, node: ast.For, items: tuple[Value, ...]) -> Ends:
        """Read the rounds of a loop through known entries, one after the other."""
        left = Ends()
        for item in items:
            self.bind(node.target, item)
            found = self.block(node.body)
            live = join_paths(found.after, found.continued, node.lineno)
            left = left.join(Ends(None, found.broken, None, found.returned), node.lineno)
            if live is None:
                return self._left(left, None, node)
            self.path = live
        return self._left(left, self.path, node)

    def _left(self, left: Ends, end: Path | None, node: ast.For | ast.While) -> Ends:
        """Return the ends of a loop: by break, by return, or at its end by way of ``else``."""
        done = Ends(end) if end is None or not node.orelse else self.branch(end, node.orelse)
        return done.join(Ends(left.broken, None, None, left.returned), node.lineno)

    def _do_While(self, node: ast.While) -> Ends:
        left, exits = Ends(), 0
        before = self.path.ledger
        for _ in range(_MOST_ROUNDS):
            known = self.truth(self.read(node.test))
            if known is None:
                self.block(node.body)
                self.truth(self.read(node.test))
                raise self._redrawn(node, before) or self._unknown_length()
            if not known:
                return self._left(left, self.path, node)
            found = self.block(node.body)
            live = join_paths(found.after, found.continued, node.lineno)
            left = left.join(Ends(None, found.broken, None, found.returned), node.lineno)
            if live is None:
                return self._left(left, None, node)
            self.path = live
            exits += found.broken is not None or found.returned is not None
            if exits == _MOST_EXITS:
                break
        stop = self.refuse("a loop is not seen to end", "bound its rounds: for _ in range(k)")
        raise (self._redrawn(node, before) if exits else None) or stop

    def _redrawn(self, node: ast.While, before: Ledger) -> Refusal | None:
        """Return the refusal of a loop whose rounds use noise on data, and are all alike."""
        if self.path.ledger.paths == before.paths or _carries(node):
            return None
        return Refusal(
            node.lineno,
            "noise on data is drawn again until the result is accepted: on some data more often",
            "clip what the noise gives: np.clip(x, low, high)",
            self.file,
            unpaid=True,
        )

    def _unknown_length(self) -> Refusal:
        refusal: Refusal = self.refuse(
            "a loop whose length is not known beforehand",
            "bound the number of rounds: for _ in range(k)",
        )
        return refusal


def _carries(node: ast.While) -> bool:
    """Return True if a round of a loop reads what an earlier one has assigned."""
    names = [each for part in node.body for each in ast.walk(part) if isinstance(each, ast.Name)]
    assigned = {each.id for each in names if isinstance(each.ctx, ast.Store)}
    made: set[str] = set()
    for part in node.body:
        here = [each for each in ast.walk(part) if isinstance(each, ast.Name)]
        read = {each.id for each in here if isinstance(each.ctx, ast.Load)}
        added = isinstance(part, ast.AugAssign)
        if added or read & (assigned - made):
            return True
        made |= {each.id for each in here if isinstance(each.ctx, ast.Store)}
    return False


def _least_steps(node: ast.For) -> int:
    """Return a number of expressions that each round reads; 0 where a round may be the last."""
    ends = (ast.Break, ast.Return, ast.Raise)
    if any(isinstance(each, ends) for part in node.body for each in ast.walk(part)):
        return 0
    return 1 + sum(isinstance(part, ast.Assign | ast.AugAssign) for part in node.body)
