"""The accounting: every ticket is trained, dropped, or pending; what is lost or doubled shows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from quintain.ledger import RunDir, audit


@pytest.fixture
def book(home, event, make_group):
    """Writes lines such as `issued 0`, `trained 3: 0 1` and gives the audit."""

    def write(*lines):
        for line in lines:
            head, _, rest = line.partition(":")
            kind, number = head.split()
            if kind == "trained":
                run.append(event("trained", int(number), tickets=[int(t) for t in rest.split()], digest="d"))
            elif kind == "played":
                run.append(event("played", 0, group=make_group(int(number), 1, 1)))
            elif kind == "dropped":
                run.append(event("dropped", 0, ticket=int(number), reason=rest.strip()))
            else:
                run.append(event(kind, 0, ticket=int(number)))
        run.commit()
        return audit(run)

    with RunDir.create(home, "") as run:
        write.run = run
        yield write


def test_every_ticket_is_trained_dropped_or_pending(book):
    found = book(
        "issued 0", "issued 1", "issued 2", "issued 3", "played 0", "played 1", "trained 0: 0", "dropped 1: gate"
    )
    assert found.ok and (found.issued, found.played, found.trained, found.dropped) == (4, 2, 1, 1)
    assert found.pending == (2, 3) and dict(found.reasons) == {"gate": 1}
    assert "1 dropped (1 gate)" in str(found) and "lost 0, duplicated 0" in str(found)


@pytest.mark.parametrize(
    ("lines", "lost", "duplicated"),
    [
        (["issued 0", "issued 2"], (1,), ()),
        (["issued 0", "trained 0: 0"], (0,), ()),
        (["played 0"], (0,), ()),
        (["issued 0", "dropped 1: late"], (1,), ()),
        (["issued 0", "played 0", "trained 0: 0", "trained 1: 0"], (), (0,)),
        (["issued 0", "played 0", "trained 0: 0 0"], (), (0,)),
        (["issued 0", "played 0", "trained 0: 0", "dropped 0: late"], (), (0,)),
        (["issued 0", "issued 0", "played 0", "trained 0: 0"], (), ()),  # played again after a resume
    ],
)
def test_what_is_lost_or_doubled_shows(book, lines, lost, duplicated):
    found = book(*lines)
    assert (found.lost, found.duplicated, found.ok) == (lost, duplicated, not lost and not duplicated)


def test_ranks_issue_as_many_tickets_as_each_needs(home, event):
    with RunDir.create(home, "") as run, RunDir.open(home, "a", rank=1) as other:
        for store, rank, tickets in ((run, 0, (0, 2, 4, 6)), (other, 1, (1, 3))):
            for ticket in tickets:
                store.append(replace(event("issued", 0, ticket=ticket), actor=f"rank{rank}"))
            store.commit()
        assert audit(run).ok and audit(run).issued == 6, "5 was never due"
        other.append(replace(event("issued", 0, ticket=7), actor="rank1"))
        other.commit()
        assert audit(run).lost == (5,)


def test_superseded_training_does_not_count(book):
    first = book("issued 0", "played 0", "trained 0: 0")
    book.run.rewind(None)
    assert audit(book.run).trained == 0
    again = book("issued 0", "played 0", "trained 0: 0")
    assert again == first


def test_the_chain_tells_order_and_data_apart(book, home, event):
    book("issued 0", "issued 1", "played 0", "played 1")
    begun = book.run.checkpoint(0, lambda folder: Path(folder, "state").touch())
    chains = set()
    for lines in (["trained 0: 0 1"], ["trained 0: 1 0"], ["trained 0: 0", "trained 1: 1"], ["trained 1: 0 1"]):
        chains.add(book(*lines).chain)
        book.run.rewind(begun)
    assert len(chains) == 4
    assert book("trained 0: 0 1").chain in chains


def test_the_chain_follows_what_was_played(book, event, make_group):
    first = book("issued 0", "played 0", "trained 0: 0").chain
    book.run.rewind(None)
    book("issued 0")
    book.run.append(event("played", 0, group=replace(make_group(1, 1, 1), ticket=0)))
    assert book("trained 0: 0").chain != first
