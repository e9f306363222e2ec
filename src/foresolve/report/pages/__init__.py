"""One self-contained page of HTML: what it holds, how it is rendered, and who fills it."""

from foresolve.report.pages.comparisons import comparison_page
from foresolve.report.pages.document import Page
from foresolve.report.pages.studies import run_page, study_page
from foresolve.report.pages.trainings import training_page

__all__ = ["Page", "comparison_page", "run_page", "study_page", "training_page"]
