"""The byte level: prefixes open, flips are seen, torn tails are cut, damage is named, a full disk loses nothing."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quintain.ledger.disk import Disk
from quintain.ledger.errors import CorruptLedger, DiskFull, ReadOnlyRun
from quintain.ledger.frames import FRAME_SIZE, HEADER_SIZE, link, read_frame, write_frame
from quintain.ledger.log import Log, Mark, Reader, segment_path, segments

COMMITS = [[b"a", b"bb"], [b"ccc" * 30], [b"", b"d" * 200, b"e"], [b"f"]]
RECORDS = [p for commit in COMMITS for p in commit]
ENDS = [0, 2, 3, 6, 7]  # records after each commit


def folder_of(tmp_path: Path) -> Path:
    return tmp_path / "segments" / "rank-0"


def written(folder: Path, segment_bytes: int = 1 << 20) -> Log:
    log = Log(folder, Mark(), Disk(), segment_bytes)
    for commit in COMMITS:
        for payload in commit:
            log.append(payload)
        log.commit()
    return log


def read(folder: Path, mark: Mark | None = None) -> tuple[list[bytes], Reader]:
    reader = Reader(folder, mark)
    return [r.payload for r in reader.poll()], reader


@pytest.mark.parametrize("segment_bytes", [1 << 20, 100, 1])
def test_what_is_committed_is_read_back_over_segments(tmp_path, segment_bytes):
    folder = folder_of(tmp_path)
    log = written(folder, segment_bytes)
    payloads, reader = read(folder)
    assert payloads == RECORDS and reader.mark == log.mark and reader.torn == 0
    assert len(segments(folder)) == {1 << 20: 1, 100: 4, 1: 4}[segment_bytes]
    log.append(b"more")
    assert read(folder)[0] == RECORDS  # not committed, not there
    log.commit()
    assert [r.payload for r in reader.poll()] == [b"more"]  # a reader goes on from where it was


@pytest.mark.parametrize("segment_bytes", [1 << 20, 150])
def test_every_prefix_of_the_bytes_opens_to_a_prefix_of_the_commits(tmp_path, segment_bytes):
    folder = folder_of(tmp_path)
    written(folder, segment_bytes)
    copy = tmp_path / "copy" / "segments" / "rank-0"
    files = [segment_path(folder, s) for s in segments(folder)]
    seen = set()
    for i, path in enumerate(files):
        data = path.read_bytes()
        for size in range(len(data) + 1):
            shutil.rmtree(copy, ignore_errors=True)
            copy.mkdir(parents=True)
            for whole in files[:i]:
                shutil.copy(whole, copy)
            (copy / path.name).write_bytes(data[:size])
            payloads, reader = read(copy)
            assert payloads == RECORDS[: len(payloads)] and len(payloads) in ENDS
            seen.add(len(payloads))
            if size % 37 == 0:  # a writer cuts the torn end off and goes on
                log = Log(copy, reader.mark, Disk(), segment_bytes)
                assert (log.cut is not None) == (reader.torn > 0 or size == 0)
                log.append(b"next")
                log.commit()
                log.close()
                assert read(copy)[0] == [*payloads, b"next"]
    assert seen == set(ENDS)


@given(st.integers(0, 2**32))
@settings(max_examples=100)
def test_no_flipped_byte_goes_unseen(fresh_folder, seed):
    rng = random.Random(seed)
    folder = folder_of(fresh_folder())
    written(folder, rng.choice([1 << 20, 150]))
    path = segment_path(folder, rng.choice(segments(folder)))
    data = bytearray(path.read_bytes())
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    path.write_bytes(data)
    try:
        payloads, reader = read(folder)
    except CorruptLedger as error:
        assert path.name in str(error) and "doctor --repair" in str(error)
    else:  # only the end of the last commit can be taken for torn, and then it shows
        assert payloads == RECORDS[:6] and reader.torn > 0


def test_damage_before_the_last_commit_is_an_error_with_place_and_fix(tmp_path):
    folder = folder_of(tmp_path)
    written(folder)
    path = segment_path(folder, 0)
    data = bytearray(path.read_bytes())
    second = HEADER_SIZE + FRAME_SIZE + 1
    data[second + FRAME_SIZE] ^= 255
    path.write_bytes(data)
    with pytest.raises(CorruptLedger, match=rf"000000000000.seg: a damaged record at byte {second}; .*doctor --repair"):
        read(folder)


def test_a_missing_segment_and_a_foreign_segment_are_errors(tmp_path):
    folder, other = folder_of(tmp_path), tmp_path / "b" / "segments" / "rank-0"
    written(folder, 1)
    log = Log(other, Mark(), Disk(), 1)
    for payload in (b"x", b"y", b"z", b"w"):
        log.append(payload)
        log.commit()
    starts = segments(folder)
    middle = segment_path(folder, starts[1])
    middle.rename(tmp_path / "away")
    with pytest.raises(CorruptLedger, match="starts at record 3 where 2 is next"):
        read(folder)
    shutil.copy(segment_path(other, 2), middle)
    with pytest.raises(CorruptLedger, match="hash chain"):
        read(folder)
    segment_path(folder, 0).unlink()
    with pytest.raises(CorruptLedger, match="missing segment"):
        read(folder)


def test_records_in_another_order_break_the_chain(tmp_path):
    folder = folder_of(tmp_path)
    log = Log(folder, Mark(), Disk())
    for payload in (b"one", b"two"):
        log.append(payload)
        log.commit()
    path = segment_path(folder, 0)
    data = path.read_bytes()
    size = (len(data) - HEADER_SIZE) // 2
    path.write_bytes(data[:HEADER_SIZE] + data[HEADER_SIZE + size :] + data[HEADER_SIZE : HEADER_SIZE + size])
    with pytest.raises(CorruptLedger, match="record 1 where 0 is next"):
        read(folder)


@pytest.mark.parametrize("chain", ["kept", "forged"])
def test_a_rewritten_record_with_a_right_checksum_breaks_the_chain(tmp_path, chain):
    """Someone edits history: the payload, its checksum, and even its own link."""
    folder = folder_of(tmp_path)
    written(folder)
    path = segment_path(folder, 0)
    data = path.read_bytes()
    first = read_frame(data, HEADER_SIZE)
    own = first.chain if chain == "kept" else link(bytes(16), first.commit, first.flags, 0, b"z")
    forged = write_frame(first.commit, first.flags, 0, own, b"z")
    assert len(forged) == first.stop - first.start
    path.write_bytes(data[: first.start] + forged + data[first.stop :])
    with pytest.raises(CorruptLedger, match="hash does not go on"):
        read(folder)


@given(st.integers(0, 2**32))
@settings(max_examples=40)
def test_a_full_disk_loses_nothing_and_writing_goes_on_when_there_is_space(fresh_folder, full_disks, seed):
    rng = random.Random(seed)
    folder = folder_of(fresh_folder())
    disk = full_disks()
    log = Log(folder, Mark(), disk, rng.choice([60, 300, 1 << 20]))
    expected: list[bytes] = []
    for i in range(12):
        payloads = [bytes([i]) * rng.randrange(80) for _ in range(rng.randrange(1, 4))]
        for payload in payloads:
            log.append(payload)
        disk.room = rng.randrange(500)
        for _ in range(3):
            try:
                log.commit()
                break
            except DiskFull as error:
                assert "make space" in str(error)
                assert read(folder)[0] == expected  # readers see all that was committed and nothing else
                disk.room = rng.choice([10, 10_000])
        else:
            disk.room = 10_000
            log.commit()
        expected += payloads
        disk.room = 10_000
    assert read(folder)[0] == expected and read(folder)[1].mark == log.mark


def test_a_failed_sync_is_tried_again_with_the_same_bytes(tmp_path, full_disk):
    folder = folder_of(tmp_path)
    log = Log(folder, Mark(), full_disk)
    log.append(b"first")
    log.commit()
    log.append(b"second")
    full_disk.fail_sync = 1
    with pytest.raises(OSError, match="Input/output"):
        log.commit()
    assert read(folder)[0] == [b"first"]
    log.commit()
    assert read(folder)[0] == [b"first", b"second"]


def test_one_commit_of_many_records_is_one_sync(tmp_path, full_disk):
    log = Log(folder_of(tmp_path), Mark(), full_disk)
    log.append(b"open the segment")
    log.commit()
    before = full_disk.syncs
    for _ in range(500):
        log.append(b"record")
    log.commit()
    log.commit()  # nothing new, nothing to sync
    assert full_disk.syncs == before + 1


def test_a_closed_log_refuses_records(tmp_path):
    log = written(folder_of(tmp_path))
    log.close()
    with pytest.raises(ReadOnlyRun, match="closed"):
        log.append(b"late")
