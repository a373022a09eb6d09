"""Published and independently computed values, each against the public function that must reproduce it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from harnesskit.stats import (
    benefit,
    beta_evidence,
    beta_pass,
    betting,
    drift,
    eprocess,
    intervals,
    itt,
    msprt,
    multiple,
    noise,
    paired,
    passk,
    power,
    ppi,
    random_effects,
    reliability,
    sequential,
    thresholds,
)


def _moderation(i: dict[str, Any]) -> dict[str, Any]:
    prior = noise.fit_prior(i["s2"], i["df"])
    return {"s2_prior": prior.s2, "df_prior": prior.df, "s2_post": noise.moderate(i["s2"], i["df"], prior)}


def _moderated_t(i: dict[str, Any]) -> dict[str, Any]:
    rows = np.array(i["rows"])
    test, prior = paired.moderated_rows(rows[:, :3], rows[:, 3:])
    return {
        "t": test.t,
        "p_two_sided": 2 * np.minimum(test.p_less, 1 - test.p_less),
        "delta": test.delta,
        "df_total": test.df[0],
        "s2_prior": prior.s2,
        "df_prior": prior.df,
    }


def _welch(i: dict[str, Any]) -> dict[str, Any]:
    test = paired.welch(i["x"], i["y"])
    return {"t": test.t, "df": test.df, "p": test.p, "ci95": (test.low, test.high), "p_less": test.p_less}


def _paired(i: dict[str, Any]) -> dict[str, Any]:
    test = paired.paired_t(i["d"])
    return {"t": test.t, "df": test.df, "p": test.p, "ci95": (test.low, test.high)}


def _exact_two_by_two(i: dict[str, Any]) -> dict[str, Any]:
    sides = tuple(i["treated"]), tuple(i["control"])
    return {"fisher_p_less": paired.fisher_less(*sides), "boschloo_p_less": paired.boschloo_less(*sides)}


def _proportion(i: dict[str, Any]) -> dict[str, Any]:
    k, n = i["k"], i["n"]
    return {
        "clopper_pearson": intervals.clopper_pearson(k, n),
        "wilson": intervals.wilson(k, n),
        "jeffreys": intervals.jeffreys(k, n),
        "bayes_flat": intervals.beta_interval(k, n),
    }


def _clustered(i: dict[str, Any]) -> dict[str, Any]:
    se = intervals.clustered_se(i["score"], i["cluster"])
    return {"mean": se.mean, "se_clt": se.clt, "se_cluster_CR0": se.cr0, "se_cluster_CR1": se.cr1}


def _pairing(i: dict[str, Any]) -> dict[str, Any]:
    se = intervals.paired_se(i["a"], i["b"])
    return {"delta": se.delta, "se_paired": se.paired, "se_unpaired": se.unpaired, "corr": se.correlation}


def _non_inferior(i: dict[str, Any]) -> dict[str, Any]:
    test = paired.non_inferiority(i["d"], margin=0.05)
    return {"tost_p": paired.tost(i["d"], margin=0.05), "ni_p": test.p, "lower_95_one_sided": test.low}


def _split(i: dict[str, Any]) -> dict[str, Any]:
    split = multiple.split_alpha(i["alpha"], wins=i["n_wins"], metrics=i["n_metrics"])
    return {
        "alpha_composite": split.composite,
        "alpha_metric": split.metric,
        "z_fixed_composite": split.z_composite,
        "z_fixed_metric": split.z_metric,
    }


def _shrunken(i: dict[str, Any]) -> dict[str, Any]:
    found = noise.shrink_baseline(i["y0"], mean=i["M"], between=i["T2"], within=i["s2"])
    return {"mean": found.mean, "var": found.variance}


def _margins(i: dict[str, Any]) -> dict[str, Any]:
    found = power.margin_false_alarms(sd=i["sd"])
    return {"p_metric": found.metric, "p_case_4_indep": found.case, "p_any_of_3": found.any_of}


def _bounds(spending: sequential.Spending) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda i: {"z": sequential.boundaries(i["info"], i["alpha"], spending=spending)}


def _repeated(i: dict[str, Any]) -> dict[str, Any]:
    found = sequential.repeated_interval(i["d"], i["se"], look=3, info=[0.2, 0.4, 0.6, 0.8, 1.0])
    return {"z3": found.z, "lo": found.low, "hi": found.high}


def _binary_evidence(i: dict[str, Any]) -> dict[str, Any]:
    fails, runs = np.array(i["new_fail_n"]).T
    log_e = beta_evidence.log_failure_e(
        fails, runs, bank_fails=i["bank"][0], bank_runs=i["bank"][1], prior=tuple(i["prior"])
    )
    return {"E": np.exp(log_e), "threshold_60_wins_alpha_05": multiple.e_threshold(60, alpha=0.05)}


def _bernstein(i: dict[str, Any]) -> dict[str, Any]:
    bands = betting.empirical_bernstein(i["x"], confidence=1 - i["alpha"], truncation=i["truncation"])
    return {"lower": bands.low, "upper": bands.high}


def _intra_class(i: dict[str, Any]) -> dict[str, Any]:
    found = reliability.intra_class(i["rows_targets_cols_judges"])
    return {"ICC1": found.icc1, "ICC2": found.icc2, "ICC3": found.icc3, "ICC1k": found.icc1k}


def _powered(i: dict[str, Any]) -> dict[str, Any]:
    found = ppi.powered_mean(i["Y"], i["Yhat"], i["Yhat_unlabeled"], weight=1.0, quantile="normal")
    return {"est": found.mean, "ci": (found.low, found.high), "est_classical": found.classical}


def _distances(i: dict[str, Any]) -> dict[str, Any]:
    found = drift.distances(i["a"], i["b"])
    return {"D": found.ks, "p": found.ks_p, "w1": found.wasserstein}


def _random_effects(i: dict[str, Any]) -> dict[str, Any]:
    laird = random_effects.random_effects(i["effect"], i["var"], heterogeneity="dersimonian-laird")
    paule = random_effects.random_effects(i["effect"], i["var"])
    return {
        "fixed": laird.fixed,
        "dl_tau2": laird.tau2,
        "dl_mean": laird.mean,
        "dl_se": laird.se,
        "pm_tau2": paule.tau2,
        "pm_mean": paule.mean,
        "Q": paule.q,
    }


def _precision(i: dict[str, Any]) -> dict[str, Any]:
    p = thresholds.precision_p(i["tp"], i["flagged"], i["T"])
    low = intervals.clopper_pearson(i["tp"], i["flagged"], confidence=0.8).low
    return {"p": p, "cp_lower_90": low, "accept_at_0_10": p <= 0.10}


def _benefit(i: dict[str, Any]) -> dict[str, Any]:
    found = benefit.benefit(i["control"], i["rule"], prior_sd=i["prior_sd"], prior_df=i["d0"])
    return found._asdict() | {"var": found.variance, "p_one_sided": found.p}


def _forecast(i: dict[str, Any]) -> dict[str, Any]:
    found = beta_pass.predictive_pass(i["scores"], threshold=i["threshold"], prior_sd=i["prior_sd"], prior_df=i["d0"])
    return found._asdict()


def _exercised_only(i: dict[str, Any]) -> dict[str, Any]:
    found = itt.exercised_only_bias(sd=i["sd"], effect=i["effect"])
    return {"exercised_only_expected": found.exercised_only, "itt": found.itt, "cace": found.cace}


COVERED = {
    "mod-01": _moderation,
    "mod-02": _moderation,
    "mod-03": _moderation,
    "mod-04": _moderated_t,
    "mod-05": lambda i: {"y": noise.trigamma_inverse(i["x"])},
    "t-01": _welch,
    "t-02": _paired,
    "np-01": lambda i: {"p": paired.wilcoxon_exact(i["d"])},
    "np-02": lambda i: {"p": paired.sign_flip(i["d"])},
    "bin-01": lambda i: {"p": paired.mcnemar_exact(i["b_improved"], i["c_regressed"])},
    "bin-02": _exact_two_by_two,
    "prop-01": _proportion,
    "prop-02": _proportion,
    "prop-03": _proportion,
    "prop-04": _proportion,
    "prop-05": lambda i: {"lower": [intervals.all_passed_low(n, confidence=i["conf"]) for n in i["n"]]},
    "beta-01": lambda i: {
        "flat_10_of_10": intervals.chance_above(0.8, 10, 0),
        "prior41_6_of_6": intervals.chance_above(0.8, 6, 0, prior=(4, 1)),
        "flat_9_of_10": intervals.chance_above(0.8, 9, 1),
    },
    "cl-01": _clustered,
    "cl-02": _pairing,
    "pow-01": lambda i: {
        "n": power.t_sample_size(delta=0.1, sd=0.02**0.5),
        "power_at_n6": power.t_power(6, delta=0.1, sd=0.02**0.5),
    },
    "pow-02": lambda i: {"n": power.replays_per_arm(sd=i["s"], effect=i["theta"], cases=i["F"])},
    "pow-03": lambda i: {
        "k": power.judge_repeats(judge_sd=i["sj"], agent_sd=i["sa"], replay_cost=i["c_replay"], judge_cost=i["c_judge"])
    },
    "mult-01": lambda i: {
        "holm": multiple.holm(i["p"]),
        "bh": multiple.benjamini_hochberg(i["p"]),
        "by": multiple.benjamini_yekutieli(i["p"]),
    },
    "mult-02": lambda i: {"rejected": multiple.e_bh(i["e"], alpha=i["alpha"])},
    "mult-03": lambda i: {
        "E": multiple.mean_e(i["e"]),
        "threshold": multiple.e_threshold(i["m_cases"], alpha=i["alpha"]),
    },
    "ni-01": _non_inferior,
    "reg-01": lambda i: {"z_comp": multiple.composite_z(i["z"], i["R"])},
    "reg-02": _split,
    "eb-01": _shrunken,
    "pass-01": lambda i: {
        "pass_at": [[float(passk.pass_at_k(i["n"], c, k)) for k in i["k"]] for c in i["c"]],
        "pass_hat": [[float(passk.pass_hat_k(i["n"], c, k)) for k in i["k"]] for c in i["c"]],
    },
    "dr-05": lambda i: intervals.effective_n(i["n_traces"], per_cluster=i["per_session"], icc=i["icc"])._asdict(),
    "ref-01": _margins,
    "ref-02": lambda i: {"p": power.breach_rule_promotions(i["p0"])},
    "gs-01": _bounds("hsd"),
    "gs-02": _bounds("hsd"),
    "gs-03": _bounds("obrien-fleming"),
    "gs-04": _bounds("pocock"),
    "gs-05": lambda i: {"spent": sequential.spent(i["t"], i["alpha"], gamma=i["gamma"])},
    "rci-01": _repeated,
    "e-01": lambda i: {"E": eprocess.sign_symmetry(i["D"], i["kappa"]).e},
    "e-02": lambda i: {"E": eprocess.sign_symmetry(i["D"], np.arctanh(i["bets"])).e},
    "e-03": lambda i: {"n": [eprocess.min_pairs(alpha) for alpha in i["alpha"]]},
    "bet-01": lambda i: {"wealth": betting.capital(i["x"], i["m"], alpha=i["alpha"], truncation=i["c"])},
    "bet-02": _bernstein,
    "msprt-01": lambda i: {
        "LR": np.exp(msprt.log_mixture_ratio(i["mean"], i["n"], variance=i["sigma2"], mixing=i["tau2"]))
    },
    "bb-01": _binary_evidence,
    "icc-01": _intra_class,
    "kap-01": lambda i: reliability.agreement(i["table"])._asdict(),
    "kap-02": lambda i: reliability.agreement(i["table"])._asdict(),
    "kri-01": lambda i: {
        level: reliability.krippendorff(i["reliability_data"], level=level)
        for level in ("nominal", "ordinal", "interval")
    },
    "ppi-01": _powered,
    "ppi-02": lambda i: {"est": ppi.powered_mean(i["Y"], i["Yhat"], i["Yhat_unlabeled"]).mean},
    "dr-01": _distances,
    "dr-02": lambda i: {"psi": drift.psi(i["expected"], i["observed"])},
    "dr-03": lambda i: {"C": drift.cusum(i["z"], slack=i["k"]).path},
    "dr-04": lambda i: {"z": drift.self_starting(i["baseline"], i["new"])},
    "re-01": _random_effects,
    "cal-01": _precision,
    "cal-02": lambda i: {"n": [thresholds.certifiable_count(target, delta=i["delta"]) for target in i["T"]]},
    "ben-01": _benefit,
    "pred-01": _forecast,
    "itt-01": _exercised_only,
}
"""Checkpoint to the function that computes it from the checkpoint's input."""


@pytest.fixture(scope="module")
def checkpoints(shared) -> dict[str, dict[str, Any]]:
    items = json.loads((shared / "checkpoints.json").read_text())["checkpoints"]
    return {item["id"]: item for item in items}


def test_no_checkpoint_is_left_out(checkpoints: dict[str, dict[str, Any]]) -> None:
    assert set(COVERED) == set(checkpoints)


@pytest.mark.parametrize("name", COVERED)
def test_checkpoint(name: str, checkpoints: dict[str, dict[str, Any]]) -> None:
    point = checkpoints[name]
    found = COVERED[name](point["input"])
    for key, expected in point["expected"].items():
        wanted, got = np.array(expected, dtype=float), np.array(found[key], dtype=float)
        # The file's rule: absolute up to 1, relative above; 0 is "equal", which floats are to 12 digits.
        tolerance = (point["tol"] or 1e-12) * np.maximum(1.0, np.abs(np.where(np.isfinite(wanted), wanted, 1.0)))
        same = np.equal(wanted, got) | (np.abs(got - np.where(np.isfinite(wanted), wanted, 0.0)) <= tolerance)
        assert same.all(), f"{name} {key}: expected {wanted}, found {got}"
