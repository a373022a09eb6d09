"""Credentials are masked before anything is cut; ordinary words, codes and numbers stay."""

from __future__ import annotations

import json
import time

import pandas as pd
import pytest

from harnesskit.reports.document import Document, Section, Table
from harnesskit.reports.masking import MASK, is_secret_name, mask_frame, mask_text, mask_value
from harnesskit.reports.model import Report
from tests.made_regression import made_decision

SECRET = "sk-" + "FAKE0000aaaa1111bbbb2222"


@pytest.mark.parametrize(
    "text",
    [
        f"call failed, key {SECRET} rejected",
        f"Authorization: Bearer {SECRET}",
        '{"headers": {"Authorization": "Bearer abc.def-123456"}}',
        "https://bot:hunter2@example.invalid/x",
        "url?token=abc123&page=2",
        "export MY_SECRET=swordfish; run",
        "password: swordfish",
        'config("api_key": "v4lue")',
        "clientSecret=abc",
        "Cookie: session=abc123; theme=dark",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY-----",
        "failed with key FAKE-value-of-a-variable-9f8e7d",
        "AKIA" + "FAKEFAKEFAKE0000",
        "ghp_" + "FAKE" * 8,
        '{"a": {"b": [{"x-api-key": "zzz"}]}}',
        '"{\\"token\\": \\"abcdef\\"}"',
    ],
)
def test_a_credential_is_masked(text):
    masked = mask_text(text)
    assert MASK in masked
    for needle in (SECRET, "hunter2", "abc123", "swordfish", "v4lue", "MIIabc", "9f8e7d", "zzz", "abcdef", "123456"):
        assert needle not in masked


def test_what_is_masked_stays_as_it_is():
    once = mask_text("api_key: v4lue-1 token=abc123")
    assert once == f"api_key: {MASK} token={MASK}"
    assert mask_text(once) == once


@pytest.mark.parametrize(
    "text",
    [
        "failed with 401",
        "page=2",
        "monkey banana keynote talk",
        '{"tokens_used": 1234, "password_policy": "min 8", "token": 17}',
        "breach:tool_correctness",
        "auth:login-2",
        "token: the next word",
        "basic English test, bearer of news",
        "sha 3f2a9c0d1e4b5a6978",
        "the key order-1017 was used",
        "risk-adjusted-return-2024-q3",
        "eos_token=</s>",
        "2025-03-01T10:00:00Z",
        "C:/Users/x: 12",
    ],
)
def test_ordinary_text_stays(text):
    assert mask_text(text) == text


def test_the_name_decides_by_its_last_words():
    assert is_secret_name("aws_secret_access_key")
    assert is_secret_name("refreshToken")
    assert not is_secret_name("secret_santa")


def test_json_text_without_a_credential_is_untouched_to_the_byte():
    text = '{"n": 12345678901234567890.10, "a":1,  "b": 1.0}'
    assert mask_text(text) == text


def test_numbers_under_a_secret_name_stay_except_a_numeric_password():
    assert mask_value({"password": 123456, "token": 123456, "api_key": None}) == {
        "password": MASK, "token": 123456, "api_key": None,
    }  # fmt: skip


def test_values_of_secret_environment_variables_are_masked(monkeypatch):
    monkeypatch.setenv("MY_TOKEN", "plain words of a variable")
    monkeypatch.setenv("MY_HOME", "somewhere nice")
    assert mask_text("POST with plain words of a variable in somewhere nice") == f"POST with {MASK} in somewhere nice"


def test_the_folder_one_stands_in_is_no_secret(monkeypatch, tmp_path):
    monkeypatch.setenv("PWD", "/somewhere/my-project")
    monkeypatch.setenv("OLDPWD", "/somewhere/else")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path))
    monkeypatch.setenv("DB_PWD", "/not-a-path+but-a-password")
    text = f"--root /somewhere/my-project/demo /somewhere/else {tmp_path}"
    assert mask_text(text) == text
    assert mask_text("with /not-a-path+but-a-password") == f"with {MASK}"


def test_a_frame_is_masked_in_texts_lists_names_and_by_column():
    frame = pd.DataFrame({"note": [f"key {SECRET}", None], "tags": [[SECRET], []], "api_key": ["abc", ""], "n": [1, 2]})
    masked = mask_frame(frame)
    assert SECRET not in masked.to_json()
    assert masked["api_key"].tolist() == [MASK, ""]
    assert masked["n"].tolist() == [1, 2]
    assert frame["note"][0] == f"key {SECRET}"


def test_masking_comes_before_shortening():
    long = "x" * 390 + SECRET + "y" * 300
    page = Report("t", None, (Section("s", (Table("t", "c", pd.DataFrame({"note": [long]})),)),)).render(".html")
    assert b"sk-FAKE" not in page


def test_a_document_masks_its_verdict_and_its_facts():
    document = Document(f"on {SECRET}", made_decision(), metadata={"api_key": "abc"})
    assert SECRET not in document.title
    assert document.metadata == {"api_key": MASK}


def test_a_long_text_is_masked_in_reasonable_time():
    begun = time.perf_counter()
    for text in (
        "a" * 200_000,
        "key " * 50_000,
        "x=" * 100_000,
        "-----BEGIN PRIVATE KEY-----" * 3000,
        "eyJ" * 60_000,
        "key=" * 50_000,
        "a." * 100_000,
        "sk-" * 60_000,
    ):
        mask_text(text)
    assert time.perf_counter() - begun < 10


def test_the_field_report_leaks_nothing(shared, tmp_path, check, monkeypatch):
    folder = shared / "cases" / "65-secrets-in-reports"
    needles = (folder / "needles.txt").read_text().split()
    monkeypatch.setenv("MY_TOKEN", needles[5])
    cases = [json.loads(path.read_text()) for path in sorted((folder / "evalset").glob("*.json"))]
    frame = pd.DataFrame(
        [{**case, "replay_input": json.dumps(case["replay_input"]), "error": f"POST failed with key {needles[5]}"}
         for case in cases]
    )  # fmt: skip
    report = Report("Secrets", None, (Section("Cases", (Table("cases", "cases", frame),)),))
    for suffix in ("html", "md", "json"):
        text = report.save(tmp_path / f"r.{suffix}").read_text()
        for word in ("401", "page=2", "monkey", "keynote", "tokens", "1234", "password"):
            assert word in text
    check("check_leaks.py", tmp_path, folder / "needles.txt")
