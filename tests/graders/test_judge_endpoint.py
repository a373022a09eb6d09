"""A judge behind an endpoint that is slow, limited, broken, evasive and lied to: every outcome has its status."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from judge_server import TOKENS_IN, TOKENS_OUT, VERDICT, JudgeServer

from harnesskit.graders import loops
from harnesskit.graders.asking import Limits
from harnesskit.graders.grading import grade
from harnesskit.graders.judge import judge
from harnesskit.measures.judge_votes import judge_ledger, judge_votes
from harnesskit.model.errors import GraderError
from harnesskit.workspace.grade_cache import GradeCache

pytest.importorskip("openai", reason="the extra `judge` is not installed")
from harnesskit.graders.openai_endpoint import Endpoint, openai_endpoint

LIMITS = Limits(concurrency=24, tries=3, timeout_s=30, deadline_s=120, first_wait_s=0.002, longest_wait_s=0.004)
# kind -> samples of 1,000, the status each has to get, what its reason says, and the calls that it takes
KINDS = {
    "pass": (435, "ok", "it is a pass", 1),
    "fail": (200, "ok", "it is a fail", 1),
    "slow": (60, "ok", "it is a slow", 1),
    "limited": (60, "ok", "it is a limited", 2),
    "shaky": (40, "ok", "it is a shaky", 3),
    "garbled": (20, "ok", "it is a garbled", 2),
    "dropped": (20, "ok", "it is a dropped", 2),
    "malformed": (30, "unscored", "unreadable: the reply is not one JSON object", 1),
    "chatty": (20, "unscored", "unreadable: the reply is not one JSON object", 1),
    "echo": (20, "unscored", "unreadable: the reply must have the keys", 1),
    "quotes": (20, "unscored", "unreadable: the reply is not one JSON object", 1),
    "words": (10, "unscored", "unreadable: the score 'yes' is not on the scale", 1),
    "refused": (20, "unscored", "refused: I cannot judge this.", 1),
    "filtered": (10, "unscored", "refused: stopped by a content filter", 1),
    "long": (10, "unscored", "refused: cut off", 1),
    "broken": (10, "error", "server_error: HTTP 500", 3),
    "invalid": (10, "error", "failed: HTTP 400", 1),
    "quota": (5, "error", "failed: HTTP 429", 1),
}


def samples_of(kinds: dict[str, int]) -> pd.DataFrame:
    """Samples whose output says how the server behaves, and holds a verdict of its own."""
    texts = [f"{kind} {n} {VERDICT}" for kind, count in kinds.items() for n in range(count)]
    return pd.DataFrame({"sample_id": [f"s-{i}" for i in range(len(texts))], "output": texts, "trial": 1})


def endpoint(server: JudgeServer, **more: object) -> Endpoint:
    return openai_endpoint("judge-small", base_url=server.base_url, **{"limits": LIMITS, "price": (2.0, 10.0), **more})


def asks(ask: Endpoint, **more: object):
    return judge("The answer is right.", ask=ask, metric="correct", reads=["output"], **more)


@pytest.fixture
def close():
    """Endpoints to close on the lasting loop, so that no connection is left open."""
    opened: list[Endpoint] = []
    yield opened.append
    for one in opened:
        loops.run(one.aclose())


def test_a_thousand_judgments_end_with_the_right_status_and_the_ledger_adds_up(tmp_path: Path, close):
    samples = samples_of({kind: count for kind, (count, *_) in KINDS.items()})
    assert len(samples) == 1000
    cache = GradeCache(tmp_path)
    with JudgeServer() as server:
        close(ask := endpoint(server))
        grades = grade(samples, asks(ask), concurrency=64, cache=cache)
        asked = server.asked.total()

        for (kind, (_, status, reason, calls)), rows in zip(
            KINDS.items(), [grades[samples["output"].str.startswith(f"{kind} ")] for kind in KINDS], strict=True
        ):
            assert set(rows["status"]) == {status}, (kind, rows["reason"].unique())
            assert rows["reason"].str.startswith(reason).all(), (kind, rows["reason"].unique())
            assert (judge_votes(rows)["outcomes"].str.split().str.len() == calls).all(), kind
            assert rows["value"].isna().all() == (status != "ok")
        assert grades.loc[samples["output"].str.startswith("fail"), "value"].eq(0.0).all()
        assert grades.loc[samples["output"].str.startswith("pass"), "value"].eq(1.0).all()
        assert server.most_at_once <= LIMITS.concurrency + 1  # one that was dropped may still be on its way out

        ledger = judge_ledger(grades).iloc[0]
        by_status = {
            status: sum(count for count, one, *_ in KINDS.values() if one == status)
            for status in ("ok", "unscored", "error")
        }
        assert (ledger["n_scored"], ledger["n_unscored"], ledger["n_errors"]) == tuple(by_status.values())
        assert ledger["n_calls"] == asked == sum(count * calls for count, _, _, calls in KINDS.values())
        outcomes = ["answered", "rate_limited", "server_error", "timed_out", "unreachable", "failed"]
        assert ledger[outcomes].sum() == ledger["n_calls"]
        assert ledger["answered"] == server.answered.total()
        assert ledger["input_tokens"] == TOKENS_IN * server.answered.total()
        assert ledger["output_tokens"] == TOKENS_OUT * server.answered.total()
        assert ledger["cost_usd"] == pytest.approx(server.answered.total() * (TOKENS_IN * 2 + TOKENS_OUT * 10) / 1e6)
        parts = ["n_kept", "n_readable", "n_unreadable", "n_refused", "n_lost"]
        assert ledger[parts].sum() == ledger["n_votes"] == 1000

        # the raw replies of what was not read are there to look at
        unread = judge_votes(grades).query("status == 'unreadable'")
        assert unread["reply"].notna().all()
        assert (unread["reply"] == VERDICT).sum() == KINDS["echo"][0]

        # again: only what has no verdict is asked for
        server.asked.clear()
        again = grade(samples, asks(ask), concurrency=64, cache=GradeCache(tmp_path))
        assert set(server.asked) == set(samples.loc[grades["status"] != "ok", "output"])
    kept = judge_ledger(again).iloc[0]
    assert (kept["n_kept"], kept["kept_input_tokens"]) == (by_status["ok"], TOKENS_IN * by_status["ok"])
    was = grades["status"] == "ok"
    pd.testing.assert_series_equal(again.loc[was, "value"], grades.loc[was, "value"])


def test_what_hangs_is_given_up_and_costs_nothing_else(close):
    with JudgeServer() as server:
        close(ask := endpoint(server, limits=Limits(concurrency=8, tries=2, timeout_s=0.05, first_wait_s=0.001)))
        grades = grade(samples_of({"hangs": 20}), asks(ask), concurrency=20)
    assert set(grades["status"]) == {"error"}
    assert set(grades["reason"]) == {"timed_out: no reply within 0.05 s (after 2 calls)"}
    ledger = judge_ledger(grades).iloc[0]
    assert (ledger["timed_out"], ledger["n_calls"], ledger["n_lost"], ledger["input_tokens"]) == (40, 40, 20, 0)


SCRIPT = """
import sys
import pandas as pd
from harnesskit.graders.asking import Limits
from harnesskit.graders.grading import grade
from harnesskit.graders.judge import judge
from harnesskit.graders.openai_endpoint import openai_endpoint
from harnesskit.workspace.grade_cache import GradeCache

