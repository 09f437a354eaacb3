"""The run directory: an append-only ledger with a hash chain, blobs, checkpoints, and what reads them."""

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
from quintain.ledger.groups import PackedGroup as PackedGroup
from quintain.ledger.groups import Row as Row
from quintain.ledger.reading import Line as Line
from quintain.ledger.rundir import RunDir as RunDir
