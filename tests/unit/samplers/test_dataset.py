import datetime
import decimal
import json
import warnings

import pyarrow
import pyarrow.parquet
import pytest

from quintain.codec import dumps
from quintain.envs.export import write as write_export
from quintain.envs.scaffold import Scaffold
from quintain.samplers.dataset import dataset
from quintain.samplers.worlds import SamplerError
from quintain.types import Role

ROWS = [{"question": f"What is {i} + {i}?", "answer": str(2 * i), "source": "made"} for i in range(40)]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "sums.jsonl"
    path.write_text("\n".join(json.dumps(r) for r in ROWS) + "\n\n")
    return path


def write(path, text):
    path.write_text(text)
    return path


def draw(sampler, count, state=None):
    state, out = state or sampler.init(), []
    for _ in range(count):
        task, state = sampler.draw(state)
        out.append(task)
    return out, state


def test_rows_become_tasks_and_the_answer_stays_out_of_sight(file):
    (first, second), _ = draw(dataset(file, seed=None), 2)
    assert (first.key, first.env) == ("sums.jsonl:1", "data") and second.key == "sums.jsonl:2"
    assert [(m.role, m.text) for m in first.messages] == [(Role.user, "What is 0 + 0?")]
    assert dict(first.params) == {"answer": "0", "source": "made"}
    assert "answer" not in str(first.messages)


def test_every_kind_of_file_gives_the_same_tasks(file, tmp_path):
    datasets = pytest.importorskip("datasets")
    table = pyarrow.Table.from_pylist(ROWS)
    pyarrow.parquet.write_table(table, tmp_path / "sums.parquet")
    write(tmp_path / "sums.json", json.dumps(ROWS))
    datasets.Dataset.from_list(ROWS).save_to_disk(str(tmp_path / "saved"))
    hub = tmp_path / "hub"
    hub.mkdir()
    pyarrow.parquet.write_table(table.slice(0, 15), hub / "train-00000-of-00002.parquet")
    pyarrow.parquet.write_table(table.slice(15), hub / "train-00001-of-00002.parquet")
    wanted = [(t.messages, dict(t.params)) for t in draw(dataset(file, seed=None), 40)[0]]
    for path in (tmp_path / "sums.parquet", tmp_path / "sums.json", tmp_path / "saved", hub, hub / "train-*.parquet"):
        tasks, _ = draw(dataset(path, seed=None), 40)
        assert [(t.messages, dict(t.params)) for t in tasks] == wanted, path


def test_mixed_splits_and_whole_dictionaries_are_refused_with_the_way_out(tmp_path):
    table = pyarrow.Table.from_pylist(ROWS)
    for name in ("train", "test"):
        pyarrow.parquet.write_table(table, tmp_path / f"{name}-00000-of-00001.parquet")
    with pytest.raises(SamplerError, match=r"several splits \(test, train\); name one, as in .*/train-\*\.parquet"):
        dataset(tmp_path)
    assert len(dataset(tmp_path / "test-*.parquet").tasks) == 40
    folder = tmp_path / "dictionary"
    (folder / "train").mkdir(parents=True)
    write(folder / "dataset_dict.json", "{}")
    with pytest.raises(SamplerError, match="give one of its splits: train"):
        dataset(folder)


def test_epochs_shuffle_by_seed_and_end(file):
    tasks, state = draw(dataset(file, epochs=2, seed=1), 82)
    keys = [t.key if t else None for t in tasks]
    assert keys[80:] == [None, None] and state == {"drawn": 80}
    assert sorted(keys[:40]) == sorted(keys[40:80]) and keys[:40] != keys[40:80]
    assert keys[:40] != [t.key for t in draw(dataset(file, seed=2), 40)[0]]
    again, _ = draw(dataset(file, epochs=2, seed=1), 30, {"drawn": 50})
    assert [t.key for t in again] == keys[50:80]


def test_shards_partition_each_epoch(file):
    shards = [[t.key for t in draw(dataset(file, seed=1, shard=(r, 3)), 40)[0]] for r in range(3)]
    order = [k for row in zip(*shards, strict=True) for k in row]
    assert order == [t.key for t in draw(dataset(file, seed=1), 120)[0]]


def test_splits_are_disjoint_by_prompt(tmp_path):
    rows = [{"prompt": f"p{i % 150}", "answer": i} for i in range(300)]  # every prompt stands there twice
    path = write(tmp_path / "twice.jsonl", "\n".join(map(json.dumps, rows)))
    splits = {s: {t.messages[0].text for t in dataset(path, split=s).tasks} for s in ("train", "validation", "test")}
    assert sum(len(dataset(path, split=s).tasks) for s in splits) == 300
    assert sum(map(len, splits.values())) == 150 and 100 < len(splits["train"]) < 140
    assert {t.split for t in dataset(path, split="test").tasks} == {"test"}
    with pytest.raises(SamplerError, match="falls into the split 'dev'"):
        dataset(path, split="dev")


def test_columns_can_be_named(tmp_path):
    row = {"q": "Go", "gold": [1, 2], "sys": "Be brief.", "game": "tools", "n": 3}
    path = write(tmp_path / "r.jsonl", json.dumps(row))
    names = {"prompt": "q", "answer": "gold", "system": "sys", "env": "game"}
    (task,) = dataset(path, columns=names).tasks
    assert [(m.role, m.text) for m in task.messages] == [(Role.system, "Be brief."), (Role.user, "Go")]
    assert task.env == "tools" and dict(task.params) == {"answer": [1, 2], "n": 3}


