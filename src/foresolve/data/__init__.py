"""What is learned from: batches and data sets, generators, loaders of real data."""

from foresolve.data.batch import Batch
from foresolve.data.dataset import DecisionDataset
from foresolve.data.generated.budget import BudgetInstances, budget_from_edges, generate_budget
from foresolve.data.generated.citations import generate_citations
from foresolve.data.generated.facility_location import facility_location_data
from foresolve.data.generated.knapsack import knapsack_data
from foresolve.data.generated.movies import generate_movies
from foresolve.data.generated.polynomial import PolynomialRule
from foresolve.data.generated.shortest_path import shortest_path_data
from foresolve.data.generated.travelling_salesman import travelling_salesman_data
from foresolve.data.real.cora import CitationGraph, CitationInstances, TfIdfSimilarity, citation_instances, load_cora
from foresolve.data.real.edges import read_edges
from foresolve.data.real.movielens import MovieInstances, MovieTable, load_movielens, most_rated, movie_instances
from foresolve.data.real.registry import SOURCES
from foresolve.data.real.sources import check_source, fetch_source

__all__ = [
    "Batch",
    "BudgetInstances",
    "CitationGraph",
    "CitationInstances",
    "DecisionDataset",
    "MovieInstances",
    "MovieTable",
    "PolynomialRule",
    "SOURCES",
    "TfIdfSimilarity",
    "budget_from_edges",
    "check_source",
    "citation_instances",
    "facility_location_data",
    "fetch_source",
    "generate_budget",
    "generate_citations",
    "generate_movies",
    "knapsack_data",
    "load_cora",
    "load_movielens",
    "most_rated",
    "movie_instances",
    "read_edges",
    "shortest_path_data",
    "travelling_salesman_data",
]
