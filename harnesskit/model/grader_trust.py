"""Contracts of the tables on how far graders can be trusted: votes, costs, repeats, position, agreement, correction."""

from __future__ import annotations

from harnesskit.model.contract import Contract
from harnesskit.model.frames import SCORES

_WHO = {name: SCORES.columns[name] for name in ("metric", "grader", "grader_version")}

JUDGE_VOTES = Contract(
    name="judge votes",
    grain="reply of a judge",
    key=("sample_id", "metric", "grader", "vote", "order"),
    columns={
        "sample_id": SCORES.columns["sample_id"],
        "case_id": "case of the sample",
        "trial": "trial of the sample",
        **_WHO,
        "vote": "number of the vote, from 1",
        "order": "of a pairwise judge: given, or swapped (the second answer stood first); else missing",
        "status": "ok, unreadable, refused or error",
        "value": "0 to 1, as the scale maps the answer (pairwise: 1 for whichever stood first); missing unless ok",
        "answer": "the answer on the judge's own scale, as text",
        "reason": "the judge's reason, or why there is no value",
        "reply": "the reply as it came; missing when there was none",
        "kept": "true when the reply was in the cache and nothing was asked",
        "outcomes": "how each call ended, in order, as the columns of the ledger are named; empty when none was made",
        "seconds": "seconds from the first call to the reply, waits included; missing for a kept one",
        "input_tokens": "tokens read for this reply; missing when not known",
        "output_tokens": "tokens written for this reply; missing when not known",
        "cost_usd": "cost of this reply in US dollars; missing when not known",
    },
)

JUDGE_LEDGER = Contract(
    name="judge ledger",
    grain="metric and judge",
    key=("metric", "grader", "grader_version"),
    columns={
        **_WHO,
        "n_judgments": "samples judged",
        "n_scored": "of these, with a value",
        "n_unscored": "of these, without one: the reply was unreadable or refused, or the votes were tied",
        "n_errors": "of these, lost because the judge could not be asked",
        "n_votes": "replies wanted: kept + readable + unreadable + refused + lost",
        "n_kept": "of these, found in the cache",
        "n_readable": "of these, asked for and read",
        "n_unreadable": "of these, asked for and refused by the reader",
        "n_refused": "of these, refused by the judge or cut off",
        "n_lost": "of these, never answered",
        "n_calls": "calls made: the sum of the six columns that follow",
        "answered": "calls that brought a reply",
        "rate_limited": "calls refused for their rate",
        "server_error": "calls that met a fault of the other side",
        "timed_out": "calls without a reply in time",
        "unreachable": "calls that found no connection",
        "failed": "calls refused for good: another try would not help",
        "input_tokens": "tokens read for the replies asked for",
        "output_tokens": "tokens written for them",
        "cost_usd": "what they cost, in US dollars; missing when no price is known",
        "kept_input_tokens": "tokens once read for the replies found in the cache",
        "kept_output_tokens": "tokens once written for them",
        "kept_cost_usd": "what they once cost; missing when no price is known",
        "n_uncounted": "replies asked for whose tokens are not known, and so are not in the sums",
    },
)

POSITION_BIAS = Contract(
    name="position bias",
    grain="metric and pairwise judge",
    key=("metric", "grader", "grader_version"),
    columns={
        **_WHO,
        "n_cases": "cases whose answers were judged in both orders",
        "n_pairs": "votes with both orders readable",
        "n_consistent": "cases in which all votes chose the same answer in both orders",
        "consistent": "share of the cases",
        "consistent_low": "lower end of its 95 % interval (Clopper-Pearson)",
        "consistent_high": "upper end of that interval",
        "n_first": "cases in which, on balance, whatever stood first was chosen in both orders",
        "n_second": "cases in which, on balance, whatever stood second was chosen in both orders",
        "first": "share of n_first among n_first and n_second; one half is no favour",
        "first_low": "lower end of its 95 % interval (Clopper-Pearson)",
        "first_high": "upper end of that interval",
        "p_value": "chance of a split as uneven if no place were favoured (exact sign test, two-sided)",
        "warning": "what this means for comparisons, in words",
    },
)

RETEST = Contract(
    name="grader retest",
    grain="metric and grader",
    key=("metric", "grader", "grader_version"),
    columns={
        **_WHO,
        "n_items": "things (samples, or same outputs of a case) that were graded at least twice",
        "n_scores": "scores of these",
        "sd": "standard deviation of a score when the same thing is graded again, in the metric's own unit",
        "low": "lower end of its 90 % interval (chi-square)",
        "high": "upper end of that interval",
        "largest": "largest difference between two scores of one thing",
        "icc": "correlation of two scores of one thing: 1 when grading again changes nothing, 0 when it is all noise",
        "pass_at": "score from which a thing passes; missing when there is none",
        "n_turned": "things that passed at one time and failed at another",
        "turned": "share of the things",
        "turned_low": "lower end of its 95 % interval (Clopper-Pearson)",
        "turned_high": "upper end of that interval",
        "flip_rate": "expected share of all things, graded once or more, whose verdict differs between two gradings",
        "votes_needed": "gradings per thing, averaged, that bring it to 15 % or below; missing when more than 25",
        "warning": "what to do about it, in words",
    },
)

AGREEMENT = Contract(
    name="agreement",
    grain="metric and statistic",
    key=("metric", "statistic"),
    columns={
        "metric": "metric that was labelled; missing for labels on the whole unit",
        "statistic": "agreement, ac1, kappa or alpha",
        "value": "1 for full agreement; 0 is chance for all but plain agreement",
        "low": "lower end of its 95 % interval, by bootstrap over units (sessions)",
        "high": "upper end of that interval; both missing below 20 units",
        "n_units": "units that at least two raters labelled",
        "n_raters": "raters of these",
        "n_labels": "labels of these",
        "method": "what exactly was computed",
        "warning": "what to know before it is quoted, in words",
    },
)

CONFUSION = Contract(
    name="label confusion",
    grain="metric, pair of raters and pair of labels",
    key=("metric", "rater_a", "rater_b", "label_a", "label_b"),
    columns={
        "metric": AGREEMENT.columns["metric"],
        "rater_a": "one rater",
        "rater_b": "another one",
        "label_a": "label of the one, as text",
        "label_b": "label of the other, as text",
        "n": "units that were labelled so",
        "share": "share of the units that both labelled",
    },
)

CORRECTED = Contract(
    name="corrected means",
    grain="metric",
    key=("metric",),
    columns={
        "metric": SCORES.columns["metric"],
        "label": "what is estimated: the mean of this column of the labels over all units",
        "mean": "estimate from labels and judge together",
        "low": "lower end of its 95 % interval",
        "high": "upper end of that interval",
        "labels_only": "mean of the labels",
        "labels_low": "lower end of its 95 % interval",
        "labels_high": "upper end of that interval",
        "judge_only": "mean of the judge over all units, uncorrected",
        "weight": "how much the judge counts: 0 is the labels alone, 1 the full correction",
        "n_labelled": "units with a label and a judgment",
        "n_judged": "units with a judgment",
        "judge_on_labelled": "mean of the judge on the labelled units",
        "pass_at": "score from which the judge passes a unit; missing when scores are used as they are",
        "warning": "what the estimate rests on, in words",
    },
)
