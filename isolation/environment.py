"""The environment of a confined process: variables for finding and running code, and none that may be a secret."""

from collections.abc import Mapping

RETAINED_VARIABLES = frozenset(
    {
        *("PATH", "LANG", "LANGUAGE", "TZ", "LD_LIBRARY_PATH", "LD_PRELOAD"),
        *("PYTHONHOME", "PYTHONHASHSEED", "PYTHONDONTWRITEBYTECODE", "PYTHONUTF8", "PYTHONWARNINGS"),
    }
)
RETAINED_PREFIX = "LC_"
SINGLE_THREAD_VARIABLES = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "RAYON_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
}
"""For libraries that start threads when they are loaded: here, processes are the parallelism."""
NO_HOME = "/nonexistent"
"""The home of `nobody` (Debian Policy, section 9.2.3)."""


def scrub_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for a process that reads what strangers wrote, made from ours."""
    retained = {
        name: value
        for name, value in environment.items()
        if name in RETAINED_VARIABLES or name.startswith(RETAINED_PREFIX)
    }
    return {**retained, **SINGLE_THREAD_VARIABLES, "HOME": NO_HOME}
