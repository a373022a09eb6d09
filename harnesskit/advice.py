"""What to do about each kind of problem in a workspace."""

from __future__ import annotations

import pandas as pd

ADVICE: dict[str, str] = {
    "bad_kind": 'Write "kind": "failure" or "kind": "win".',
    "bad_signature": 'Write the signature as a list of labels, e.g. ["breach:tool_correctness"].',
    "bad_status": "Append a record with status candidate, active or retired; until then the rule counts as unknown.",
    "bad_time": "Write times as ISO 8601 with a zone, e.g. 2026-06-01T10:00:00+00:00.",
    "duplicate_id": "Give one of the two its own id, or delete it; neither is used until then.",
    "duplicate_key": "Delete one of the two entries of that key.",
    "empty": "Delete the file, or restore it from a copy.",
    "encoding": "Save the file as UTF-8.",
    "infinite": 'Write a finite number, or null for "no score".',
    "lone_surrogate": "Replace the broken character; the writer cut an emoji in half.",
    "misspelt_field": "Rename the field.",
    "no_baseline": 'Add baseline_scores, e.g. {"task_completion": 0.9}; else only control runs can be compared.',
    "no_id": "Give the record an id: text, not empty.",
    "not_a_number": 'Write a JSON number, or null for "no score".',
    "not_json": "Mend or delete the file or line; it is not JSON.",
    "not_text": "Write the value in quotes.",
    "out_of_range": "Correct the value, or declare the metric's range in harnesskit/metrics.toml.",
    "results_missing": "Nothing to mend: the journal keeps 50 results of a run. Runs made by harnesskit keep all.",
    "sub_folder": "Move the case files up into evalset/.",
    "other_suffix": "Rename the file so that it ends in .json.",
    "time_without_zone": "Nothing to mend if the time is UTC; else add its zone.",
    "too_deep": "Flatten the payload to fewer than 100 levels.",
    "torn": "The last line was cut off by a crash, or is being written; load again when nothing writes.",
    "undeclared_range": "Declare the metric's low, high and higher_is_better in harnesskit/metrics.toml.",
    "unknown_field": "Nothing to mend; the field stays in the file.",
    "unreadable": "Look at the file's permissions and links.",
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
        rows.append((severity, source, kind, len(group), named, example, ADVICE.get(str(kind), OTHERWISE)))
    found = pd.DataFrame(rows, columns=columns)
    return found.sort_values(["severity", "source", "kind"], ascending=[False, True, True], ignore_index=True)
