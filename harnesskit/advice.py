"""What to do about each kind of problem in a workspace."""

from __future__ import annotations

import pandas as pd

ADVICE: dict[str, str] = {
    "altered_decision": "Restore decisions.jsonl from version control; else review again and sign again.",
    "bad_action": "Write sign, promote, retire or revoke; until then the record does nothing.",
    "bad_applicability_hint": "Write global, topical or task, or leave the field out.",
    "bad_key": "Write the key as session::metric.",
    "bad_kind": 'Write "kind": "failure" or "kind": "win".',
    "bad_scope": "Give the rule a scope, a short name such as tools/refund; until then it is filed as global.",
    "bad_severity": "Write breach, trend or needs_human.",
    "bad_signature": 'Write the signature as a list of labels, e.g. ["breach:tool_correctness"].',
    "bad_status": "Append a record with status candidate, active or retired; until then the rule counts as unknown.",
    "bad_time": "Write times as ISO 8601 with a zone, e.g. 2026-06-01T10:00:00+00:00.",
    "bad_value": "Correct the value to what the message asks for; until then the setting is not used.",
    "blank": "Nothing to mend; write the value if there is one.",
    "broken_chain": "Restore decisions.jsonl from version control; after a merge of two copies, sign again.",
    "contradiction": "Nothing to mend if the harness wrote it; else correct the counts of the trial.",
    "duplicate_decision": "Nothing to mend: the first record of that id holds. Sign again to replace a review.",
    "duplicate_id": "Give one of the two its own id, or delete it; neither is used until then.",
    "duplicate_key": "Delete one of the two entries of that key.",
    "duplicate_sample": "Delete one of the two attempts of that id in samples.jsonl; the first holds until then.",
    "empty": "Delete the file, or restore it from a copy.",
    "empty_metric": "Give the score the name of its metric, or delete it.",
    "encoding": "Save the file as UTF-8.",
    "half_written_rule": "Nothing to mend: the next write to the rules finishes it.",
    "infinite": 'Write a finite number, or null for "no score".',
    "label_not_text": "Nothing to mend if the text is the right one; else write the labels in quotes.",
    "lone_surrogate": "Replace the broken character; the writer cut an emoji in half.",
    "missing_column": "Import the samples again; the file was written by something else.",
    "missing_fields": "Nothing to mend: an older harness wrote the trial. It counts without what is missing.",
    "misspelt_field": "Rename the field.",
    "name_mismatch": "Rename the folder of the run to its run_id, or correct the run_id in run.json.",
    "no_baseline": 'Add baseline_scores, e.g. {"task_completion": 0.9}; else only control runs can be compared.',
    "no_id": "Give the record an id: text, not empty.",
    "no_line_end": "Nothing to mend: the record is whole. The next writer ends the line.",
    "no_manifest": "Nothing to mend; the runs were read from their own files.",
    "no_resolution": "Nothing to mend: the notice counts as acknowledged. Add resolution to keep why.",
    "no_run_file": "Restore run.json of the run; until then it is known by its folder only.",
    "no_text": "Write the field that the message names, as text.",
    "no_type": 'Give the record a "type", e.g. "notice"; until then it is kept as unknown.',
    "not_a_count": "Write a whole number from 0 up, without quotes.",
    "not_a_file": "Replace the folder or link by a file, or remove it.",
    "not_a_list": 'Write a list, e.g. ["a", "b"]; it is read as empty until then.',
    "not_a_number": 'Write a JSON number, or null for "no score".',
    "not_a_table": "Write the section as [metrics.NAME] or [policies.NAME] with its settings below.",
    "not_an_object": 'Write a JSON object, {"name": value}, in its place, or delete it.',
    "not_json": "Mend or delete the file or line; it is not JSON.",
    "not_text": "Write the value in quotes.",
    "not_toml": "Mend harnesskit/metrics.toml at the place that the message names; nothing in it is used until then.",
    "old_ewma": "Nothing to mend: a field of older versions, which no newer one reads.",
    "old_severity": "Nothing to mend: the older name of a severity was read as the newer one.",
    "out_of_range": "Correct the value, or declare the metric's range in harnesskit/metrics.toml.",
    "results_missing": "Nothing to mend: the journal keeps 50 results of a run. Runs made by harnesskit keep all.",
    "repeats": "Nothing to mend: sessions that were counted twice are kept as recorded.",
    "reserved_id": "Give the run another id in its run.json; this one belongs to harnesskit.",
    "retired_then_reopened": "Nothing to mend if the rule was to come back; else append a record that retires it.",
    "scope_rewritten": "Nothing to mend; to keep a scope as written, use letters, digits, - and / only.",
    "stale_count": "Nothing to mend; the harness writes the count anew at its next notice.",
    "status_and_folder": "Move the notice to mailbox/pending or mailbox/processed, whichever its status says.",
    "sub_folder": "Move the case files up into evalset/.",
    "other_suffix": "Rename the file so that it ends in .json.",
    "time_as_number": "Nothing to mend if the number is seconds since 1970, UTC; else write the time as ISO 8601.",
    "time_without_zone": "Nothing to mend if the time is UTC; else add its zone.",
    "too_deep": "Flatten the payload to fewer than 100 levels.",
    "too_large": "Split the file or line, or move what is not needed out of it.",
    "torn": "The last line was cut off by a crash, or is being written; load again when nothing writes.",
    "torn_earlier": "Nothing to mend: nobody was told that the line was there.",
    "undeclared_range": "Declare the metric's low, high and higher_is_better in harnesskit/metrics.toml.",
    "unknown_field": "Nothing to mend; the field stays in the file.",
    "unknown_type": "Nothing to mend: a record of another program or a newer harness; it is kept and not read.",
    "unknown_value": "Correct the value to one of those in the message; the record is kept as it is until then.",
    "problem:unknown_field": "Correct the spelling of the setting, or delete it; nothing under its name is used.",
    "unreadable": "Look at the file's permissions and links.",
    "wrong_type": "Write the value in the form that the message names.",
}
OTHERWISE = "See the message; mend the file, then load again."


def advise(problems: pd.DataFrame) -> pd.DataFrame:
    """Return one row per severity, source and kind: n, files, example, advice; problems before notes."""
    columns = ["severity", "source", "kind", "n", "files", "example", "advice"]
    rows = []
    for (severity, source, kind), group in problems.groupby(["severity", "source", "kind"], sort=True, dropna=False):
        files = group["file"].dropna().unique()
        named = str(files[0]) if len(files) == 1 else f"{len(files)} files"
        first = group.iloc[0]
        example = f"{first['file']}: {first['message']}" if isinstance(first["file"], str) else str(first["message"])
        rows.append((severity, source, kind, len(group), named, example, _advice(str(severity), str(kind))))
    found = pd.DataFrame(rows, columns=columns)
    return found.sort_values(["severity", "source", "kind"], ascending=[False, True, True], ignore_index=True)


def _advice(severity: str, kind: str) -> str:
    return ADVICE.get(f"{severity}:{kind}") or ADVICE.get(kind, OTHERWISE)
