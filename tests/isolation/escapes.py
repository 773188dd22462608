"""What a page may try after it has taken over the process that parses it.

Each function returns what it got, and raises if a wall holds. Everything that they need is imported before the walls
stand.
"""

# mypy: disable-error-code="func-returns-value"
# Each escape returns what it got: a call that returns None returns the words behind `or`.

import ctypes
import fcntl
import mmap
import os
import signal
import socket
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import pyseccomp

LIBC = ctypes.CDLL(None, use_errno=True)
OBJECTS = ("object", "changed", "cut", "removed", "renamed")
DEVICES = ("/dev/vda", "/dev/sda", "/dev/nvme0n1", "/dev/mem", "/dev/kmsg", "/dev/tty")
MARK = Path("/tmp/thresher-escaped")
SECRET = "s3cr3t-of-the-test"
"""What no process that parses may ever hold."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """What an escape may reach."""

    directory: str
    """Of a project: it holds thresher.toml, and objects of its storage (`OBJECTS`)."""
    port: int
    """At which somebody listens on loopback."""
    unix: str
    """The socket of a server, such as Redis."""
    abstract: str
    """Another, without a file."""
    keeper: int
    """A process that holds credentials, as the parent does."""
    address: int
    """Of something in its memory."""
    neighbour: int
    """Another process of the same user."""

    def path(self, name):
        return Path(self.directory, name)


def syscall(name, *arguments):
    number = pyseccomp.resolve_syscall(pyseccomp.Arch.NATIVE, name)
    got = LIBC.syscall(number, *arguments)
    if got < 0:
        raise OSError(ctypes.get_errno(), name)
    return got


# files


def read_shadow(_):
    return Path("/etc/shadow").read_bytes()


def read_passwd(_):
    return Path("/etc/passwd").read_bytes()


def read_configuration(target):
    return target.path("thresher.toml").read_text()


def read_another_object(target):
    return target.path("object").read_bytes()


def list_directory(target):
    return sorted(Path(target.directory).iterdir())


def list_root(_):
    return sorted(Path("/").iterdir())


def read_environment_of_keeper(target):
    return Path(f"/proc/{target.keeper}/environ").read_bytes()


def read_command_line_of_neighbour(target):
    return Path(f"/proc/{target.neighbour}/cmdline").read_bytes()


def read_own_environment(_):
    found = b"\0".join(b"%s=%s" % pair for pair in os.environb.items())
    if SECRET.encode() not in found:
        raise PermissionError("there is no secret in it")
    return found


def read_own_memory_of_the_start(_):
    """Read what the kernel put on the stack when the process started."""
    found = Path("/proc/self/environ").read_bytes()
    if SECRET.encode() not in found:
        raise PermissionError("there is no secret in it")
    return found


def write_to_temporary_directory(_):
    return MARK.write_text("x")


def write_to_storage(target):
    return target.path("forged").write_text("x")


def change_an_object(target):
    return target.path("changed").write_text("x")


def truncate_an_object(target):
    return os.truncate(target.path("cut"), 0) or "cut"


def remove_an_object(target):
    return target.path("removed").unlink() or "gone"


def rename_an_object(target):
    return target.path("renamed").rename(target.path("new-name"))


def make_directory(target):
    return target.path("new").mkdir() or "made"


def link_to_shadow(target):
    return target.path("link").symlink_to("/etc/shadow") or "linked"


def change_mode(target):
    return target.path("object").chmod(0o777) or "changed"


def reopen_what_is_open(_):
    """Open standard error by its name in /proc, if it is a file of the parent."""
    return os.open("/proc/self/fd/2", os.O_RDWR)


def open_a_device(_):
    """Open any device: a disk, the memory, the kernel's log."""
    device = next(path for path in map(Path, DEVICES) if path.exists())
    return os.open(device, os.O_RDONLY)


def change_root(target):
    return os.chroot(target.directory) or "changed"


# network


def connect_to_loopback(target):
    return socket.create_connection(("127.0.0.1", target.port), timeout=5).getpeername()


def open_ipv4(_):
    """Open the kind of socket that reaches the credentials in a cloud machine's metadata service."""
    return socket.socket(socket.AF_INET, socket.SOCK_STREAM)


def send_a_datagram(target):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        return udp.sendto(b"x", ("127.0.0.1", target.port))


