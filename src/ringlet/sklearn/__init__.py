"""Ringlet in scikit-learn's pipelines: an imputer and an outlier detector for tables. Needs the extra `sklearn`."""

from ringlet.errors import MissingDependencyError

try:
    from ringlet.sklearn.imputer import RingImputer
    from ringlet.sklearn.outlier_detector import RingOutlierDetector
except ModuleNotFoundError as error:
    if (error.name or "").split(".")[0] != "sklearn":
        raise
    raise MissingDependencyError('ringlet.sklearn needs scikit-learn: pip install "ringlet[sklearn]"') from error

__all__ = ["RingImputer", "RingOutlierDetector"]
