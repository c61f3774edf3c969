"""Bulk ingest in this process: for small sources, which take less time than the start of Spark.

All records are one run; joining gives it its offsets. So the files are those of both plans of
Spark. A plan that the user names changes nothing here: the manifest records it, so that a repeat of
the job is recognised.
Source: ours.
"""

from collections.abc import Iterator, Sequence

import pyarrow as pa

from kminilog.jobs.ingest.runs import Moved, RunsWriter, Staged, join_again, joined
from kminilog.jobs.ingest.staging import StagingJob, check_space, run_task
from kminilog.jobs.source.columns import Columns, columns_of, left_out
from kminilog.jobs.source.description import Source
from kminilog.jobs.source.pieces import content_digest
from kminilog.jobs.source.source_files import SourceFile
from kminilog.jobs.source.tasks import LocalTasks
from kminilog.progress import Progress, TasksDone, untold
from kminilog.storage.manifests import StagedPartition
from kminilog.text import noun


class LocalIngest:
    """Runs the tasks of a job in this process."""

    name = "local"

    def __init__(self, progress: Progress = untold) -> None:
        """`progress` gets a line for each batch of records, and how much of the source is read."""
        self._progress = progress

    def start(self) -> None:
        """Do nothing: this process runs."""

    def stage(
        self, source: Source, files: Sequence[SourceFile], job: StagingJob, plan: str
    ) -> Staged:
        """Write the records of a source in staging."""
        columns = columns_of(source, files)
        check_space(job.log_dir, "runs", columns.staged_bytes)
        batches = self._batches(columns)
        staged = joined(LocalTasks(self._progress), job, [run_task(batches, job, RunsWriter)])
        staged.plan = "runs" if plan == "auto" else plan
        staged.reason = "this process makes one run, whatever the plan"
        staged.content = content_digest(files, LocalTasks())
        staged.left_out = left_out(columns, LocalTasks())
        return staged

    def join_again(self, job: StagingJob, moved: Sequence[Moved]) -> list[StagedPartition]:
        """Give staged partitions other offsets."""
        return join_again(LocalTasks(self._progress), job, moved)

    def _batches(self, columns: Columns[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        items, count = [item for group in columns.groups(1) for item in group], 0
        for done, item in enumerate(items, start=1):
            for batch in columns.read([item]):
                count += len(batch)
                self._progress(f"{count} {noun('record', count)}")
                yield batch
            self._progress(TasksDone("reading", done, len(items), columns.size_bytes))
