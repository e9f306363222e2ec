"""Batches and data sets, generators, loaders of real data."""

from foresolve._base.table_files import TableFile, read_table
from foresolve.data.batch import Batch
from foresolve.data.dataset import DecisionDataset
from foresolve.data.frames.encoding import Encoding
from foresolve.data.frames.keys import Keys
from foresolve.data.frames.reader import FrameReader
from foresolve.data.generated.budget import budget_data
from foresolve.data.generated.citations import citation_data
from foresolve.data.generated.facility_location import facility_location_data
from foresolve.data.generated.knapsack import knapsack_data
from foresolve.data.generated.loads import load_data
from foresolve.data.generated.movies import movie_data
from foresolve.data.generated.polynomial import PolynomialDataset, PolynomialRule
from foresolve.data.generated.portfolio import MarketRule, PortfolioDataset, portfolio_data
from foresolve.data.generated.prices import price_data
from foresolve.data.generated.shortest_path import shortest_path_data
from foresolve.data.generated.terrain import terrain_data
from foresolve.data.generated.tracking import tracking_data
from foresolve.data.generated.travelling_salesman import travelling_salesman_data
from foresolve.data.real.cora import CitationGraph, cora_data, load_cora
from foresolve.data.real.edges import read_edges
from foresolve.data.real.movielens import MovieTable, load_movielens, movielens_data
from foresolve.data.real.registry import SOURCES
from foresolve.data.real.sources import check_source, fetch_source
from foresolve.data.real.warcraft import load_warcraft

__all__ = [
    "Batch",
    "CitationGraph",
    "DecisionDataset",
    "Encoding",
    "FrameReader",
    "Keys",
    "MarketRule",
    "MovieTable",
    "PolynomialDataset",
    "PolynomialRule",
    "PortfolioDataset",
    "SOURCES",
    "TableFile",
    "budget_data",
    "check_source",
    "citation_data",
    "cora_data",
    "facility_location_data",
    "fetch_source",
    "knapsack_data",
    "load_cora",
    "load_data",
    "load_movielens",
    "load_warcraft",
    "movie_data",
    "movielens_data",
    "portfolio_data",
    "price_data",
    "read_edges",
    "read_table",
    "shortest_path_data",
    "terrain_data",
    "tracking_data",
    "travelling_salesman_data",
]
