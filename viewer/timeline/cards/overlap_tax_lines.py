"""Lines of a card about what a kernel paid for the communication beside it, or what a collective cost."""

from __future__ import annotations

from collections.abc import Iterator

from viewer.analysis.collectives.overlap_tax import BESIDE, OverlapTax
from viewer.drawing.format import MINUS, format_count, format_ns

Line = tuple[str, str]


def overlap_tax_lines(tax: OverlapTax, kernel: int) -> Iterator[Line]:
    """Yield what a kernel beside communication paid, or what a collective with compute beside it cost."""
    if (cost := tax.of_collective(kernel)) is not None:
        if cost.hidden_ns:
            known = cost.hidden_ns - cost.unknown_ns
            paid = f"which paid {_signed(cost.tax_ns)}" if known > 0 else "at a price that is not known"
            rest = f"  (of {format_ns(cost.unknown_ns)} not known)" if known > 0 and cost.unknown_ns else ""
            yield "Hidden", f"{format_ns(cost.hidden_ns)} beside compute, {paid}{rest}"
    elif tax.side[kernel] == BESIDE:
        yield "Beside comm.", _price(tax, kernel)


def _price(tax: OverlapTax, kernel: int) -> str:
    if (price := tax.price(kernel)) is None:
        return "price not known: too few of its kind alone or beside, or of several sizes"
    place, found = int(tax.signatures.place[kernel]), tax.difference
    counts = f"{format_count(int(found.beside[place]))} beside, {format_count(int(found.alone[place]))} alone"
    bound = format_ns(int(found.bound_ns[place]))
    if not price:
        return f"no longer than alone, ± {bound}  ({counts})"
    share = abs(price) / max(float(found.alone_ns[place]), 1) * 100
    return f"{_signed(price)} against alone, {share:.1f} %, ± {bound}  ({counts})"


def _signed(ns: int) -> str:
    return f"{MINUS}{format_ns(-ns)}" if ns < 0 else f"+{format_ns(ns)}" if ns else "nothing"
