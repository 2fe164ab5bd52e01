"""Ingest a file while the disk is full, then free space. `test_full_disk.py` runs this on a file system of a few MB.

Print one JSON object with the result of each step and the state at the end.
"""

import asyncio
import json
import sys
from pathlib import Path

from services.database import open_database, sqlite_url
from services.errors import ServiceError
from services.index.process import IndexProcess
from services.knowledge.builder import IndexBuilder
from services.knowledge.models import IncomingFile
from services.knowledge.parsing import ParseLimits
from services.knowledge.service import KnowledgeService
from services.knowledge.storage import FileStore
from services.records.documents import DocumentRecords
from services.records.tables import now
from services.settings import KnowledgeSettings
from tests.fakes.embeddings import bigram_model

GROUP = "group_1"


def fill(directory: Path, leave: int) -> Path:
    """Fill the file system until about `leave` bytes are left."""
    path = directory / "filler"
    written = 0
    with path.open("wb", buffering=0) as file:
        try:
            while True:
                written += file.write(b"0" * 4096)
        except OSError:
            file.truncate(max(0, written - leave))
    return path


async def told(work: object) -> str:
    """Return how a step ended, in the words that the user gets."""
    try:
        result = await work  # type: ignore[misc]
    except ServiceError as error:
        return f"{type(error).__name__}: {error.user_message}"
    return f"{result.status}: {result.reason}"


async def main(directory: Path) -> None:
    """Run the steps."""
    database = await open_database(sqlite_url(directory / "app.sqlite3"))
    index = IndexProcess(directory)
    await index.open()
    builder = IndexBuilder(index, bigram_model(), ParseLimits(), 100, 0)
    files = FileStore(directory, reserve_bytes=0)
    settings = KnowledgeSettings.model_validate({})
    knowledge = KnowledgeService(DocumentRecords(database), files, index, builder, settings, retry_after_s=(0.1,))
    await knowledge.resume()
    first = await knowledge.add_text(GROUP, "一", "住宿标准为每晚三百五十元。", 1, 2)
    steps: dict[str, object] = {"first": first.status}

    text = "\n".join(f"第{line}条：仪器编号 QZ-{line:04d} 由第 {line} 组保管，使用前要登记。" for line in range(400))
    source = directory / "source.txt"
    source.write_text(text, encoding="utf-8")
    filler = fill(directory, 0)
    another = IndexProcess(directory / "another")
    steps["open"] = await told(another.open())
    await another.close()
    steps["copy"] = await told(files.copy(source))
    steps["text"] = await told(knowledge.add_text(GROUP, "二", text, 1, 2))
    filler.unlink()

    incoming = await files.copy(source)
    filler = fill(directory, 0)
    file = IncomingFile(GROUP, incoming, "三.txt", 1, 2, now())
    steps["record"] = await told(knowledge.ingest(file))
    filler.unlink()

    incoming = await files.copy(source)
    # Enough for the record but not for the index.
    filler = fill(directory, 150_000)
    result = await knowledge.ingest(IncomingFile(GROUP, incoming, "四.txt", 1, 2, now()))
    steps["build"] = f"{result.status}: {result.reason}"
    filler.unlink()
    final = await knowledge.outcome(result.document_id)
    steps["later"] = final.status if final else "gone"
    await knowledge.purge()
    status = await knowledge.status(GROUP)
    steps["chunks"] = [status.chunks, status.indexed_chunks, status.indexed_vectors]
    steps["names"] = [entry.name for entry in (await knowledge.documents(GROUP, 1, 10))[0]]
    known = await DocumentRecords(database).stored_names()
    steps["stray"] = sorted({path.name for path in (directory / "files").iterdir()} - known)
    steps["incoming"] = [path.name for path in (directory / "incoming").iterdir()]
    await knowledge.close()
    await index.close()
    await database.close()
    sys.stdout.write(json.dumps(steps, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