url, root, samples = sys.argv[1:]
ask = openai_endpoint("judge-small", base_url=url, limits=Limits(concurrency=24))
grade(
    pd.read_json(samples),
    judge("The answer is right.", ask=ask, metric="correct", reads=["output"]),
    concurrency=64,
    cache=GradeCache(root),
)
"""


def test_after_a_kill_only_what_is_missing_is_asked_for(tmp_path: Path, close):
    """The process is killed in the middle, with calls in flight; the next run asks for no verdict that was kept."""
    samples = samples_of({"pass": 300, "fail": 300})
    samples.to_json(tmp_path / "samples.json")
    running: list[subprocess.Popen[bytes]] = []

    def kill(server: JudgeServer) -> None:
        if server.answered.total() >= 250 and running and running[0].poll() is None:
            os.kill(running[0].pid, signal.SIGKILL)

    with JudgeServer(on_request=kill) as server:
        command = [sys.executable, "-c", SCRIPT, server.base_url, str(tmp_path), str(tmp_path / "samples.json")]
        running.append(subprocess.Popen(command, cwd=Path(__file__).parents[2]))
        assert running[0].wait(timeout=120) == -signal.SIGKILL
        kept = len(GradeCache(tmp_path))
        assert kept >= server.answered.total() - 24  # lost at most what was on its way
        assert kept > 200

        close(ask := endpoint(server, api_key="second"))  # who asks; what the killed process sent may still arrive
        grades = grade(samples, asks(ask), concurrency=64, cache=GradeCache(tmp_path))
        assert sum(one["authorization"] == "Bearer second" for one in server.headers) == 600 - kept
    assert set(grades["status"]) == {"ok"}
    assert grades["value"].sum() == 300
    assert judge_ledger(grades).iloc[0]["n_kept"] == kept


def test_what_is_sent_is_the_question_in_the_declared_form_and_nothing_secret(close):
    with JudgeServer() as server:
        close(ask := endpoint(server, api_key="k-123", settings={"temperature": 0}))
        one = asks(ask)
        grade(samples_of({"pass": 1}), one)
        body, headers = server.bodies[0], server.headers[0]
    assert body["response_format"]["json_schema"]["strict"] is True
    assert (body["model"], body["temperature"]) == ("judge-small", 0)
    assert headers["authorization"] == "Bearer k-123"
    assert not [name for name in headers if name.lower().startswith("openai-")]
    assert "k-123" not in f"{ask!r} {ask.replay_identity} {one!r} {one.settings!r} {body}"


def test_another_model_address_or_setting_is_another_version(tmp_path: Path):
    def version(model: str = "a", url: str = "http://127.0.0.1:9/v1", **more: object) -> str:
        return judge("Right?", ask=openai_endpoint(model, base_url=url, **more)).version

    versions = [version(), version("b"), version(url="http://127.0.0.1:8/v1"), version(settings={"top_p": 0.5})]
    assert len(set(versions)) == 4
    assert version(api_key="another") == version(price=(1, 1)) == version()


def test_judges_of_one_endpoint_share_its_limits():
    ask = openai_endpoint("a", base_url="http://127.0.0.1:9/v1")
    first, second = (judge(rubric, ask=ask).function.asker.gate for rubric in ("Right?", "Polite?"))
    assert first is second


def test_works_on_the_loop_of_the_caller():
    from harnesskit.graders.grading import agrade

    async def run(server: JudgeServer) -> pd.DataFrame:
        ask = endpoint(server)
        try:
            return await agrade(samples_of({"pass": 3, "fail": 2}), asks(ask))
        finally:
            await ask.aclose()

    with JudgeServer() as server:
        assert asyncio.run(run(server))["value"].sum() == 3


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"base_url": "127.0.0.1:8000"}, "http"),
        ({"base_url": "http://127.0.0.1/v1", "structured": "xml"}, "json_schema"),
        ({"base_url": "http://127.0.0.1/v1", "api_key_from": "NO_SUCH_VARIABLE_HERE"}, "NO_SUCH_VARIABLE_HERE"),
    ],
)
def test_what_cannot_be_an_endpoint_is_refused(told: dict[str, str], message: str):
    with pytest.raises(GraderError, match=message):
        openai_endpoint("a", **told)
