"""Every property that is tested at a false-alarm level has a mutation that is found at the same level.

A statistical test states its level as one of `LEVELS`. One that its mutation breaks compares with the level the other
way round. The table pairs them; a test that is its own mutation makes both comparisons.
"""

import ast
from pathlib import Path

import pytest

LEVELS = {"ALARM", "FALSE_ALARM", "LEVEL", "LIMIT"}
ITSELF = None
# By file: properties, and the tests that break the sampler or the estimate on purpose.
MUTATIONS = {
    "compound/test_chain.py": {
        "test_posterior_means_are_exact": "test_a_wrong_target_is_found",
        "test_all_states_have_their_probabilities": "test_a_wrong_target_is_found",
        "test_a_symmetric_mixture_that_stays_is_plain_lda": ITSELF,
        "test_sweeps_and_new_words_keep_the_joint_distribution": "test_geweke_finds_a_wrong_target",
        "test_the_bound_on_the_prior_is_not_felt": ITSELF,
    },
    "compound/test_hdp.py": {
        "test_all_states_have_their_probabilities": "test_a_wrong_step_changes_the_states",
        "test_a_sweep_of_some_topics_keeps_the_distribution": "test_a_choice_of_topics_that_depends_on_z_is_found",
        "test_sweeps_keep_draws_of_the_model": "test_a_wrong_step_moves_draws_of_the_model",
    },
    "compound/test_priors.py": {"test_alpha_is_drawn_from_its_posterior": ITSELF},
    "covariates/test_chain.py": {
        "test_all_states_have_their_probabilities": "test_a_wrong_exposure_changes_the_states",
        "test_sweeps_keep_draws_of_the_model": "test_a_wrong_prior_moves_draws_of_the_model",
        "test_sweeps_and_new_words_keep_the_joint_distribution": "test_geweke_finds_a_wrong_target",
        "test_intervals_of_coefficients_are_calibrated": "test_calibration_finds_a_wrong_exposure",
        "test_one_topic_says_nothing_about_its_alpha": ITSELF,
    },
    "covariates/test_regression.py": {
        "test_coefficients_given_the_topics_have_their_posterior": (
            "test_wrong_counts_and_a_normal_approximation_are_found"
        ),
        "test_sigma_has_a_half_cauchy_prior": ITSELF,
    },
    "datasets/test_datasets.py": {
        "test_words_follow_their_topics": ITSELF,
        "test_topics_follow_their_documents": ITSELF,
        "test_proportions_follow_their_priors": ITSELF,
    },
    "estimators/test_consensus.py": {
        "test_a_corpus_without_topics_has_no_consensus_topics": "test_chance_makes_topics_of_a_corpus_without_topics",
    },
    "estimators/test_gibbs_results.py": {
        "test_topics_without_words_of_their_own_are_not_found_again": (
            "test_topics_without_words_of_their_own_would_be_found_again"
        ),
    },
    "estimators/test_merging.py": {"test_theta_has_the_aggregated_dirichlet_distribution": ITSELF},
    "evidence/test_unbiasedness.py": {
        "test_p_hat_is_unbiased": "test_a_weight_taken_after_the_sweep_is_found",
        "test_p_hat_is_unbiased_with_priors_of_every_shape": "test_the_transition_back_is_not_the_transition",
        "test_a_few_temperatures_do_for_unbiasedness": "test_sweeps_under_a_guide_of_another_strength_are_found",
        "test_labels_are_drawn_on_the_way_back": ITSELF,
        "test_annealing_back_is_unbiased_for_the_inverse": (
            "test_a_weight_taken_after_the_sweep_is_found_on_the_way_back"
        ),
        "test_topics_that_do_not_change_places": "test_topics_with_other_priors_must_not_change_places",
    },
    "evidence/test_bennett.py": {"test_backward_runs_are_above_forward_ones": "test_a_guide_of_few_sweeps_is_found"},
    "evidence/test_estimates.py": {
        "test_comparators_find_the_evidence_of_a_tiny_corpus": "test_comparators_of_other_priors_are_wrong",
    },
    "held_out/test_fold_in.py": {
        "test_the_mean_is_the_posterior_mean": "test_a_dropped_prior_and_a_wrong_topic_are_found",
    },
    "held_out/test_leave_one_out.py": {
        "test_annealing_of_one_document_is_unbiased": "test_mutations_are_found",
        "test_exact": "test_mutations_are_found",
        "test_exact_alpha_per_document": "test_mutations_are_found",
        "test_exact_piece_by_piece": "test_mutations_are_found",
        "test_a_single_document": "test_mutations_are_found",
        "test_bennett": ITSELF,
    },
    "held_out/test_log_likelihoods.py": {
        "test_p_hat_is_unbiased": "test_a_wrong_prior_is_found",
        "test_p_hat_is_unbiased_on_longer_documents": "test_a_wrong_prior_is_found",
        "test_a_repeated_word_and_the_quadratic_schedule": "test_a_wrong_prior_is_found",
    },
    "held_out/test_ratio_ais.py": {
        "test_ratios_are_unbiased": ITSELF,
        "test_curves_are_unbiased_at_every_snapshot": ITSELF,
    },
    "inspection/test_group_words.py": {
        "test_intervals_contain_the_truth": "test_a_prior_of_equal_groups_is_found",
    },
    "inspection/test_topic_check.py": {
        "test_replicates_have_their_exact_means": ITSELF,
        "test_z_is_standard_normal_for_topics_of_the_model": "test_topics_that_depend_on_documents_are_found",
    },
    "inspection/test_correlation.py": {
        "test_correlations_of_a_dirichlet_are_neutral": ITSELF,
        "test_the_pull_of_the_prior_is_undone": ITSELF,
    },
    "hyperparameters/test_expectation_maximisation.py": {
        "test_gibbs_em_takes_the_exact_m_step": "test_draws_at_another_prior_are_found",
        "test_the_bound_lies_below_the_evidence_and_rises": "test_a_bound_without_a_divergence_is_found",
    },
    "hyperparameters/test_skeleton.py": {
        "test_the_constants_solve_their_equation_and_have_their_errors": (
            "test_errors_without_the_influence_of_zeta_are_found"
        ),
    },
    "hyperparameters/test_serial_tempering.py": {
        "test_grid_points_are_drawn_from_their_conditional": ITSELF,
        "test_grid_points_are_visited_at_their_rates": "test_another_zeta_is_found",
    },
    "hyperparameters/test_marginal_likelihood.py": {
        "test_the_total_ellipse_covers_the_true_priors": ITSELF,
        "test_log_ratios_are_exact_within_their_errors": "test_a_wrong_ratio_is_found",
        "test_the_papers_options_give_the_same_surface": "test_a_wrong_denominator_is_found",
        "test_the_component_estimator": "test_a_wrong_ratio_is_found",
        "test_errors_are_calibrated": "test_errors_of_the_wrong_size_are_found",
        "test_variances_of_slow_chains_do_not_fall_short": "test_variances_within_chains_alone_fall_short",
        "test_neighbour_proposals_with_the_edge_correction": (
            "test_neighbour_proposals_without_the_edge_correction_are_found"
        ),
    },
    "inspection/test_token_topics.py": {
        "test_new_tokens_follow_their_exact_distribution": "test_draws_with_another_prior_are_found",
    },
    "metrics/test_topic_counts.py": {
        "test_topics_without_words_of_their_own_are_not_counted": (
            "test_topics_without_words_of_their_own_would_be_found_again"
        ),
        "test_errors_of_pairs_are_those_of_the_jackknife": "test_errors_of_pairs_as_if_independent_are_too_small",
    },
    "modes/test_search.py": {
        "test_the_search_leaves_a_bad_mode": "test_a_search_that_puts_nothing_back_stays_in_the_bad_mode",
        "test_sweeps_stay_in_the_bad_mode": "test_the_search_leaves_a_bad_mode",
    },
    "labels/test_chain.py": {
        "test_one_sweep_has_the_exact_transition": "test_a_wrong_count_and_a_dropped_prior_are_found",
        "test_with_all_labels_open_the_chain_has_the_posterior_of_lda": ITSELF,
    },
    "labels/test_geweke.py": {
        "test_sweeps_and_new_words_keep_the_joint_distribution": "test_a_broken_sweep_is_found",
    },
    "labels/test_prediction.py": {
        "test_the_sampler_of_label_tokens_is_exact": "test_another_prior_of_label_tokens_is_found",
        "test_estimates_with_a_fixed_prior_are_exact": ITSELF,
    },
    "sampling/test_annealed_start.py": {
        "test_draws_after_an_annealed_start_have_the_posterior_at_the_given_priors": ITSELF,
    },
    "sampling/test_blocked.py": {
        "test_a_sweep_keeps_the_posterior": "test_a_dropped_prior_is_found",
        "test_a_sweep_keeps_the_posterior_of_three_topics": "test_the_theta_of_a_neighbour_is_found",
        "test_a_sweep_keeps_the_posterior_with_other_numbers_of_workers": "test_a_wrong_phi_or_total_is_found",
        "test_chains_from_one_start_reach_the_posterior": "test_a_wrong_phi_or_total_is_found",
        "test_many_topics": ITSELF,
        "test_rare_topics_are_drawn_at_their_rate": ITSELF,
        "test_gamma_variates": ITSELF,
        "test_an_empty_topic_is_drawn_in_logarithms": ITSELF,
    },
    "sampling/test_draws.py": {
        "test_few_dependent_draws_cover_a_further_draw": ITSELF,
        "test_quantiles_of_many_samples_cover_frequent_words": ITSELF,
    },
    "sampling/test_exact.py": {
        "test_one_sweep_has_the_exact_transition": "test_a_dropped_prior_is_found",
        "test_one_sweep_is_exact_for_any_number_of_lanes": "test_a_wrong_count_is_found",
        "test_one_sweep_is_exact_in_wide_rows": ITSELF,
        "test_chains_from_random_starts_reach_the_posterior": "test_a_wrong_count_is_found",
        "test_a_rare_topic_is_drawn_at_its_rate": ITSELF,
    },
    "sampling/test_geweke.py": {
        "test_sweeps_and_new_words_keep_the_joint_distribution": "test_a_broken_sweep_is_found",
    },
    "sampling/test_initialisation.py": {"test_a_sequential_start_draws_tokens_in_turn": ITSELF},
    "sampling/test_partitioned.py": {
        "test_a_sweep_by_words_keeps_the_posterior": "test_miscounts_and_a_dropped_prior_are_found",
        "test_a_sweep_by_words_keeps_the_posterior_with_few_workers": "test_miscounts_and_a_dropped_prior_are_found",
    },
    "sampling/test_prior_learning.py": {
        "test_draws_after_the_burn_in_have_the_posterior_at_the_learnt_priors": ITSELF,
    },
    "sampling/test_word_major.py": {
        "test_one_sweep_has_the_exact_transition": "test_a_dropped_prior_is_found",
        "test_one_sweep_is_exact_for_any_number_of_lanes": "test_a_wrong_count_is_found",
        "test_lists_of_any_length": ITSELF,
        "test_a_rare_topic_is_drawn_at_its_rate_from_all": ITSELF,
        "test_a_rare_topic_is_drawn_at_its_rate_from_a_list": ITSELF,
    },
    "test_calibration.py": {"test_ranks_are_uniform": "test_mutations_are_found"},
    "topic_count/test_topic_count.py": {"test_pmmh_finds_the_exact_posterior": "test_pmmh_needs_the_proposals_back"},
}
HERE = Path(__file__).parent


