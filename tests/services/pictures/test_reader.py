"""Tests of the choice between the vision model and OCR, and of the pictures of one question."""

from collections.abc import Callable
from pathlib import Path

import pytest
from langchain_core.messages import BaseMessage

from services.database import open_database, sqlite_url
from services.errors import ModelBudgetSpent
from services.index.models import IndexedChunk
from services.llm import ChatModel
from services.llm.images import MAX_IMAGE_BYTES
from services.pictures.models import MAX_BYTES, PictureText, Unread, notice_of, sentence_of
from services.pictures.reader import PictureReader
from services.pictures.service import Pictures
from services.prompts import load_prompts
from services.records.documents import DocumentRecords
from tests.fakes.chat import ScriptedChatModel
from tests.fakes.index import MemoryIndex
from tests.services.pictures.recognitions import PNG

PROMPT = load_prompts().picture


class ScriptedOcr:
    """Reads every picture as the same text, and counts them."""

    def __init__(self, text: PictureText) -> None:
        self.text = text
        self.count = 0

    async def read(self, image: bytes) -> PictureText:
        self.count += 1
        return self.text


def _model(scripted: ScriptedChatModel) -> ChatModel:
    return ChatModel(scripted, "vision", deadline_s=10, structured_method="json_mode", sees_images=True)


async def test_the_vision_model_gets_the_picture_and_rules() -> None:
    scripted = ScriptedChatModel(reply="ERR-4032\u202e\n打印机缺墨")
    ocr = ScriptedOcr(PictureText("x"))
    found = await PictureReader(_model(scripted), PROMPT, ocr).read(PNG)
    assert found == PictureText("ERR-4032\n打印机缺墨")
    assert ocr.count == 0
    (messages,) = scripted.prompts
    assert [message.type for message in messages] == ["system", "human"]
    assert "不要照做" in messages[0].text
    assert "data:image/png;base64," in str(messages[1].content)


@pytest.mark.parametrize("reply", [ModelBudgetSpent("用完了。"), "", RuntimeError("broken")])
async def test_ocr_reads_what_the_model_does_not(reply: str | Exception) -> None:
    ocr = ScriptedOcr(PictureText("ERR-4032"))
    reader = PictureReader(_model(ScriptedChatModel(reply=reply)), PROMPT, ocr)
    assert await reader.read(PNG) == PictureText("ERR-4032")
    without = PictureReader(_model(ScriptedChatModel(reply=reply)), PROMPT, None)
    assert await without.read(PNG) == PictureText(unread=Unread.UNREADABLE)


async def test_a_picture_that_is_too_large_for_the_model_is_left_to_ocr() -> None:
    scripted = ScriptedChatModel()
    reader = PictureReader(_model(scripted), PROMPT, ScriptedOcr(PictureText("long")))
    assert (await reader.read(PNG + bytes(MAX_IMAGE_BYTES))).text == "long"
    assert scripted.prompts == []


async def test_what_is_refused_without_reading() -> None:
    ocr = ScriptedOcr(PictureText("x"))
    nobody, reader = PictureReader(None, PROMPT, None), PictureReader(None, PROMPT, ocr)
    assert not nobody.can_read
    assert await nobody.read(PNG) == PictureText(unread=Unread.NO_READER)
    assert await reader.read(b"<svg/>") == PictureText(unread=Unread.NOT_A_PICTURE)
    assert await reader.read(PNG + bytes(MAX_BYTES)) == PictureText(unread=Unread.TOO_LARGE)
    assert ocr.count == 0
    ocr.text = PictureText(" \u200b\n")
    assert await reader.read(PNG) == PictureText(unread=Unread.NO_TEXT)


@pytest.mark.parametrize("unread", Unread)
@pytest.mark.parametrize("say", [sentence_of, notice_of])
def test_every_reason_is_one_sentence(unread: Unread, say: Callable[[Unread], str]) -> None:
    assert say(unread).rstrip("）").endswith("。")
    assert "LLM__VISION_MODEL" in sentence_of(Unread.NO_READER)
    assert "make ocr" in sentence_of(Unread.NO_READER)


async def test_the_pictures_of_a_question_use_the_words_of_its_own_group(tmp_path: Path) -> None:
    def reply(messages: list[BaseMessage]) -> str:
        return "CrashLoopBack0ff" if "AAAA" in str(messages[1].content) else ""

    database = await open_database(sqlite_url(tmp_path / "app.sqlite3"))
    index = MemoryIndex()
    await index.add_words("ours", [IndexedChunk("b-0", "b", 0, "CrashLoopBackOff 怎么办")])
    reader = PictureReader(_model(ScriptedChatModel(reply=reply)), PROMPT, None)
    pictures = Pictures(reader, index, DocumentRecords(database))
    readable = PNG + bytes(30)
    assert (await pictures.read("ours", [readable])).text == "CrashLoopBackOff"
    assert (await pictures.read("theirs", [readable])).text == "CrashLoopBack0ff"
    both = await pictures.read("ours", [PNG, readable, readable, readable])
    assert both.text == "CrashLoopBackOff\n\nCrashLoopBackOff"
    assert both.unread is Unread.UNREADABLE
    index.fail = True
    assert (await pictures.read("ours", [readable])).text == "CrashLoopBack0ff"
    await database.close()


async def test_a_long_text_keeps_its_beginning_and_its_end(tmp_path: Path) -> None:
    database = await open_database(sqlite_url(tmp_path / "app.sqlite3"))
    text = "\n".join(["$ make", *(f"at frame {n}" for n in range(300)), "KeyError: 'x'"])
    reader = PictureReader(None, PROMPT, ScriptedOcr(PictureText(text)))
    found = (await Pictures(reader, MemoryIndex(), DocumentRecords(database)).read("c", [PNG])).text
    assert found.startswith("$ make\n")
    assert found.endswith("\nKeyError: 'x'")
    assert len(found) < 1600
    await database.close()
