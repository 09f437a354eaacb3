"""Seeded defects of the production code: what is changed, and which layer of the harness must see it."""

from __future__ import annotations

from typing import NamedTuple


class Mutant(NamedTuple):
    """In `file`, `old` (which stands there once) becomes `new`; the layer `seen` must fail."""

    name: str
    file: str
    old: str
    new: str
    seen: str


MUTANTS = (
    # -- schedules of loop and window on the virtual clock
    Mutant(
        "the lag bound is off by one",
        "window.py",
        "ahead = (self.step + 1 + self.max_lag) * self.size",
        "ahead = (self.step + 2 + self.max_lag) * self.size",
        "clock",
    ),
    Mutant(
        "what is too old is trained one step longer",
        "window.py",
        "or self.step - group.oldest <= self.max_lag:\n            return\n        seen",
        "or self.step - group.oldest <= self.max_lag + 1:\n            return\n        seen",
        "clock",
    ),
    Mutant(
        "the window has no bound",
        "window.py",
        "< min(ahead, self.steps * self.size)",
        "< self.steps * self.size",
        "clock",
    ),
    Mutant("a refill is not counted", "window.py", "        self.refilled += 1\n", "", "clock"),
    Mutant(
        "a restart forgets the slots given back",
        "window.py",
        "self.refilled = index - len(pending) - len(void) - step * self.size",
        "self.refilled = 0",
        "clock",
    ),
    Mutant(
        "a restart forgets the slots that dropped groups hold",
        "window.py",
        "        for ticket in void:\n",
        "        for ticket in void[1:]:\n",
        "clock",
    ),
    Mutant(
        "a checkpoint forgets groups that are being played",
        "window.py",
        "if p.group is not None or not p.judged]\n        return sorted([*here",
        "if p.group is not None]\n        return sorted([*here",
        "clock",
    ),
    Mutant(
        "groups are consumed in the order of the wall clock",
        "line.py",
        "        place.judged = True\n        if place.ticket.index in self.head:\n",
        "        place.judged = True\n        if place.ticket.index in self.head:\n"
        "            self.head[place.ticket.index] = self.head.pop(place.ticket.index)\n",
        "clock",
    ),
    Mutant(
        "a restarted ticket keeps the version of its first life",
        "window.py",
        "replace(self._again.pop(0), version=self.step)",
        "self._again.pop(0)",
        "clock",
    ),
    # -- schedules of the crew on the virtual clock
    Mutant(
        "what an actor says that was taken for dead is believed",
        "runtime/crew.py",
        'if member.jobs.pop(job.message["job"], None) is not job or job.future.done():',
        'member.jobs.pop(job.message["job"], None)\n        if job.future.done():',
        "clock",
    ),
    Mutant(
        "a successor plays with the weights of its start",
        "runtime/crew.py",
        "                if self._latest is newest:",
        "                if True:",
        "clock",
    ),
    Mutant(
        "a successor is given no weights",
        "runtime/crew.py",
        "                await self._give(member)\n                await self.vouch(member)",
        "                await self.vouch(member)",
        "clock",
    ),
    Mutant(
        "a group is played again with another noise",
        "runtime/crew.py",
        "        for job in jobs:\n            job.deaths += 1\n",
        '        for job in jobs:\n            job.deaths += 1\n            job.message["seed"] += 1\n',
        "clock",
    ),
    Mutant(
        "the groups of the dead are forgotten",
        "runtime/crew.py",
        "        self._hand_out([job for job in jobs if job not in lost])\n",
        "",
        "clock",
    ),
    # -- the disk
    Mutant(
        "a commit is acknowledged before it is synced",
        "ledger/log.py",
        '                faults.point("ledger.before_sync")\n                self.disk.sync(self._fd)\n',
        '                faults.point("ledger.before_sync")\n',
        "power",
    ),
    Mutant(
        "a checkpoint's name is not synced",
        "ledger/checkpoints.py",
        '        faults.point("checkpoint.after_rename")\n        self.disk.sync_folder(self.folder)\n',
        '        faults.point("checkpoint.after_rename")\n',
        "power",
    ),
    Mutant(
        "a segment's name is not synced",
        "ledger/log.py",
        '            faults.point("ledger.after_rename")\n            self.disk.sync_folder(self.folder)\n',
        '            faults.point("ledger.after_rename")\n',
        "power",
    ),
    Mutant(
        "a torn tail is not cut",
        "ledger/log.py",
        "                self.disk.truncate(self._fd, self.mark.pos)\n                self.disk.sync(self._fd)\n",
        "                self.mark = self.mark._replace(pos=self.mark.pos + extra)\n",
        "tail",
    ),
    Mutant(
        "the manifest is there before the data",
        "ledger/checkpoints.py",
        "            self.disk.sync_file(path)\n",
        "",
        "power",
    ),
    Mutant(
        "events are durable before the blobs that they name",
        "ledger/writer.py",
        "        written = self.blobs.commit()\n",
        "        self.events.commit() if self.events._pending and self.blobs._pending else None\n"
        "        written = self.blobs.commit()\n",
        "power",
    ),
    # -- a real run and ledger under faults
    Mutant(
        "a step is two transactions",
        "runtime/keeper.py",
        '        self.write(step, "trained", {"step": step, "tickets": self._tickets})\n',
        '        self.store.checkpoint(step + 1, lambda folder: None, notes={"boundary": self._boundary})\n'
        '        self.write(step, "trained", {"step": step, "tickets": self._tickets})\n',
        "faults",
    ),
    Mutant(
        "a full disk is passed over in silence",
        "ledger/disk.py",
        "        if error.errno in _FULL:\n",
        "        if error.errno in _FULL:\n            return\n        if error.errno in _FULL:\n",
        "faults",
    ),
    Mutant(
        "the sampler's state is not in the checkpoint",
        "runtime/run.py",
        "        self.sampler_state, self.advantage_state, self.window.gate_state = states\n",
        "        _, self.advantage_state, self.window.gate_state = states\n",
        "faults",
    ),
    Mutant(
        "the gate's state is not in the checkpoint",
        "runtime/run.py",
        "        self.sampler_state, self.advantage_state, self.window.gate_state = states\n",
        "        self.sampler_state, self.advantage_state, _ = states\n",
        "faults",
    ),
    Mutant(
        "what came after the checkpoint is not superseded",
        "runtime/keeper.py",
        "            self.store.rewind(found)\n",
        "",
        "faults",
    ),
    Mutant(
        "the boundary is one step behind the checkpoint",
        "runtime/run.py",
        "        self.step = step + 1\n        last = self.step == self.plan.steps\n        self.capture()\n",
        "        self.capture()\n        self.step = step + 1\n        last = self.step == self.plan.steps\n",
        "faults",
    ),
)