def open_ipv6(_):
    return socket.socket(socket.AF_INET6, socket.SOCK_STREAM)


def open_netlink(_):
    return socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)


def open_packets(_):
    return socket.socket(socket.AF_PACKET, socket.SOCK_RAW)


def connect_to_unix_socket(target):
    with socket.socket(socket.AF_UNIX) as unix:
        return unix.connect(target.unix) or "connected"


def connect_to_abstract_socket(target):
    with socket.socket(socket.AF_UNIX) as unix:
        return unix.connect(target.abstract) or "connected"


def listen(_):
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return server.listen() or server.getsockname()


def open_io_uring(_):
    """Open io_uring, which can make sockets without the call `socket`."""
    return syscall("io_uring_setup", 1, ctypes.create_string_buffer(120))


# processes


def fork(_):
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    return pid


def clone_by_hand(_):
    pid = syscall("clone", signal.SIGCHLD, 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)
    return pid


def clone3_by_hand(_):
    arguments = (ctypes.c_uint64 * 11)(0, 0, 0, 0, signal.SIGCHLD)
    pid = syscall("clone3", arguments, 88)
    if pid == 0:
        os._exit(0)
    return pid


def start_a_program(_):
    return subprocess.check_output(["/bin/sh", "-c", "id"])


def become_a_program(_):
    return os.execv("/bin/true", ["/bin/true"])


def run_a_program_in_memory(_):
    return os.memfd_create("x")


def start_a_thread(_):
    thread = threading.Thread(target=int)
    thread.start()
    return thread.name


def signal_keeper(target):
    return os.kill(target.keeper, 0) or "may be signalled"


def signal_neighbour(target):
    return os.kill(target.neighbour, 0) or "signalled"


def signal_everybody(_):
    return os.kill(-1, 0) or "signalled"


def signal_by_a_descriptor(target):
    pid = os.pidfd_open(target.neighbour)
    return signal.pidfd_send_signal(pid, 0) or "signalled"