def comparisons(source):
    """By name of a test, which way its assertions compare with a level: a set of "Gt" and "Lt"."""
    found = {}
    for test in ast.parse(source).body:
        if isinstance(test, ast.FunctionDef) and test.name.startswith("test_"):
            found[test.name] = {
                type(node.ops[0]).__name__
                for statement in ast.walk(test)
                if isinstance(statement, ast.Assert)
                for node in ast.walk(statement.test)
                if isinstance(node, ast.Compare) and isinstance(node.comparators[0], ast.Name)
                if node.comparators[0].id in LEVELS
            }
    return found


def complaints(tests, pairs):
    """Faults of the pairs of property and mutation of one file."""
    listed = {*pairs, *pairs.values()} - {ITSELF}
    yield from (f"{name} is in the table and not in the file" for name in sorted(listed - tests.keys()))
    yield from (f"{name} has no mutation" for name in tests if tests[name] and name not in listed)
    for name, mutation in pairs.items():
        ways = [tests.get(each, set()) for each in (name, mutation or name)]
        if mutation is ITSELF and len(ways[0]) != 2:
            yield f"{name} does not break what it tests"
        elif mutation is not ITSELF and all(ways) and ways[0] == ways[1]:
            yield f"{mutation} compares as {name} does"


FILES = sorted(path.relative_to(HERE).as_posix() for path in HERE.rglob("test_*.py"))


@pytest.mark.parametrize("name", FILES)
def test_every_property_has_its_mutation(name):
    tests = comparisons((HERE / name).read_text(encoding="utf-8"))
    assert not list(complaints(tests, MUTATIONS.get(name, {})))


def test_the_table_has_no_other_files():
    assert MUTATIONS.keys() <= set(FILES)


@pytest.mark.parametrize(
    "source, pairs",
    [
        ("def test_a():\n    assert p() > ALARM", {}),
        ("def test_a():\n    assert p() > ALARM", {"test_a": ITSELF}),
        ("def test_a():\n    assert p() > ALARM", {"test_a": "test_b"}),
        ("def test_a():\n    assert p() > ALARM\ndef test_b():\n    assert p() > ALARM", {"test_a": "test_b"}),
    ],
)
def test_a_missing_mutation_is_found(source, pairs):
    assert list(complaints(comparisons(source), pairs))
