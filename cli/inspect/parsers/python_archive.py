"""Part of the Python parser of callgate inspect: ZIP archives, of which Python runs __main__.py."""

import io
import zipfile
import zlib

FILES_MAX = 100  # programs of an archive that are looked at
BYTES_MAX = 1 << 20  # of each
ERRORS = (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, RuntimeError, NotImplementedError)


def open_archive(program):
    """
    The archive that a file is or ends with, whatever comes before it: Python looks for the directory at the end. None:
    there is none.
    """
    try:
        return zipfile.ZipFile(io.BytesIO(program)) if b"PK\5\6" in program[-(1 << 16) - 22 :] else None
    except ERRORS:
        return None


def has_text_before(program):
    """
    Whether there is more before an archive than a "#!" line, such as a program that does not run. What an archive says
    of where it begins is no proof: Python may take a file for a program whose archive it cannot read.
    """
    body = program.partition(b"\n")[2] if program.startswith(b"#!") else program
    return not body.startswith(b"PK\3\4")


def read_programs(archive, findings):
    """The programs of an archive, __main__.py first. What is left out is told."""
    infos = sorted(archive.infolist(), key=lambda info: info.filename != "__main__.py")
    programs = [info for info in infos if info.filename.endswith((".py", ".pyc", ".so"))]
    for info in programs[:FILES_MAX]:
        program = None
        try:
            if info.filename.endswith(".py") and info.file_size <= BYTES_MAX:
                with archive.open(info) as file:
                    program = file.read(BYTES_MAX)
        except ERRORS:
            pass
        if program is None:
            findings.add(1, "not-looked-at", "%s in the archive" % info.filename)
        else:
            yield program
    if len(programs) > FILES_MAX:
        findings.add(1, "not-looked-at", "further programs in the archive")