def test_conversations_are_found_and_checked(tmp_path):
    chat = [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]
    path = write(tmp_path / "c.jsonl", json.dumps({"prompt": chat, "solution": 5}))
    (task,) = dataset(path).tasks
    assert [m.text for m in task.messages] == ["s", "u"] and dict(task.params) == {"answer": 5}
    for bad in ([{"role": "robot", "content": "x"}], [{"role": "user"}], ["x"], [], "x"):
        write(path, json.dumps({"messages": bad}))
        with pytest.raises(SamplerError, match=r"c\.jsonl:1.*'messages'"):
            dataset(path)
    for column, kind in (("messages", "list of at least one {role, content}"), ("prompt", "text")):
        write(path, json.dumps({column: None}))
        with pytest.raises(SamplerError, match=f"'{column}' is null; it must be a {kind}"):
            dataset(path)
    write(path, json.dumps({"messages": [*chat, {"role": "assistant", "content": "a"}]}))
    with pytest.raises(SamplerError, match="ends with the assistant"):
        dataset(path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"prompt": "a"}\n{"prompt": ', r"rows\.jsonl:2: not JSON"),
        ('{"prompt": "a"}\n\n[1]', r"rows\.jsonl:3: a row is a JSON object of columns; this is a list"),
        (
            '{"prompt": "a"}\n{"promt": "b"}',
            r"rows\.jsonl:2: the column 'prompt' \(prompt\) is missing; this row has promt",
        ),
        ('{"prompt": "a"}\n{"prompt": 3}', r"rows\.jsonl:2: column 'prompt' is 3; it must be a text"),
        ('{"prompt": ""}', r"rows\.jsonl:1: column 'prompt' is ''"),
        ('{"prompt": "a", "x": NaN}', r"rows\.jsonl:1: not JSON: NaN"),
        ('{"text": "a"}', r"rows\.jsonl:1: no column holds a prompt; the columns are text: .*columns\.prompt=text"),
        ("", "holds no rows"),
    ],
)
def test_bad_rows_name_file_line_and_column(tmp_path, text, said):
    with pytest.raises(SamplerError, match=said):
        dataset(write(tmp_path / "rows.jsonl", text))


def test_bad_files_and_options(tmp_path, file):
    with pytest.raises(SamplerError, match="there is no file or folder"):
        dataset(tmp_path / "none.jsonl")
    with pytest.raises(SamplerError, match=r"end with .*not '\.csv'"):
        dataset(write(tmp_path / "a.csv", "x"))
    with pytest.raises(SamplerError, match="not a readable Parquet file"):
        dataset(write(tmp_path / "a.parquet", "x"))
    with pytest.raises(SamplerError, match="not a readable Arrow stream"):
        dataset(write(tmp_path / "a.arrow", "x"))
    with pytest.raises(SamplerError, match="one array of rows"):
        dataset(write(tmp_path / "a.json", "{}"))
    with pytest.raises(SamplerError, match="did you mean 'prompt'"):
        dataset(file, columns={"promt": "question"})
    with pytest.raises(SamplerError, match="did you mean 'question'"):
        dataset(file, columns={"prompt": "queston"})
    with pytest.raises(SamplerError, match="epochs is -1"):
        dataset(file, epochs=-1)


def test_cells_of_tables_can_go_to_the_ledger(tmp_path):
    row = {
        "prompt": "p",
        "when": datetime.date(2026, 1, 2),
        "price": decimal.Decimal("1.50"),
        "raw": b"\x00",
        "l": [{"a": 1}],
    }
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist([row]), tmp_path / "t.parquet")
    (task,) = dataset(tmp_path / "t.parquet").tasks
    assert task.params["when"] == "2026-01-02" and task.params["price"] == "1.50" and dumps(task)
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist([{"prompt": "p", "x": float("nan")}]), tmp_path / "t.parquet")
    with pytest.raises(SamplerError, match=r"t\.parquet:1: column 'x' is nan"):
        dataset(tmp_path / "t.parquet")


def test_rows_whose_state_is_in_a_picture_alone_are_refused(tmp_path):
    for caption in (2, 0):
        shown = Scaffold(grammar="word", image=64, caption=caption)
        write_export(tmp_path / str(caption), ["MiniSudoku"], [1], {"train": range(2)}, shown)
    with pytest.raises(
        SamplerError, match="jsonl:1: the state is in the picture alone .*without env.scaffold.caption=0"
    ):
        dataset(tmp_path / "0" / "train")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dataset(tmp_path / "2" / "train")  # the text tells it too


@pytest.mark.parametrize(
    "column", [{"image": {"bytes": "", "path": "a.png"}}, {"images": ["a.png"]}, {"file_name": "a.PNG"}]
)
def test_pictures_of_rows_are_told_to_be_left_out(column, tmp_path):
    path = write(tmp_path / "seen.jsonl", json.dumps({"question": "What is that?", "answer": "a cat", **column}))
    with pytest.warns(UserWarning, match=f"the column '{min(column)}' has pictures, .*questions without them"):
        dataset(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dataset(write(path, json.dumps({"question": "What is that?", "image": "debian:12", "file_name": "a.txt"})))


def test_a_message_with_a_picture_is_refused_in_a_line(tmp_path):
    parts = [{"type": "text", "text": "Where?"}, {"type": "image_url", "image_url": {"url": "data:" + "A" * 9000}}]
    path = write(tmp_path / "chat.jsonl", json.dumps({"messages": [{"role": "user", "content": parts}]}))
    with pytest.raises(
        SamplerError, match="chat.jsonl:1: message 0 .* a text as content, and pictures are not read"
    ) as told:
        dataset(path)
    assert len(str(told.value)) < 600
