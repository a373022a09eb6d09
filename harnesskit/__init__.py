"""Regression analysis and guard promotion for the eval set of an agent harness.

``import harnesskit as hk`` is cheap: a public name is loaded at its first use.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME: dict[str, str] = {
    "open": "harnesskit.harness:open_workspace",
    "Harness": "harnesskit.harness",
    "HarnessConfig": "harnesskit.model.config",
    "EvalCase": "harnesskit.model.case",
    "ReplayContext": "harnesskit.replays.context",
    "ReplayResult": "harnesskit.model.replay",
    "replay": "harnesskit.replays.replay",
    "areplay": "harnesskit.replays.replay",
    "grade": "harnesskit.graders.grading",
    "agrade": "harnesskit.graders.grading",
    "grader": "harnesskit.graders.grader",
    "Grade": "harnesskit.model.grade",
    "LoadReport": "harnesskit.store.load",
    "Metric": "harnesskit.model.metrics",
    "Metrics": "harnesskit.model.metrics",
    "RegressionPolicy": "harnesskit.model.policy",
    "PromotionPolicy": "harnesskit.model.promotion_policy",
    "Decision": "harnesskit.model.decision",
    "Report": "harnesskit.reports.model",
    "case_deltas": "harnesskit.measures.deltas",
    "compare_runs": "harnesskit.measures.comparison",
    "case_statuses": "harnesskit.measures.deltas",
    "evidence_ledger": "harnesskit.measures.ledger",
    "case_flips": "harnesskit.measures.flips",
    "compare_clusters": "harnesskit.measures.clusters",
    "grader_drift": "harnesskit.measures.grader_drift",
    "grader_retest": "harnesskit.measures.grader_retest",
    "judge_ledger": "harnesskit.measures.judge_votes",
    "judge_votes": "harnesskit.measures.judge_votes",
    "position_bias": "harnesskit.measures.position_bias",
    "agreement": "harnesskit.measures.agreement",
    "label_confusion": "harnesskit.measures.agreement",
    "ppi_mean": "harnesskit.measures.ppi_mean",
    "missing_bounds": "harnesskit.measures.missing",
    "noise_table": "harnesskit.measures.noise_table",
    "run_fingerprints": "harnesskit.measures.fingerprints",
    "aa_check": "harnesskit.trials.aa_check",
    "trial_arm": "harnesskit.trials.trial_arm",
    "forward_trial": "harnesskit.measures.forward_trial",
    "forward_path": "harnesskit.measures.forward_trial",
    "win_evidence": "harnesskit.measures.win_evidence",
    "check_evidence": "harnesskit.measures.check_evidence",
    "calibrate": "harnesskit.measures.calibration",
    "sweep_thresholds": "harnesskit.measures.threshold_sweep",
    "labelled_scores": "harnesskit.measures.labelled_scores",
    "metric_agreement": "harnesskit.measures.metric_agreement",
    "replay_gate": "harnesskit.measures.gate_replay",
    "read_labels": "harnesskit.importers.label_files",
    "promotion_evidence": "harnesskit.measures.promotion",
    "evidence_path": "harnesskit.measures.promotion_path",
    "guard_wins": "harnesskit.measures.guard_wins",
    "replay_pairs": "harnesskit.measures.pairs",
    "decide_promotion": "harnesskit.decisions.promotion",
    "decide_regression": "harnesskit.decisions.regression",
    "case_timeline": "harnesskit.measures.case_timeline",
    "corpus_health": "harnesskit.measures.corpus_health",
    "coverage": "harnesskit.measures.coverage",
    "duplicate_cases": "harnesskit.measures.duplicate_cases",
    "session_signatures": "harnesskit.measures.coverage",
    "pass_rates": "harnesskit.measures.pass_rates",
    "pass_differences": "harnesskit.measures.pass_differences",
    "trial_costs": "harnesskit.measures.trial_costs",
    "plot_case_deltas": "harnesskit.plots.regression",
    "plot_comparison": "harnesskit.plots.regression",
    "plot_compliance": "harnesskit.plots.promotion_guard",
    "plot_evidence_path": "harnesskit.plots.promotion",
    "plot_flips": "harnesskit.plots.flips",
    "plot_agreement": "harnesskit.plots.grader_trust",
    "plot_confusion": "harnesskit.plots.grader_trust",
    "plot_retest": "harnesskit.plots.grader_trust",
    "plot_grader_drift": "harnesskit.plots.grader_trust",
    "plot_corrected_means": "harnesskit.plots.grader_trust",
    "plot_guard_wins": "harnesskit.plots.promotion_guard",
    "plot_case_timeline": "harnesskit.plots.case_timeline",
    "plot_coverage": "harnesskit.plots.coverage",
    "plot_noise": "harnesskit.plots.noise",
    "plot_pass_rates": "harnesskit.plots.pass_rates",
    "plot_sequence": "harnesskit.plots.sequence",
    "plot_trials": "harnesskit.plots.trials",
    "plot_threshold_sweep": "harnesskit.plots.calibration",
    "plot_scores_by_label": "harnesskit.plots.calibration",
    "plot_gate_replay": "harnesskit.plots.calibration",
    "calibration_report": "harnesskit.reports.calibration",
    "guards_report": "harnesskit.reports.guards",
    "health_report": "harnesskit.reports.health",
    "promotion_report": "harnesskit.reports.promotion",
    "regression_report": "harnesskit.reports.regression",
    "study_report": "harnesskit.reports.study",
    "from_json": "harnesskit.accessor",
    "build_demo": "harnesskit.demo",
    "demo_root": "harnesskit.demo",
    "EvalSetFullWarning": "harnesskit.model.errors",
    "HarnesskitError": "harnesskit.model.errors",
    "FrameError": "harnesskit.model.errors",
    "GraderError": "harnesskit.model.errors",
    "WorkspaceError": "harnesskit.model.errors",
    "LockedError": "harnesskit.model.errors",
    "PolicyError": "harnesskit.model.errors",
    "QueryError": "harnesskit.model.errors",
    "PromotionRefusedError": "harnesskit.model.errors",
}

__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> Any:
    """Load a public name at its first use, and the frame accessor with it."""
    if name in ("graders", "replays", "review", "testing"):  # hk.graders.exact, hk.review.label
        return importlib.import_module(f"harnesskit.{name}")
    home = _HOME.get(name)
    if home is None:
        from harnesskit.model.errors import nearest

        raise AttributeError(f"module 'harnesskit' has no attribute {name!r}{nearest(name, list(_HOME))}")
    module, _, attribute = home.partition(":")
    value = getattr(importlib.import_module(module), attribute or name)
    importlib.import_module("harnesskit.accessor")  # whatever was asked for, frame.hk is there from now on
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)


if "pandas" in sys.modules:  # a notebook that has frames already can use frame.hk at once
    importlib.import_module("harnesskit.accessor")

if TYPE_CHECKING:
    from harnesskit.accessor import from_json as from_json
    from harnesskit.decisions.promotion import decide_promotion as decide_promotion
    from harnesskit.decisions.regression import decide_regression as decide_regression
    from harnesskit.demo import build_demo as build_demo
    from harnesskit.demo import demo_root as demo_root
    from harnesskit.graders.grader import grader as grader
    from harnesskit.graders.grading import agrade as agrade
    from harnesskit.graders.grading import grade as grade
    from harnesskit.harness import Harness as Harness
    from harnesskit.harness import open_workspace
    from harnesskit.importers.label_files import read_labels as read_labels
    from harnesskit.measures.agreement import agreement as agreement
    from harnesskit.measures.agreement import label_confusion as label_confusion
    from harnesskit.measures.calibration import calibrate as calibrate
    from harnesskit.measures.case_timeline import case_timeline as case_timeline
    from harnesskit.measures.check_evidence import check_evidence as check_evidence
    from harnesskit.measures.clusters import compare_clusters as compare_clusters
    from harnesskit.measures.comparison import compare_runs as compare_runs
    from harnesskit.measures.corpus_health import corpus_health as corpus_health
    from harnesskit.measures.coverage import coverage as coverage
    from harnesskit.measures.coverage import session_signatures as session_signatures
    from harnesskit.measures.deltas import case_deltas as case_deltas
    from harnesskit.measures.deltas import case_statuses as case_statuses
    from harnesskit.measures.duplicate_cases import duplicate_cases as duplicate_cases
    from harnesskit.measures.fingerprints import run_fingerprints as run_fingerprints
    from harnesskit.measures.flips import case_flips as case_flips
    from harnesskit.measures.forward_trial import forward_path as forward_path
    from harnesskit.measures.forward_trial import forward_trial as forward_trial
    from harnesskit.measures.gate_replay import replay_gate as replay_gate
    from harnesskit.measures.grader_drift import grader_drift as grader_drift
    from harnesskit.measures.grader_retest import grader_retest as grader_retest
    from harnesskit.measures.guard_wins import guard_wins as guard_wins
    from harnesskit.measures.judge_votes import judge_ledger as judge_ledger
    from harnesskit.measures.judge_votes import judge_votes as judge_votes
    from harnesskit.measures.labelled_scores import labelled_scores as labelled_scores
    from harnesskit.measures.ledger import evidence_ledger as evidence_ledger
    from harnesskit.measures.metric_agreement import metric_agreement as metric_agreement
    from harnesskit.measures.missing import missing_bounds as missing_bounds
    from harnesskit.measures.noise_table import noise_table as noise_table
    from harnesskit.measures.pairs import replay_pairs as replay_pairs
    from harnesskit.measures.pass_differences import pass_differences as pass_differences
    from harnesskit.measures.pass_rates import pass_rates as pass_rates
    from harnesskit.measures.position_bias import position_bias as position_bias
    from harnesskit.measures.ppi_mean import ppi_mean as ppi_mean
    from harnesskit.measures.promotion import promotion_evidence as promotion_evidence
    from harnesskit.measures.promotion_path import evidence_path as evidence_path
    from harnesskit.measures.threshold_sweep import sweep_thresholds as sweep_thresholds
    from harnesskit.measures.trial_costs import trial_costs as trial_costs
    from harnesskit.measures.win_evidence import win_evidence as win_evidence
    from harnesskit.model.case import EvalCase as EvalCase
    from harnesskit.model.config import HarnessConfig as HarnessConfig
    from harnesskit.model.decision import Decision as Decision
    from harnesskit.model.errors import EvalSetFullWarning as EvalSetFullWarning
    from harnesskit.model.errors import FrameError as FrameError
    from harnesskit.model.errors import GraderError as GraderError
    from harnesskit.model.errors import HarnesskitError as HarnesskitError
    from harnesskit.model.errors import LockedError as LockedError
    from harnesskit.model.errors import PolicyError as PolicyError
    from harnesskit.model.errors import PromotionRefusedError as PromotionRefusedError
    from harnesskit.model.errors import QueryError as QueryError
    from harnesskit.model.errors import WorkspaceError as WorkspaceError
    from harnesskit.model.grade import Grade as Grade
    from harnesskit.model.metrics import Metric as Metric
    from harnesskit.model.metrics import Metrics as Metrics
    from harnesskit.model.policy import RegressionPolicy as RegressionPolicy
    from harnesskit.model.promotion_policy import PromotionPolicy as PromotionPolicy
    from harnesskit.model.replay import ReplayResult as ReplayResult
    from harnesskit.plots.calibration import plot_gate_replay as plot_gate_replay
    from harnesskit.plots.calibration import plot_scores_by_label as plot_scores_by_label
    from harnesskit.plots.calibration import plot_threshold_sweep as plot_threshold_sweep
    from harnesskit.plots.case_timeline import plot_case_timeline as plot_case_timeline
    from harnesskit.plots.coverage import plot_coverage as plot_coverage
    from harnesskit.plots.flips import plot_flips as plot_flips
    from harnesskit.plots.grader_trust import plot_agreement as plot_agreement
    from harnesskit.plots.grader_trust import plot_confusion as plot_confusion
    from harnesskit.plots.grader_trust import plot_corrected_means as plot_corrected_means
    from harnesskit.plots.grader_trust import plot_grader_drift as plot_grader_drift
    from harnesskit.plots.grader_trust import plot_retest as plot_retest
    from harnesskit.plots.noise import plot_noise as plot_noise
    from harnesskit.plots.pass_rates import plot_pass_rates as plot_pass_rates
    from harnesskit.plots.promotion import plot_evidence_path as plot_evidence_path
    from harnesskit.plots.promotion_guard import plot_compliance as plot_compliance
    from harnesskit.plots.promotion_guard import plot_guard_wins as plot_guard_wins
    from harnesskit.plots.regression import plot_case_deltas as plot_case_deltas
    from harnesskit.plots.regression import plot_comparison as plot_comparison
    from harnesskit.plots.sequence import plot_sequence as plot_sequence
    from harnesskit.plots.trials import plot_trials as plot_trials
    from harnesskit.replays.context import ReplayContext as ReplayContext
    from harnesskit.replays.replay import areplay as areplay
    from harnesskit.replays.replay import replay as replay
    from harnesskit.reports.calibration import calibration_report as calibration_report
    from harnesskit.reports.guards import guards_report as guards_report
    from harnesskit.reports.health import health_report as health_report
    from harnesskit.reports.model import Report as Report
    from harnesskit.reports.promotion import promotion_report as promotion_report
    from harnesskit.reports.regression import regression_report as regression_report
    from harnesskit.reports.study import study_report as study_report
    from harnesskit.store.load import LoadReport as LoadReport
    from harnesskit.trials.aa_check import aa_check as aa_check
    from harnesskit.trials.trial_arm import trial_arm as trial_arm

    open = open_workspace  # noqa: A001 - hk.open is the name that users know
