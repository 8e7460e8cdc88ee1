"""Merges specialised adapters over the same base into one: the weighted sum of what each of them changes.

    python -m training.merge runs/forms/adapter=0.7 runs/files/adapter=0.3 --out runs/merged

Exact by default: the matrices are put side by side, so the ranks add up. `--rank` cuts the sum to a rank with the
least squared error (a singular value decomposition) and says what that left out. Weights sum to 1 and may be fractions
such as 1/3. One adapter with the weight 1 becomes a plain one: patterns of alphas and rank-stabilised scales go into
its matrices, which is what an export needs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import torch

from agent_core.errors import DeskhandError, ModelError
from training import deltas
from training.deltas import Adapter, Change

CLOSE = Fraction(1, 10**6)  # how far from 1 the weights may sum


def main(argv: Sequence[str] | None = None) -> int:
    """Merges and prints the folder; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m training.merge", description=__doc__)
    parser.add_argument("adapters", nargs="+", metavar="ADAPTER=WEIGHT", help="an adapter folder and its weight")
    parser.add_argument("--out", required=True, type=Path, help="folder for the merged adapter")
    parser.add_argument("--rank", type=int, default=0, help="cut the sum to this rank; 0 keeps it exact")
    args = parser.parse_args(argv)
    try:
        lost = merge([weighted(text) for text in args.adapters], args.out, args.rank)
    except DeskhandError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"adapter: {args.out}" + (f", at most {lost:.2%} of a change left out" if args.rank else ""))
    return 0


def weighted(text: str) -> tuple[Path, Fraction]:
    """ADAPTER=WEIGHT from the command line. Raises ModelError."""
    folder, _, weight = text.rpartition("=")
    try:
        return Path(folder), Fraction(weight)
    except (ValueError, ZeroDivisionError) as error:
        raise ModelError(f"{text!r} must be FOLDER=WEIGHT, such as runs/sft/adapter=0.5 or =1/3.") from error


def merge(adapters: Sequence[tuple[Path, Fraction]], out: Path, rank: int = 0) -> float:
    """Writes the weighted sum of the adapters' changes to `out`.

    Returns the largest share of a weight's change (Frobenius norm) that cutting to `rank` left out, 0 when exact.
    Raises ModelError: weights that do not sum to 1, or adapters over different bases or on different modules.
    """
    total = sum((weight for _, weight in adapters), Fraction())
    if abs(total - 1) > CLOSE or any(weight <= 0 for _, weight in adapters):
        raise ModelError(f"The weights must be above 0 and sum to 1; these sum to {float(total):g}.")
    parts = [(deltas.read(folder), float(weight)) for folder, weight in adapters]
    require_alike([adapter for adapter, _ in parts])
    first = parts[0][0]
    changes = {module: summed([(one.changes[module], weight) for one, weight in parts]) for module in first.changes}
    lost = 0.0
    if rank:
        cut = {module: cut_to(change, rank) for module, change in changes.items()}
        changes, lost = {module: change for module, (change, _) in cut.items()}, max(left for _, left in cut.values())
    deltas.write(out, first.config, changes, alpha=first.alpha)
    return lost


def require_alike(adapters: Sequence[Adapter]) -> None:
    """Raises ModelError unless all change the same modules of the same base."""
    first = adapters[0]
    for other in adapters[1:]:
        if other.base != first.base:
            raise ModelError(
                f"The adapters belong to different bases ({first.base or 'not said'} in {first.folder}, "
                f"{other.base or 'not said'} in {other.folder}), so their sum means nothing."
            )
        if different := first.changes.keys() ^ other.changes.keys():
            raise ModelError(
                f"The adapters change different modules: {min(different)} is in only one of {first.folder} and "
                f"{other.folder}. Train them with the same targets."
            )
        for module, change in first.changes.items():
            if change.shape != other.changes[module].shape:
                raise ModelError(
                    f"The adapters belong to different bases: {module} is {change.shape} in {first.folder} and "
                    f"{other.changes[module].shape} in {other.folder}."
                )


def summed(parts: Sequence[tuple[Change, float]]) -> Change:
    """The weighted sum of changes of one weight, exactly: matrices side by side, scales and weights in `up`."""
    down = torch.cat([change.down.float() for change, _ in parts], dim=0)
    up = torch.cat([change.up.float() * (change.scale * weight) for change, weight in parts], dim=1)
    return Change(down, up, 1.0)


def cut_to(change: Change, rank: int) -> tuple[Change, float]:
    """The nearest change of that rank, and the share of the norm that it leaves out.

    The decomposition is of the small matrix between two orthogonal bases; the weight itself is never formed.
    """
    rank = min(rank, change.rank)
    left, left_core = torch.linalg.qr(change.up.double() * change.scale)
    right, right_core = torch.linalg.qr(change.down.double().T)
    u, s, vh = torch.linalg.svd(left_core @ right_core.T)
    root = s[:rank].sqrt()
    up, down = left @ u[:, :rank] * root, root[:, None] * (vh[:rank] @ right.T)
    norm = float(s.square().sum().sqrt())
    lost = float(s[rank:].square().sum().sqrt()) / norm if norm else 0.0
    return Change(down.float(), up.float(), 1.0), lost


if __name__ == "__main__":
    sys.exit(main())
