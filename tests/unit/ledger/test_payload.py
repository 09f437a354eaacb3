"""Events as bytes: every JSON value and array comes back; what is not data is refused; foreign bytes run nothing."""

from __future__ import annotations

import contextlib

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintain.ledger.errors import CorruptLedger
from quintain.ledger.payload import pack_event, unpack_event
from quintain.types import Event, Message, Span, Stop, Task, Ticket

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**200), 2**200) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def back(**payload):
    event = Event(time=1.5, step=3, actor="a", kind="k", payload=payload)
    again = unpack_event(pack_event(event, lambda image: image))
    assert (again.time, again.step, again.actor, again.kind) == (1.5, 3, "a", "k")
    return again.payload


@given(st.dictionaries(st.text(), JSON, max_size=4))
def test_every_json_value_comes_back(payload):
    event = Event(time=0.0, step=0, actor="", kind="k", payload=payload)
    assert unpack_event(pack_event(event, lambda image: image)).payload == payload


@pytest.mark.parametrize("dtype", ["u1", "<i8", "<f4", ">f8", "?", "<U3"])
def test_arrays_keep_type_and_shape(dtype):
    array = np.arange(6).reshape(2, 3).astype(dtype)
    again = back(x=array)["x"]
    assert again.dtype == array.dtype and again.shape == (2, 3) and (again == array).all()
    again[0, 0] = again[1, 1]  # a copy of one's own


def test_records_become_plain_data():
    task = Task(key="k", env="KeyDoor", messages=(Message.of("user", "hi"),))
    got = back(
        ticket=Ticket(index=4, task=task), stop=Stop.done, spans=(Span(start=0, stop=1, version=2),), n=np.float32(0.5)
    )
    assert got["ticket"]["index"] == 4 and got["ticket"]["task"]["messages"][0]["parts"] == [{"text": "hi"}]
    assert got["stop"] == "done" and got["spans"] == [{"start": 0, "stop": 1, "version": 2}] and got["n"] == 0.5
    assert back(table={1: "one"})["table"] == {1: "one"}


@pytest.mark.parametrize("value", [object(), print, np.array([object()])])
def test_what_is_not_data_is_refused(value):
    with pytest.raises(TypeError, match="cannot write"):
        back(x=value)


@given(st.binary(max_size=60))
def test_foreign_bytes_are_an_error_and_nothing_else(data):
    with contextlib.suppress(CorruptLedger):
        unpack_event(data)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x80\x04\x95cposix\nsystem\n",  # how a pickle begins
        msgpack.packb([1, 2]),
        msgpack.packb([0.0, 0, "", "k", {"x": msgpack.ExtType(99, b"")}]),
        msgpack.packb([0.0, 0, "", "k", {"x": msgpack.ExtType(2, msgpack.packb(["|O8", [1], b"12345678"]))}]),
        msgpack.packb([0.0, 0, "", "k", {"x": msgpack.ExtType(3, b"seven")}]),
        msgpack.packb([0.0, 0, "", "k", {"x": msgpack.ExtType(1, b"\xc1")}]),
    ],
)
def test_broken_and_malicious_records_are_typed_errors(data):
    with pytest.raises(CorruptLedger):
        unpack_event(data)
