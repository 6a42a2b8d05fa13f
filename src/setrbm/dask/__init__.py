"""Past one machine: scoring files on a Dask cluster (extra: dask)."""

from typing import TYPE_CHECKING

from setrbm.tools.lazy import lazy_names

if TYPE_CHECKING:
    from setrbm.dask.cluster import Cluster as Cluster
    from setrbm.dask.cluster import ClusterError as ClusterError
    from setrbm.dask.cluster import VersionError as VersionError
    from setrbm.dask.connecting import connected as connected
    from setrbm.dask.scoring import FileResult as FileResult
    from setrbm.dask.scoring import Scoring as Scoring
    from setrbm.dask.scoring import score_files as score_files

__all__ = [
    "Cluster",
    "ClusterError",
    "FileResult",
    "Scoring",
    "VersionError",
    "connected",
    "score_files",
]
__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Cluster": "cluster",
        "ClusterError": "cluster",
        "FileResult": "scoring",
        "Scoring": "scoring",
        "VersionError": "cluster",
        "connected": "connecting",
        "score_files": "scoring",
    },
)
