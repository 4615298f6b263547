# SPDX-License-Identifier: BSD-3-Clause
"""The kernel, the initial RAM file system and the siw module that machines boot with: made from
Debian's packages once, then taken from the cache.

An entry of the cache is a folder: vmlinux, initramfs and, once somebody wanted siw, siw.ko. Its
name has the kernel's version and a digest of the files here. It appears complete, or not at all.
"""
import contextlib
import fcntl
import glob
import hashlib
import lzma
import os
import pathlib
import re
import shlex
import shutil
import struct
import tempfile

from host import Failure, progress, run

HERE = os.path.dirname(os.path.realpath(__file__))
INSTALL_PACKAGES = os.path.join(os.path.dirname(HERE), "install_packages")
PROGRAMS = ("qemu-system-x86_64", "setpriv", "ip", "rdma")
GUEST_FILES = ("guest.py", "channel.py")
MODULES = ("virtio_pci", "virtio_console", "9pnet_virtio", "9p", "overlay", "ib_uverbs", "rdma_rxe",
           "rdma_cm", "rdma_ucm", "crc32_generic", "libcrc32c", "dummy", "veth")
# Of bytes, while an entry is made.
ROOM_FOR_KERNEL, ROOM_FOR_SIW = 600 << 20, 300 << 20


class PackageFailure(Failure):
    """apt-get cannot find or download a package."""


def cache_folder():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(os.path.abspath(base), "softrdma")


