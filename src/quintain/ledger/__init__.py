"""The run directory: an append-only ledger with a hash chain, blobs, checkpoints, and what reads them.

    RUN/run.json  config.toml           what it is, how it was made
    RUN/segments/rank-0/*.seg  lock     the ledger of each rank: frames under a checksum, chained, synced once per commit
    RUN/blobs/rank-0/*.seg              pictures and other data by content hash, in the same form
    RUN/index/rank-0.sqlite             where everything lies; rebuilt from the segments when it is missing or wrong
    RUN/checkpoints/step-000123/        files and a manifest of their hashes
    RUN/damaged/                        what `quintain doctor --repair` took out

What readers rely on in payloads: `issued` and `dropped` have a `ticket` (a number or a ticket), `dropped` a `reason`,
`played` a `group`, `trained` its `tickets` in order and perhaps a `digest`; `metrics` is name -> number. The ledger
itself writes `checkpoint`, `superseded` and `lost`. Other kinds are free.
"""

from quintain.ledger.audit import Audit as Audit
from quintain.ledger.audit import audit as audit
from quintain.ledger.checkpoints import Checkpoint as Checkpoint
from quintain.ledger.errors import CorruptCheckpoint as CorruptCheckpoint
from quintain.ledger.errors import CorruptLedger as CorruptLedger
from quintain.ledger.errors import DiskFull as DiskFull
from quintain.ledger.errors import MissingBlob as MissingBlob
from quintain.ledger.errors import NotARun as NotARun
from quintain.ledger.errors import ReadOnlyRun as ReadOnlyRun
from quintain.ledger.errors import RunLocked as RunLocked
from quintain.ledger.errors import RunMoved as RunMoved
from quintain.ledger.errors import nearest_run as nearest_run
from quintain.ledger.groups import PackedGroup as PackedGroup
from quintain.ledger.groups import Row as Row
from quintain.ledger.reading import Line as Line
from quintain.ledger.rundir import RunDir as RunDir
