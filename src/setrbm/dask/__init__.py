"""Past one machine: scoring files, experiments and reading documents on a Dask cluster (extra: dask)."""

from typing import TYPE_CHECKING

from setrbm._lazy import lazy_names

if TYPE_CHECKING:
    from setrbm.dask.cluster import Cluster as Cluster
    from setrbm.dask.cluster import ClusterError as ClusterError
    from setrbm.dask.cluster import VersionError as VersionError
    from setrbm.dask.connecting import connected as connected
    from setrbm.dask.experiments import run_plan as run_plan
    from setrbm.dask.reading import iter_documents as iter_documents
    from setrbm.dask.reading import read_documents as read_documents
    from setrbm.dask.scoring import Receipt as Receipt
    from setrbm.dask.scoring import Scoring as Scoring
    from setrbm.dask.scoring import score_files as score_files

__all__ = [
    "Cluster",
    "ClusterError",
    "Receipt",
    "Scoring",
    "VersionError",
    "connected",
    "iter_documents",
    "read_documents",
    "run_plan",
    "score_files",
]
__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Cluster": "cluster",
        "ClusterError": "cluster",
        "Receipt": "scoring",
        "Scoring": "scoring",
        "VersionError": "cluster",
        "connected": "connecting",
        "iter_documents": "reading",
        "read_documents": "reading",
        "run_plan": "experiments",
        "score_files": "scoring",
    },
)
