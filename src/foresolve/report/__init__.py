"""Pages about studies, comparisons, trainings and runs; and what the reports of the paper's experiments are made of."""

from foresolve.report.pages import Page, comparison_page, run_page, study_page, training_page

__all__ = ["Page", "comparison_page", "run_page", "study_page", "training_page"]
