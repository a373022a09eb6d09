"""The members of an Inspect ``.eval`` file: a zip whose members are compressed with zstd, read within limits."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from harnesskit.importers.opening import refuse
from harnesskit.importers.shape import Refused

MEMBER = 256 * 1024 * 1024
"""Largest member, in bytes as it is read."""
RATIO = 500
"""Largest ratio of read to stored bytes of a member above `SMALL`."""
SMALL = 1024 * 1024
MEMBERS = 500_000
_ZSTD, _DEFLATE, _STORED = 93, 8, 0
_CHUNK = 1024 * 1024


class Archive:
    """An open zip file.

    Raises
    ------
    WorkspaceError
        It is no zip, or was cut off before its directory, or has too many members.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with zipfile.ZipFile(path) as archive:
                self.members = {info.filename: info for info in archive.infolist()}
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, struct.error) as error:
            raise refuse(path, f"it is not a whole zip file ({error}); it may have been cut off.") from error
        if len(self.members) > MEMBERS:
            raise refuse(path, f"it has {len(self.members):,} members; at most {MEMBERS:,} are read.")

    def read(self, name: str) -> bytes | Refused:
        """Return the bytes of a member, or why they were refused."""
        info = self.members[name]
        if info.file_size > MEMBER or (info.file_size > SMALL and info.file_size > RATIO * max(info.compress_size, 1)):
            return _refused(
                name, "too_large", f"it says that it unpacks {info.compress_size:,} to {info.file_size:,} bytes"
            )
        try:
            with self.path.open("rb") as file:
                data = b"".join(_unpacked(file, info))
        except (OSError, pa.ArrowException, zlib.error, struct.error, ValueError) as error:
            return _refused(name, "unreadable", f"it cannot be unpacked ({str(error)[:120]})")
        if zlib.crc32(data) != info.CRC:
            return _refused(name, "unreadable", "its checksum does not fit its bytes")
        return data


def _refused(name: str, kind: str, why: str) -> Refused:
    return Refused(None, name, kind, f"the member {name}: {why}; it was left out.")


def _unpacked(file: BinaryIO, info: zipfile.ZipInfo) -> Iterator[bytes]:
    """Yield the bytes of a member; one that grows beyond what the directory says is refused on the way."""
    file.seek(info.header_offset)
    head = file.read(30)
    if len(head) != 30 or head[:4] != b"PK\x03\x04":
        raise ValueError("there is no member where the directory says")
    skip = sum(struct.unpack("<HH", head[26:30]))
    file.seek(info.header_offset + 30 + skip)
    packed = file.read(info.compress_size)
    left = info.file_size
    for chunk in _chunks(packed, info):
        left -= len(chunk)
        if left < 0:
            raise ValueError(f"it unpacks to more than the {info.file_size:,} bytes that the directory says")
        yield chunk


def _chunks(packed: bytes, info: zipfile.ZipInfo) -> Iterator[bytes]:
    if info.flag_bits & 1:
        raise ValueError("it is encrypted")
    if info.compress_type == _STORED:
        yield packed
    elif info.compress_type == _DEFLATE:
        unpack = zlib.decompressobj(-15)
        while packed and not unpack.eof:
            yield unpack.decompress(packed, _CHUNK)
            packed = unpack.unconsumed_tail
    elif info.compress_type == _ZSTD:
        with pa.CompressedInputStream(pa.BufferReader(packed), "zstd") as stream:
            while chunk := stream.read(_CHUNK):
                yield chunk
    else:
        raise ValueError(f"compression method {info.compress_type} is not known")
