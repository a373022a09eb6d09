"""Which sessions of a forward trial get the rule: a pure function of the rule, the cluster and its place."""

from __future__ import annotations

import hashlib

from harnesskit.model.errors import PolicyError

BLOCK = 4
_BLOCKS = ("TTCC", "TCTC", "TCCT", "CTTC", "CTCT", "CCTT")


def trial_arm(rule_id: str, cluster: str, *, position: int | None = None) -> str:
    """Return ``candidate`` (show the rule) or ``control`` for a cluster of live sessions.

    The cluster is whatever must be treated alike: a user, a task, or the session itself. The answer is a pure function
    of its arguments: ask again and it is the same, on any machine.

    With `position`, the number of clusters that entered the trial before this one, arms come in permuted blocks of
    four: two of each, in an order drawn by a hash of the rule and the block. Nothing that drifts in the calendar can
    then favour an arm. Where no counter is shared, leave it out: each cluster is a fair coin by a hash of rule and
    cluster; the arms are then as equal as coins are.

    Log what was assigned when the session starts, whatever becomes of it: ``session_id``, ``cluster``, ``arm``,
    ``occurred_at``. `harnesskit.forward_trial` takes these with the scores, one row per session and metric; sessions
    that fail or are not scored belong in it as well.

    Parameters
    ----------
    rule_id
        The rule under trial. Another text is another rule, and draws its own arms.
    cluster
        Identity of what is assigned.
    position
        Clusters before this one, from 0.

    Raises
    ------
    PolicyError
        The position is not a whole number of 0 or more, or an id is empty.

    Examples
    --------
    >>> sorted(trial_arm("rule-7", f"user-{i}", position=i) for i in range(4))
    ['candidate', 'candidate', 'control', 'control']
    >>> trial_arm("rule-7", "user-1") == trial_arm("rule-7", "user-1")
    True
    """
    if not str(rule_id) or not str(cluster):
        raise PolicyError("trial_arm() needs the id of the rule and of the cluster; found an empty one.")
    if position is None:
        return _name(_draw("coin", rule_id, cluster) % 2 == 0)
    if isinstance(position, bool) or not isinstance(position, int) or position < 0:
        raise PolicyError(f"trial_arm(): position counts the clusters before this one, from 0; found {position!r}.")
    block, place = divmod(position, BLOCK)
    return _name(_BLOCKS[_draw("block", rule_id, str(block)) % len(_BLOCKS)][place] == "T")


def _draw(*parts: str) -> int:
    text = "\x1f".join(str(part) for part in parts)
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big")


def _name(treated: bool) -> str:
    return "candidate" if treated else "control"
