"""Is a committed job the same as the requested one, and are its messages still there?

The manifest of a job has the facts that determine its messages:

    source             format, key, value, header, as they were given
    files              how many, their bytes, a digest of their paths and sizes in source order, and
                       a digest of their content
    findings file      which records of the source it calls missing, if just these were asked for
    options            partitioner, seed, partitions, dialect, config, plan

Paths are compared by the files that they lead to, because a relative path, a link or a glob may
name the same files. The times of a file are not part of the identity, because a copy may have other
ones: then the content is compared. Among them is that of the last change of its status, or a file
of equal size whose modification time was set would be taken for the one that was read. Cuts of a
log are on record (storage/partition/cuts.py). Source: ours.
"""

import hashlib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from kminilog.errors import KMiniLogError, LogDirError, PublicationError, SourceError
from kminilog.format.dialect import Dialect
from kminilog.format.names import TopicPartition
from kminilog.jobs.source.description import Source, folder_columns, listed
from kminilog.jobs.source.pieces import content_digest
from kminilog.jobs.source.source_files import SourceFile
from kminilog.jobs.source.tasks import LocalTasks
from kminilog.settings import TopicSettings
from kminilog.storage.files import open_regular
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.manifests import (
    Manifest,
    committed_manifest,
    committed_path,
    is_committed,
    manifest_paths,
    read_manifest,
)
from kminilog.storage.partition.cuts import Cut, Reason, cuts_of_job, read_cuts
from kminilog.storage.topics import TOPIC_SUFFIX
from kminilog.text import count, offsets

_BEGINNING = re.compile(rb'\{\s*"job_id": "([A-Za-z0-9._-]+)",')
_BEGINNING_BYTES = 200


def committed_job(log_dir: Path, job_id: str, warn: Callable[[str], object]) -> Manifest | None:
    """Return the manifest of a committed job, also if somebody has renamed it; None without one.

    It does not count if somebody has deleted the files of its topic: then the job is written again.
    Of manifests that begin with the id of another job it reads no more. `warn` gets a line for each
    one that cannot be read. Raises LogDirError or OSError if it is the one that is named after this
    job: nobody knows then what the job has written. Raises PublicationError if that one is of
    another job.
    """
    named, own = None, committed_path(log_dir, job_id)
    if is_committed(log_dir, job_id) and not own.exists():
        return _if_topic_exists(log_dir, committed_manifest(log_dir, job_id))
    for path in sorted(manifest_paths(log_dir), key=own.__ne__):  # its own first
        try:
            if path != own and _first_id(path) not in (None, job_id):
                continue
            manifest = read_manifest(path)
        except (LogDirError, OSError) as error:
            if path == own:
                raise
            warn(f"{error}; its name is not that of job {job_id}, so the job goes on")
            continue
        if manifest.job_id == job_id:
            return _if_topic_exists(log_dir, manifest)
        if path == own:
            named = manifest
    if named:
        check_own_manifest(log_dir, named, job_id)
    return None


def _if_topic_exists(log_dir: Path, manifest: Manifest) -> Manifest | None:
    return manifest if (log_dir / (manifest.topic + TOPIC_SUFFIX)).exists() else None


def _first_id(path: Path) -> str | None:
    """Return the job id with which a manifest begins, as kminilog writes it; None without one."""
    with open(path, "rb", buffering=0, opener=open_regular) as file:
        found = _BEGINNING.match(file.read(_BEGINNING_BYTES))
    return found[1].decode() if found else None


def check_own_manifest(log_dir: Path, manifest: Manifest, job_id: str) -> None:
    """Raise PublicationError if the file that is named after a job has another job's manifest.

    The job would replace it, and then nobody knows what that other job has written.
    """
    if manifest.job_id != job_id:
        path, own = (committed_path(log_dir, one) for one in (job_id, manifest.job_id))
        reason = f"{path} is the manifest of job {manifest.job_id}; rename it to {own.name}"
        raise PublicationError(job_id, reason=reason)


def file_facts(files: Sequence[SourceFile]) -> dict[str, Any]:
    """Return the facts about the files of a source for a manifest, as they were listed.

    `files_changed` is a digest of the times of their last changes, `files_folders` of the columns
    that their paths have.
    """
    digest, times, folders = hashlib.sha256(), hashlib.sha256(), hashlib.sha256()
    for file in files:
        digest.update(b"%b\0%d\0" % (os.fsencode(os.path.realpath(file.path)), file.size_bytes))
        times.update(b"%d\0%d\0" % (file.changed_ns, file.status_ns))
        folders.update(repr(folder_columns(file)).encode())
    return {
        "files": len(files),
        "files_bytes": sum(file.size_bytes for file in files),
        "files_digest": digest.hexdigest(),
        "files_folders": folders.hexdigest(),
        "files_changed": times.hexdigest(),
    }


def source_change(
    manifest: Manifest, found: Mapping[str, Any], content: Callable[[], str]
) -> str | None:
    """Return how files differ from those that a job has read; None if their content is the same.

    `found` are the facts of the files. `content` returns their `content_digest`; it is called only
    if their sizes are the same, and a time of a last change is not.
    """
    read = manifest.facts
    for name, unit in (("files", "files"), ("files_bytes", "bytes")):
        if read.get(name) != found[name]:
            return f"{read.get(name)} {unit} then, {found[name]} now"
    if read.get("files_changed") == found["files_changed"]:
        return None
    is_same = content() == read.get("files_content")
    return None if is_same else "as many bytes, but not the same ones"


