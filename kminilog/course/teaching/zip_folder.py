"""A zip file that a student hands in, taken as a folder: what the playground saves is one.

    kminilog-home.zip       01_message/  answers.py  progress.json  ...

Only files with names that are wanted come out of it, each of a bounded size. Who writes a zip file
may give a file any name, any size and any kind: so one that would lead out of the folder, a link,
and a file that grows beyond the limit, are refused with all that is beside it. Source: ours.
"""

import os
import stat
import zlib
from collections.abc import Collection
from pathlib import Path, PurePosixPath
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from kminilog.errors import KMiniLogError
from kminilog.storage.files import open_regular

_ARCHIVE_BYTES = 16 << 20  # which bounds the number of files, too
_UNREADABLE = (BadZipFile, EOFError, NotImplementedError, RuntimeError, ValueError, zlib.error)


class ZipError(KMiniLogError):
    """A zip file is not taken; the text says why, without its name."""


def unpack(archive: Path, target: Path, names: Collection[str], limit_bytes: int) -> list[str]:
    """Write the files of a zip file that have one of these names into `target`.

    The case of a name does not count. Returns the paths of all others that are no directories.
    Raises ZipError for a zip file that is none, too large, not safe, or that cannot be unpacked.
    """
    try:
        with open(archive, "rb", opener=open_regular) as file:
            if os.fstat(file.fileno()).st_size > _ARCHIVE_BYTES:
                raise ZipError(f"larger than {_ARCHIVE_BYTES} bytes")
            with ZipFile(file) as opened:
                for info in opened.infolist():
                    _check(info)
                files = [info for info in opened.infolist() if not info.is_dir()]
                left = [info.filename for info in files if not _is_one_of(names, info)]
                for info in files:
                    if _is_one_of(names, info):
                        place = target / PurePosixPath(info.filename)
                        place.parent.mkdir(parents=True, exist_ok=True)
                        place.write_bytes(_content(opened, info, limit_bytes))
                return left
    except _UNREADABLE:
        raise ZipError("cannot be read as a zip file") from None
    except OSError as error:
        raise ZipError(f"cannot be unpacked: {error.strerror}") from None


def _is_one_of(names: Collection[str], info: ZipInfo) -> bool:
    return PurePosixPath(info.filename).name.lower() in names


def _check(info: ZipInfo) -> None:
    path = PurePosixPath(info.filename)
    if path.is_absolute() or ".." in path.parts or "\\" in info.filename:
        raise ZipError(f"{info.filename} leads out of its folder")
    if stat.S_ISLNK(info.external_attr >> 16):
        raise ZipError(f"{info.filename} is a link")


def _content(opened: ZipFile, info: ZipInfo, limit_bytes: int) -> bytes:
    # Others may grow without a bound before they can be stopped.
    if info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        raise ZipError(f"{info.filename} has a compression that kminilog cannot read")
    with opened.open(info) as file:
        data = file.read(limit_bytes + 1)
    if len(data) > limit_bytes:
        raise ZipError(f"{info.filename} is larger than {limit_bytes} bytes")
    return data
