"""Break real runs (Ray, FSDP2, vLLM) at random instants and see whether they end, clear up, go on, and end the same.

A run is started, broken, started again by the same command, and so on, until its steps are done; its weights are then
held against those of a run that was left alone. Every outcome is added to tests/chaos/results.jsonl as soon as it is
there: what is drawn next goes on from it. What did not hold has its log in the folder --out. Ctrl-C ends it at any time
and leaves nothing behind; the run in hand is then begun anew. Small file systems need root. Exit status 1: something
did not hold.
"""

import argparse
import fcntl
import signal
import sys
import time
from pathlib import Path
from types import FrameType

from tests.chaos.faults import FAULTS
from tests.chaos.outcome import RESULTS, ROOT, read
from tests.chaos.page import PAGE, with_table
from tests.chaos.place import missing


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="bash scripts/chaos.sh", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("minutes", nargs="?", type=float, default=120.0, help="then the run in hand is finished (120)")
    parser.add_argument("--seed", type=int, default=0, help="what faults, instants and sizes are drawn from (0)")
    parser.add_argument("--out", type=Path, default=ROOT / "outputs" / "chaos", help="a folder for logs and the like")
    parser.add_argument("--faults", nargs="+", metavar="NAME", help="draw from these alone; --list has the names")
    parser.add_argument("--list", action="store_true", help="print the faults; run nothing")
    parser.add_argument("--table", action="store_true", help=f"write the table into {PAGE.name} and run nothing")
    given = parser.parse_args()
    if unknown := set(given.faults or ()) - FAULTS.keys():
        parser.error(f"there is no fault {', '.join(sorted(unknown))}; --list has the names")
    if given.list:
        for fault in FAULTS.values():
            print(f"{fault.name}\n    in {', '.join(fault.moments)}")
        return 0
    if given.table:
        PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), read(RESULTS)), encoding="utf-8")
        return 0
    cannot = missing(sorted({fault.kind for fault in FAULTS.values()}))
    for kind, reason in cannot.items():
        print(f"left out, for {reason}: {', '.join(f.name for f in FAULTS.values() if f.kind == kind)}", flush=True)
    names = [name for name in given.faults or FAULTS if FAULTS[name].kind not in cannot]
    if not names:
        parser.error("none of these faults can be had here")
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    out = given.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    with (out / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            parser.error(f"another chaos run uses {out}")
        return _run(out, given.seed, names, given.minutes)


def _run(out: Path, seed: int, names: list[str], minutes: float) -> int:
    from tests.chaos.campaign import Campaign  # it takes long to import

    before = len(read(RESULTS))
    try:
        Campaign(out, RESULTS, seed, names).go_on(time.monotonic() + 60 * minutes)
    except KeyboardInterrupt:
        print("interrupted; the same command goes on", file=sys.stderr)
        return 130
    new = read(RESULTS)[before:]
    print(f"{len(new)} outcomes, {sum(not outcome.problems for outcome in new)} of them held", flush=True)
    return int(any(outcome.problems for outcome in new))


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