def asked_options(
    topic: str,
    partitions: int | None,
    dialect: Dialect | None,
    settings: TopicSettings | None,
    partitioner: str,
    seed: int,
    plan: str,
) -> dict[str, Any]:
    """Return the requested options by the names of facts; None if one was not requested."""
    return {
        "topic": topic,
        "partitions": partitions,
        "dialect": dialect and dialect.name,
        "config": settings and settings.changed(),
        "partitioner": partitioner,
        "seed": seed,
        "plan": None if plan == "auto" else plan,
    }


def check_ingest(
    manifest: Manifest,
    source: Source,
    options: Mapping[str, Any],
    *,
    max_rejected: int,
    only: str | None = None,
) -> list[str]:
    """Return warnings if a committed job is this ingest; else raise PublicationError.

    `options` have the names of facts; None was not requested. `only` is the identity of the records
    that are wanted, if these are not all. Raises SourceError if the files are gone, unless the job
    had the same arguments.
    """
    warnings = _check_source(manifest, source)
    if manifest.facts.get("only_records") != only:
        raise _taken(manifest, "that was to load other missing records")
    _check_options(manifest, options)
    rejected = manifest.facts.get("rejected", 0)
    if isinstance(rejected, int) and rejected > max_rejected:
        reason = (
            f"it has rejected {count(rejected, 'record')}, --max-rejected allows {max_rejected}"
        )
        raise PublicationError(manifest.job_id, reason=reason)
    return warnings


def check_dataframe(manifest: Manifest, wanted: Mapping[str, Any]) -> None:
    """Raise PublicationError if a committed job is not this write of a DataFrame.

    `wanted` has the names of facts. The identity of a DataFrame is the count of its rows and their
    sum (columns/digests.py), which jobs of older versions do not have.
    """
    source = manifest.facts.get("source")
    if isinstance(source, dict):
        raise _taken(manifest, f"that read {_described(source, manifest.facts)}, no DataFrame")
    others = dict(wanted)
    rows = others.pop("rows_sum", None)
    _check_options(manifest, others)
    if manifest.facts.get("rows_sum", rows) != rows:
        raise _taken(manifest, "that wrote as many rows, but other ones")


def cut_since(writer: LogDirWriter, manifest: Manifest) -> list[str]:
    """Return a line for each cut that has removed messages of a committed job.

    Deletion by retention is not a cut. Each partition of the job is opened, because a loss that no
    writer has noticed yet is not on record. Raises LogDirError for a bad record of cuts.
    """
    met = []
    for staged in manifest.partitions:
        place = TopicPartition(manifest.topic, staged.partition)
        with suppress(KMiniLogError):  # damage is for `verify` to find
            end = writer.log(place).log_end_offset
            met.append(Cut(*place, end, staged.next_offset, Reason.LOST, [manifest.job_id], True))
    cuts = read_cuts(writer.path) + met  # last: they name again what is on record
    return [
        f"{offsets(gone)} of {cut.topic_partition}, which job {manifest.job_id} wrote, "
        f"{'was' if len(gone) == 1 else 'were'} cut off since ({cut.reason})"
        for staged in manifest.partitions
        for cut in cuts_of_job(manifest, staged, cuts)
        for gone in [range(cut.first_offset, cut.next_offset)]
    ]


def _check_source(manifest: Manifest, source: Source) -> list[str]:
    recorded, wanted = manifest.facts.get("source"), source.to_json()
    if not isinstance(recorded, dict):
        raise _taken(manifest, "that wrote a DataFrame")
    by_content = {"only"} & wanted.keys() & recorded.keys()  # its records count, not its name
    for name in sorted({*wanted, *recorded} - {"paths"} - by_content):
        if recorded.get(name) != wanted.get(name):
            option = name.replace("_", "-")
            reason = f"with {option} = {recorded.get(name)}, not {wanted.get(name)}"
            raise _taken(manifest, reason)
    has_same_arguments = recorded.get("paths") == wanted["paths"]
    try:
        files = listed(source)
        found = file_facts(files)
    except SourceError as error:
        if not has_same_arguments:
            raise
        return [f"{error}; only its name was compared with what the job has read"]
    read = manifest.facts
    if read.get("files_digest") != found["files_digest"]:
        described = [_described(*pair) for pair in ((recorded, manifest.facts), (wanted, found))]
        raise _taken(manifest, f"that read {described[0]}, not {described[1]}")
    if read.get("files_folders") != found["files_folders"]:
        raise _taken(manifest, "that read other folders as columns")
    if change := source_change(manifest, found, lambda: content_digest(files, LocalTasks())):
        raise _taken(manifest, f"that read {_described(recorded, read)}: {change}")
    return []


def _check_options(manifest: Manifest, wanted: Mapping[str, Any]) -> None:
    recorded = {**manifest.facts, "topic": manifest.topic}
    for name, value in wanted.items():
        if value is not None and recorded.get(name) != value:
            raise _taken(manifest, f"with {name} = {recorded.get(name)}, not {value}")


def _described(source: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    paths = source.get("paths")
    named = ", ".join(map(str, paths)) if isinstance(paths, list) else "an unknown source"
    size = f", {facts['files_bytes']} bytes" if "files_bytes" in facts else ""
    return f"{named} (files: {facts.get('files')}{size})"


def _taken(manifest: Manifest, by: str) -> PublicationError:
    reason = f"a job {by} has this id; give another id, or the arguments of that job"
    return PublicationError(manifest.job_id, reason=reason)