def signal_by_the_owner_of_a_file(target):
    """Let the kernel signal the owner of a descriptor that becomes readable."""
    reading, writing = os.pipe()
    fcntl.fcntl(reading, fcntl.F_SETOWN, target.neighbour)
    fcntl.fcntl(reading, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(reading, fcntl.F_SETFL, os.O_ASYNC)
    os.write(writing, b"x")
    time.sleep(0.2)
    if Path(f"/proc/{target.neighbour}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
        raise PermissionError("it lives")
    return "killed"


def own_what_is_open(target):
    """Do the first half of that with a descriptor that is open already."""
    return fcntl.fcntl(0, fcntl.F_SETOWN, target.neighbour) or "owned"


def trace_keeper(target):
    return syscall("ptrace", 16, target.keeper, 0, 0) or "attached"  # PTRACE_ATTACH


def trace_neighbour(target):
    return syscall("ptrace", 0x4206, target.neighbour, 0, 0) or "seized"  # PTRACE_SEIZE


def read_memory_of_keeper(target):
    room = ctypes.create_string_buffer(8)
    ours = (ctypes.c_size_t * 2)(ctypes.addressof(room), 8)
    theirs = (ctypes.c_size_t * 2)(target.address, 8)
    return syscall("process_vm_readv", target.keeper, ours, 1, theirs, 1, 0)


def open_memory_of_keeper(target):
    return os.open(f"/proc/{target.keeper}/mem", os.O_RDONLY)


def take_a_descriptor_of_keeper(target):
    return syscall("pidfd_getfd", os.pidfd_open(target.keeper), 0, 0)


def limit_keeper(target):
    limits = (ctypes.c_uint64 * 2)(1, 1)
    return syscall("prlimit64", target.keeper, 7, limits, 0) or "limited"


def raise_own_limits(_):
    import resource

    return resource.setrlimit(resource.RLIMIT_DATA, (resource.RLIM_INFINITY,) * 2) or "raised"


def become_root(_):
    os.setresuid(0, 0, 0)
    return Path("/etc/shadow").read_bytes()


def make_namespaces(_):
    return syscall("unshare", 0x10000000) or "made"  # CLONE_NEWUSER


def enter_namespaces_of_keeper(target):
    return syscall("setns", os.pidfd_open(target.keeper), 0x40000000) or "entered"


def mount(target):
    syscall("mount", b"none", target.directory.encode(), b"tmpfs", 0, 0)
    return syscall("umount2", target.directory.encode(), 0) or "mounted"


def make_a_map_of_the_kernel(_):
    attributes = (ctypes.c_uint32 * 32)(2, 4, 4, 1)  # an array of one number
    return syscall("bpf", 0, attributes, 128)


def read_keys(_):
    return syscall("keyctl", 0, -3, 1)


def watch_performance(_):
    attributes = (ctypes.c_uint32 * 28)(1, 112)  # the clock of the CPU
    return syscall("perf_event_open", attributes, 0, -1, -1, 0)


def handle_page_faults(_):
    return syscall("userfaultfd", 0)


# memory


def share_memory(_):
    """Share memory, which no limit counts."""
    return mmap.mmap(-1, 1 << 20).write(b"x")


def fill_memory(_):
    """Allocate memory until that fails."""
    held = []
    while len(held) < 1 << 14:
        held.append(bytearray(1 << 24))
    return f"{len(held) << 24} bytes"


def fill_memory_by_mapping(_):
    held = []
    while len(held) < 1 << 14:
        some = mmap.mmap(-1, 1 << 24, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        held.append(some)
    return f"{len(held) << 24} bytes"


def open_many_files(_):
    held = []
    while len(held) < 1 << 12:
        held.append(os.dup(0))
    return f"{len(held)} descriptors"


FILES = (
    *(read_shadow, read_passwd, read_configuration, read_another_object, list_directory, list_root),
    *(read_environment_of_keeper, read_command_line_of_neighbour, read_own_environment),
    *(read_own_memory_of_the_start, open_memory_of_keeper),
)
WRITES = (
    *(write_to_temporary_directory, write_to_storage, change_an_object, truncate_an_object, remove_an_object),
    *(rename_an_object, make_directory, link_to_shadow, change_mode),
    *(reopen_what_is_open, open_a_device, change_root),
)
NETWORK = (
    *(connect_to_loopback, open_ipv4, send_a_datagram, open_ipv6, open_netlink, open_packets),
    *(connect_to_unix_socket, connect_to_abstract_socket, listen, open_io_uring),
)
PROCESSES = (
    *(fork, clone_by_hand, clone3_by_hand, start_a_program, become_a_program, run_a_program_in_memory),
    *(start_a_thread, signal_keeper, signal_neighbour, signal_everybody, signal_by_a_descriptor),
    *(own_what_is_open, trace_keeper, trace_neighbour, read_memory_of_keeper),
    *(take_a_descriptor_of_keeper, limit_keeper, raise_own_limits, become_root, make_namespaces),
    *(enter_namespaces_of_keeper, mount, make_a_map_of_the_kernel, read_keys, watch_performance),
    *(handle_page_faults, signal_by_the_owner_of_a_file),
)
OF_BROWSER = (
    *(escape for escape in FILES if escape is not read_command_line_of_neighbour),
    *(escape for escape in WRITES if escape not in {reopen_what_is_open, change_mode}),
    *NETWORK,
    *(signal_keeper, signal_neighbour, signal_by_a_descriptor, trace_keeper, trace_neighbour),
    *(read_memory_of_keeper, take_a_descriptor_of_keeper, limit_keeper, become_root),
    *(enter_namespaces_of_keeper, mount, make_a_map_of_the_kernel, read_keys, watch_performance),
    *(handle_page_faults, signal_by_the_owner_of_a_file),
)
"""What is kept from a browser too. It must start processes, see which there are, and change modes."""
MEMORY = (share_memory, fill_memory, fill_memory_by_mapping, open_many_files)
EVERY = (*FILES, *WRITES, *NETWORK, *PROCESSES, *MEMORY)


def try_escape(escape, target):
    """Return what an escape got, as text; empty if a wall held."""
    try:
        return repr(escape(target))[:200]
    except (OSError, RuntimeError, MemoryError, subprocess.SubprocessError):
        return ""


def try_in_process(escape, target):
    """Try an escape in a process of its own, because it may become another program."""
    reading, writing = os.pipe()
    if (pid := os.fork()) == 0:
        os.close(reading)
        got = try_escape(escape, target)
        os.write(writing, got.encode())
        os._exit(0 if got else 1)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        got = file.read().decode()
    _, status = os.waitpid(pid, 0)
    return got or ("became another" if status == 0 else "")
