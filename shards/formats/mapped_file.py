"""Map a file into memory without keeping it open, so that a process may map more files than it may open.

`mmap.mmap` keeps a copy of the file's descriptor until the mapping ends; only Python 3.13 can do without
(`trackfd=False`). A mapping itself needs none.
"""

import ctypes
import errno
import mmap
import os
import weakref

import numpy as np
import numpy.typing as npt

_libc = ctypes.CDLL(None, use_errno=True)
_mmap, _munmap = _libc.mmap, _libc.munmap
_mmap.restype = ctypes.c_void_p
_mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
_munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_FAILED = ctypes.c_void_p(-1).value

REMEDIES = {
    errno.EMFILE: "; raise the limit of open files (`ulimit -n`)",
    errno.ENFILE: "; raise the limit of open files of this machine (fs.file-max)",
    errno.ENOMEM: "; raise the limit of address space (`ulimit -v`) or of mappings (vm.max_map_count)",
    errno.EACCES: "; give this user the right to read it",
}
"""What to do if a file cannot be opened or mapped."""


def map_file(descriptor: int) -> npt.NDArray[np.uint8]:
    """Return the bytes of an open file as a read-only array. The mapping ends with the last array that uses it.

    Raise `OSError` if the file is empty or cannot be mapped. The caller may close the descriptor. If the file is cut
    off later, reading what it no longer has kills the process (SIGBUS), as with any mapping.
    """
    size = os.fstat(descriptor).st_size
    address = _mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, descriptor, 0)
    if address == _FAILED:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    memory = (ctypes.c_ubyte * size).from_address(address)
    weakref.finalize(memory, _munmap, address, size).atexit = False  # threads may read until the process ends
    array: npt.NDArray[np.uint8] = np.ctypeslib.as_array(memory)
    array.flags.writeable = False
    return array
