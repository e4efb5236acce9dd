"""Prints the results of `ffpa-jit run --json` as one table: tools/demo_table.py FILE.jsonl... Exits 1 when one is not ok."""

import json
import pathlib
import sys

COLUMNS = ["pass", "problem", "family", "cache", "error", "bar", "compile ms", "load ms", "run ms", "ok"]


def row(number: int, result: dict) -> list[str]:
    times = result["timings_ms"]
    return [str(number), result["name"], result["family"], result["cache"], f"{result['rel_error']:.1e}",
            f"{result['tolerance']:.1e}", f"{times['compile']:.1f}", f"{times['load']:.2f}", f"{times['run']:.3f}",
            "yes" if result["ok"] else "NO"]


def main() -> int:
    results = [(number, json.loads(line)) for number, path in enumerate(sys.argv[1:], 1)
               for line in pathlib.Path(path).read_text().splitlines()]
    rows = [COLUMNS] + [row(number, result) for number, result in results]
    widths = [max(map(len, column)) for column in zip(*rows)]
    for cells in rows:
        print("  ".join(cell.ljust(width) if i in (1, 2, 3) else cell.rjust(width)
                        for i, (cell, width) in enumerate(zip(cells, widths))).rstrip())
    return 0 if results and all(result["ok"] for _, result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
