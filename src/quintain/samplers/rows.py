"""Rows of a data file: JSONL, JSON, Parquet, or a folder that Hugging Face datasets wrote, read with what is
installed.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from quintain.registry import require_extra
from quintain.samplers.worlds import SamplerError

Row = Mapping[str, Any]


class Place(NamedTuple):
    """Where a row stands: for error messages and keys."""

    file: Path
    line: int  # from 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def read_rows(path: str | Path) -> list[tuple[Place, Row]]:
    """All rows of a file or folder, in order of file name and line.

    Raises:
        SamplerError: nothing is there, the kind of file is unknown, or a line cannot be read; the message names file
            and line.
        MissingExtra: Parquet or Arrow files need pyarrow.
    """
    path = Path(path).expanduser()
    files = [path] if path.is_file() else _members(path)
    for file in files:
        if file.suffix not in _READERS:
            raise SamplerError(f"{file}: files of rows end with {', '.join(_READERS)}, not {file.suffix!r}")
    rows = [row for file in files for row in _READERS[file.suffix](file)]
    if not rows:
        raise SamplerError(f"{path} holds no rows")
    return rows


def _members(folder: Path) -> list[Path]:
    if "*" in folder.name and folder.parent.is_dir():
        files = sorted(folder.parent.glob(folder.name))
        if files:
            return files
    if not folder.is_dir():
        raise SamplerError(f"there is no file or folder {folder}")
    files = sorted(p for p in folder.iterdir() if p.suffix in _READERS and p.name not in _NOTES)
    if not files:
        parts = [p.name for p in sorted(folder.iterdir()) if p.is_dir()]
        hint = f"; give one of its splits: {', '.join(parts)}" if parts else ""
        raise SamplerError(f"{folder} holds no {', '.join(_READERS)} file{hint}")
    splits = sorted({found.group(1) for p in files if (found := _SHARD.match(p.name))})
    if len(splits) > 1:
        raise SamplerError(
            f"{folder} holds several splits ({', '.join(splits)}); "
            f"name one, as in {folder / splits[-1]}-*{files[0].suffix}"
        )
    return files


def _lines(file: Path) -> Iterator[tuple[Place, Row]]:
    with file.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line, parse_constant=_refuse)
            except ValueError as error:
                raise SamplerError(f"{file}:{number}: not JSON: {error}") from error
            yield Place(file, number), _mapping(row, Place(file, number))


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a JSON value")


def _mapping(row: Any, place: Place) -> Row:
    if not isinstance(row, dict):
        raise SamplerError(f"{place}: a row is a JSON object of columns; this is a {type(row).__name__}")
    return row


def _array(file: Path) -> Iterator[tuple[Place, Row]]:
    try:
        rows = json.loads(file.read_bytes(), parse_constant=_refuse)
    except ValueError as error:
        raise SamplerError(f"{file}:{getattr(error, 'lineno', 1)}: not JSON: {error}") from error
    if not isinstance(rows, list):
        raise SamplerError(f"{file}:1: a .json file holds one array of rows; write one object a line as .jsonl instead")
    for number, row in enumerate(rows, 1):
        yield Place(file, number), _mapping(row, Place(file, number))


def _parquet(file: Path) -> Iterator[tuple[Place, Row]]:
    require_extra("train", "pyarrow")
    import pyarrow
    import pyarrow.parquet

    try:
        table = pyarrow.parquet.read_table(file)
    except (pyarrow.ArrowException, OSError) as error:
        raise SamplerError(f"{file}: not a readable Parquet file: {error}") from error
    yield from _table(file, table)


def _arrow(file: Path) -> Iterator[tuple[Place, Row]]:
    require_extra("train", "pyarrow")
    import pyarrow

    try:
        with pyarrow.memory_map(str(file)) as source:
            table = pyarrow.ipc.open_stream(source).read_all()
            yield from _table(file, table)
    except pyarrow.ArrowException as error:
        raise SamplerError(f"{file}: not a readable Arrow stream: {error}") from error


def _table(file: Path, table: Any) -> Iterator[tuple[Place, Row]]:
    number = 0
    for batch in table.to_batches():
        for row in batch.to_pylist():
            number += 1
            yield Place(file, number), {c: _plain(v, Place(file, number), c) for c, v in row.items()}


def _plain(value: Any, place: Place, column: str) -> Any:
    """The JSON value of a table's cell: dates and decimals become text."""
    if isinstance(value, float) and not math.isfinite(value):
        raise SamplerError(f"{place}: column {column!r} is {value}; numbers must be finite")
    if isinstance(value, dict):
        return {str(k): _plain(v, place, column) for k, v in value.items()}
    if isinstance(value, list):
        return [_plain(v, place, column) for v in value]
    return value if value is None or isinstance(value, str | int | float | bool | bytes) else str(value)


_READERS = {".jsonl": _lines, ".json": _array, ".parquet": _parquet, ".arrow": _arrow}
_SHARD = re.compile(r"(.+?)-\d+-of-\d+")  # train-00000-of-00002.parquet
_NOTES = {"state.json", "dataset_info.json", "dataset_dict.json"}  # beside the rows of a saved dataset
PROMPTS: Sequence[str] = ("prompt", "question", "problem", "query", "instruction", "input")
ANSWERS: Sequence[str] = ("answer", "solution", "ground_truth", "target", "label", "output")