def find_program(name):
    return shutil.which(name, path=os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin")


def prepare(device):
    """The folder of the newest cached entry that suffices for `device`; makes one if needed."""
    if not all(map(find_program, PROGRAMS)):
        install_packages()
    cache = cache_folder()
    entry = _newest(cache, device)
    if entry:
        return entry
    try:
        os.makedirs(cache, exist_ok=True)
        with _lock(cache):
            return _newest(cache, device) or _make(cache, device)
    except OSError as error:
        raise Failure(f"{error.filename or cache}: {error.strerror}") from error


def install_packages():
    progress.say("installing Debian packages")
    run(INSTALL_PACKAGES, "softrdma", finish=True)


@contextlib.contextmanager
def _lock(cache):
    """One process at a time makes entries; what an earlier one left half-done goes."""
    folder = os.open(cache, os.O_RDONLY)
    try:
        progress.say("waiting for another run that prepares the machine")
        fcntl.flock(folder, fcntl.LOCK_EX)
        for remains in glob.glob(os.path.join(cache, "tmp.*")):
            shutil.rmtree(remains, ignore_errors=True)
        yield
    finally:
        os.close(folder)


def digest():
    """Of what entries are made by."""
    sha256 = hashlib.sha256()
    for name in ("image.py", "init", *GUEST_FILES):
        with open(os.path.join(HERE, name), "rb") as file:
            sha256.update(file.read())
    return sha256.hexdigest()[:12]


def _newest(cache, device):
    needed = ("vmlinux", "initramfs") + (("siw.ko",) if device == "siw" else ())
    entries = [entry for entry in glob.glob(os.path.join(glob.escape(cache), f"*-{digest()}"))
               if all(os.path.exists(os.path.join(entry, name)) for name in needed)]
    return max(entries, key=os.path.getmtime, default=None)


def _make(cache, device):
    install_packages()
    try:
        return _make_from_packages(cache, device)
    except PackageFailure as first:
        progress.say("updating the lists of Debian packages")
        try:
            run(*([] if os.geteuid() == 0 else ["sudo", "-n"]), "apt-get", "-q", "update")
        except Failure as failure:
            raise Failure(f"{first}\n{failure}") from first
        return _make_from_packages(cache, device)


def _make_from_packages(cache, device):
    image = _dependencies("linux-image-amd64", "linux-image-")[0]
    version = re.search(r"^Version: (\S+)", _apt("apt-cache", "show", "--no-all-versions", image),
                        re.MULTILINE).group(1)
    entry = os.path.join(cache, f"{image}_{version}-{digest()}")
    if not os.path.exists(entry):
        with _scratch(cache, ROOM_FOR_KERNEL) as scratch:
            made = _make_base(image, scratch)
            os.rename(made, entry)
    if device == "siw" and not os.path.exists(os.path.join(entry, "siw.ko")):
        with _scratch(cache, ROOM_FOR_SIW) as scratch:
            made = _make_siw(image.removeprefix("linux-image-"), scratch)
            os.rename(made, os.path.join(entry, "siw.ko"))
    return entry


@contextlib.contextmanager
def _scratch(cache, room):
    free = shutil.disk_usage(cache).free
    if free < room:
        raise Failure(f"{cache}: {room >> 20} MiB are needed, {free >> 20} MiB are free "
                      "(XDG_CACHE_HOME chooses another place)")
    scratch = tempfile.mkdtemp(prefix="tmp.", dir=cache)
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _apt(*argv, folder=None):
    return run(*argv, folder=folder, failure=PackageFailure)


def _dependencies(package, prefix):
    """The packages called PREFIX... that `package` depends on; never none."""
    found = re.findall(rf"^\s*Depends: ({prefix}\S+)", _apt("apt-cache", "depends", package),
                       re.MULTILINE)
    if not found:
        raise PackageFailure(f"apt-cache knows no package {package} that depends on {prefix}...")
    return found


def _download(package, folder):
    """The package's file."""
    progress.say(f"downloading {package}")
    _apt("apt-get", "-q", "-o", "APT::Sandbox::User=root", "download", package, folder=folder)
    return glob.glob(os.path.join(folder, f"{package}_*.deb"))[0]


def _unpack(package, scratch, *tar_options):
    """Unpacks the package into `scratch`."""
    file = _download(package, scratch)
    progress.say(f"unpacking {package}")
    _pipe(["dpkg-deb", "--fsys-tarfile", file], ["tar", "-x", "-C", scratch, *tar_options])
    os.remove(file)


def _pipe(*commands):
    run("bash", "-c", "set -o pipefail; " + " | ".join(map(shlex.join, commands)))


def _make_base(image, scratch):
    """A new entry: the kernel and the initial RAM file system."""
    _unpack(image, scratch)
    _unpack("busybox-static", scratch)
    progress.say("making the initial RAM file system")
    entry = os.path.join(scratch, "entry")
    root = os.path.join(scratch, "initramfs")
    os.makedirs(os.path.join(root, "bin"))
    os.makedirs(os.path.join(root, "modules"))
    os.makedirs(os.path.join(root, "guest"))
    os.mkdir(entry)
    shutil.copy(os.path.join(scratch, "bin", "busybox"), os.path.join(root, "bin"))
    shutil.copy(os.path.join(HERE, "init"), os.path.join(root, "init"))
    os.chmod(os.path.join(root, "init"), 0o755)
    for name in GUEST_FILES:
        shutil.copy(os.path.join(HERE, name), os.path.join(root, "guest"))
    _copy_modules(scratch, image.removeprefix("linux-image-"), os.path.join(root, "modules"))
    initramfs = os.path.join(entry, "initramfs")
    run("bash", "-c", f"set -o pipefail; find . | cpio --quiet -o -H newc >{shlex.quote(initramfs)}",
        folder=root)
    with open(os.path.join(entry, "vmlinux"), "wb") as vmlinux:
        vmlinux.write(_decompressed(glob.glob(os.path.join(scratch, "boot", "vmlinuz-*"))[0]))
    return entry


def _decompressed(vmlinuz):
    """The kernel as an ELF file: emulated, it would take long to decompress itself. See the
    kernel's Documentation/x86/boot.rst.
    """
    with open(vmlinuz, "rb") as file:
        data = file.read()
    sectors = data[0x1f1] or 4
    offset, length = struct.unpack_from("<II", data, 0x248)
    begin = 512 * (sectors + 1) + offset
    return lzma.LZMADecompressor().decompress(data[begin:begin + length])


def _copy_modules(scratch, kernel, target):
    """MODULES and all that they need, with the order to load them in."""
    run("depmod", "-b", scratch, kernel)
    shown = run("modprobe", "-d", scratch, "-S", kernel, "--show-depends", "-a", *MODULES)
    # insmod FILE ARGUMENT...
    lines = dict.fromkeys(line.split(maxsplit=1)[1] for line in shown.splitlines()
                          if line.startswith("insmod "))
    with open(os.path.join(target, "order"), "w", encoding="utf-8") as order:
        for line in lines:
            file, *arguments = line.split()
            shutil.copy(file, target)
            print(os.path.basename(file), *arguments, file=order)


def _make_siw(kernel, scratch):
    """siw.ko, which Debian's kernels lack, from the kernel's source package."""
    headers = f"linux-headers-{kernel}"
    for package in [headers, *_dependencies(headers, "linux-")]:
        _unpack(package, scratch)
    release = ".".join(kernel.split(".")[:2])
    source = f"linux-source-{release}"
    file = _download(source, scratch)
    progress.say(f"unpacking {source}")
    folder = f"{source}/drivers/infiniband/sw/siw"
    _pipe(["dpkg-deb", "--fsys-tarfile", file],
          ["tar", "-xO", f"./usr/src/{source}.tar.xz"],
          ["tar", "-xJ", "-C", scratch, folder])
    os.remove(file)
    progress.say("building the siw module")
    build = os.path.join(scratch, "usr", "src", headers)
    # The headers name each other by where they would be installed.
    makefile = pathlib.Path(build, "Makefile")
    makefile.write_text(makefile.read_text().replace("/usr/src/", f"{scratch}/usr/src/"))
    run("make", "-C", build, f"M={os.path.join(scratch, folder)}", "CONFIG_RDMA_SIW=m", "modules")
    module = os.path.join(scratch, folder, "siw.ko")
    run("strip", "--strip-debug", module)
    return module
