"""Matrix files: YAML in, checked rows and cases out."""

from kvconform.matrix.layouts import check_layouts
from kvconform.matrix.load import load_matrices, load_matrix, matrix_schema
from kvconform.matrix.model import (
    Axis,
    Header,
    Matrix,
    Row,
    RowHandle,
    RowsFile,
    RowsFileError,
    build_case,
    build_layout,
)
from kvconform.matrix.paths import find_layouts, find_matrices, shipped_names
from kvconform.matrix.problems import (
    MatrixError,
    MatrixNotFoundError,
    Problem,
    ProblemsError,
    suggest,
)
from kvconform.matrix.scenario import (
    Scenario,
    ScenarioError,
    ScenarioNotFoundError,
    load_scenario,
    scenario_names,
)

__all__ = [
    "Axis",
    "Header",
    "Matrix",
    "MatrixError",
    "MatrixNotFoundError",
    "Problem",
    "ProblemsError",
    "Row",
    "RowHandle",
    "RowsFile",
    "RowsFileError",
    "Scenario",
    "ScenarioError",
    "ScenarioNotFoundError",
    "build_case",
    "build_layout",
    "check_layouts",
    "find_layouts",
    "find_matrices",
    "load_matrices",
    "load_matrix",
    "load_scenario",
    "matrix_schema",
    "scenario_names",
    "shipped_names",
    "suggest",
]
