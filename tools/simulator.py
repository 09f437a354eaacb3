"""Write the generated part of docs/simulator.md, and its pictures, from the files in claims/.

python tools/simulator.py [--check] [PAPER ...]

With names, only those papers are simulated again; the rows of the others stay as the page has them.
`--check` simulates again and only compares the table: it tests that the table reproduces itself, not that it matches the papers.
"""

from __future__ import annotations

import sys
from pathlib import Path

from quintain.simulate import charts, claims
from quintain.simulate.claims import Paper, Row

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "simulator.md"
PICTURES = ROOT / "docs" / "pictures" / "simulator"
BEGIN = "<!-- written by tools/simulator.py from claims/: change the files, not this part -->\n"
END = "<!-- end of the written part -->"


def line(row: Row) -> str:
    """One row of the table."""
    cases = ", ".join(f"{name} {ratio:.3f}" for name, ratio in row.by_case.items() if name)
    verdict = "hit" if row.hit else "**miss**"
    source = row.claim.source.replace("|", "/")
    paper = f"[{row.paper.name}](#{row.paper.name})"
    return f"| {paper} | {row.claim.name} | {row.published} | {row.simulated:.3f} | {verdict} | {cases or '-'} | {source} |"


def table(rows: list[Row]) -> str:
    """Every claim of every paper."""
    head = "| paper | figure | published | simulated | within the tolerance | by case | published in |\n|---|---|---|---|---|---|---|\n"
    return head + "\n".join(line(row) for row in rows) + "\n"


def part(paper: Paper, rows: list[Row]) -> str:
    """What is said of one paper below the table."""
    guesses = sum("guess" in source for source in paper.sources.values())
    hits = sum(row.hit for row in rows)
    sources = "\n".join(f"| `{key}` | {source} |" for key, source in sorted(paper.sources.items()))
    return f"""### {paper.name}

{paper.title} (arXiv {paper.arxiv}): {paper.what}. {hits} of {len(rows)} figures are hit; {guesses} of {len(paper.sources)}
values are guesses at least in part (`claims/{paper.name}.toml`).

![What the figure of {paper.name} hangs on](pictures/simulator/{paper.name}.svg)

??? note "Where the values come from"

    | value | source |
    |---|---|
{indented(sources)}
"""


def indented(text: str) -> str:
    """Lines of a folded block."""
    return "\n".join(f"    {row}" for row in text.splitlines())


def known(paper: Paper) -> list[Row]:
    """The rows that the page has of a paper."""
    found = []
    lines = [x.split(" | ") for x in PAGE.read_text().splitlines() if x.startswith(f"| [{paper.name}]")]
    for claim, cells in zip(paper.claims, lines, strict=True):
        pairs = [pair.rsplit(" ", 1) for pair in cells[5].split(", ")] if cells[5] != "-" else []
        by_case = {name: float(ratio) for name, ratio in pairs}
        found.append(Row(paper=paper, claim=claim, simulated=float(cells[3]), by_case=by_case))
    return found


def main(arguments: list[str]) -> int:
    """Write, or compare."""
    if arguments[:1] == ["--check"]:
        return check(arguments[1:] or list(claims.papers()))
    PICTURES.mkdir(parents=True, exist_ok=True)
    every, parts = [], []
    for name in claims.papers():
        paper = claims.load(name)
        if arguments and name not in arguments:
            rows = known(paper)
        else:
            rows = claims.rows(paper)
            base, swings = claims.tornado(paper, rows[0].claim)
            charts.tornado(PICTURES / f"{name}.svg", rows[0], base, swings)
        every += rows
        parts.append(part(paper, rows))
        print(f"{name}: {sum(r.hit for r in rows)} of {len(rows)} hit", flush=True)
    charts.scorecard(PICTURES / "scorecard.svg", every)
    text = PAGE.read_text()
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    hits = sum(row.hit for row in every)
    summary = f"{hits} of {len(every)} figures are hit within the tolerance of their file (15 %).\n\n"
    picture = "![Published and simulated figures](pictures/simulator/scorecard.svg)\n\n"
    PAGE.write_text(
        before + BEGIN + "\n" + summary + picture + table(every) + "\n" + "\n".join(parts) + "\n" + END + after
    )
    return 0


def check(names: list[str]) -> int:
    """Whether the page has the rows that the simulator gives now."""
    text, wrong = PAGE.read_text(), 0
    for name in names:
        for row in claims.rows(claims.load(name)):
            if line(row) not in text:
                wrong += 1
                print(f"{name}: the page does not have this row; run tools/simulator.py\n  {line(row)}")
    return min(1, wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
