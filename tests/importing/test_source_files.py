"""What an import can be given: streams, files, folders and zip archives; each file by its own name, none in silence."""

from __future__ import annotations

import io
import json
import os
import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import muniment
from muniment.errors import FileUnavailable, InvalidInput, LimitExceeded
from muniment.formats.reading import source_files, zip_members
from muniment.kernel.sources import seeded_sources
from muniment.operations.importing.import_report import ImportReport
from muniment.runtime.runtime import Runtime
from muniment.space.options import Options
from tests.importing.files import Pipe, names_in, talk, written

IMPORTS = Path(__file__).parents[2] / "fixtures/imports"


@pytest.fixture
def runtime() -> Iterator[Runtime]:
    """Return an empty space in memory."""
    with muniment.open("memory:", options=Options(sources=seeded_sources("import"))) as runtime:
        yield runtime


def chat(question: str) -> dict[str, Any]:
    """Return a chat without an id."""
    return {"messages": [{"role": "user", "content": question}, {"role": "assistant", "content": "so"}]}


def packed(path: Path, members: dict[str, str | bytes], **how: Any) -> Path:
    """Write a zip archive."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, **how) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def jsonl(*lines: dict[str, Any]) -> str:
    """Return lines as text."""
    return "".join(json.dumps(each) + "\n" for each in lines)


def unread(report: ImportReport) -> dict[str, str]:
    """Return why files were not read."""
    return {each.file: each.skipped or each.refused or "" for each in report.files if each.skipped or each.refused}


# --- folders ----------------------------------------------------------------------------------------------------------


def test_every_file_of_a_folder_is_imported_and_what_is_hidden_is_said(runtime: Runtime, tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    (folder / "2024" / "may").mkdir(parents=True)
    (folder / ".cache").mkdir()
    written(folder / "b.jsonl", talk("b", 1))
    written(folder / "2024" / "may" / "a.jsonl", talk("a", 2))
    written(folder / ".hidden.jsonl", talk("hidden", 1))
    written(folder / ".cache" / "c.jsonl", talk("c", 1))
    report = runtime.spaces.import_(str(folder))
    assert names_in(runtime) == ["a", "b"]
    assert [each.file for each in report.files] == [
        "logs/.cache",
        "logs/.hidden.jsonl",
        "logs/2024/may/a.jsonl",
        "logs/b.jsonl",
    ]
    assert unread(report) == {"logs/.cache": "hidden", "logs/.hidden.jsonl": "hidden"}
    assert (report.complete, report.turns_committed) == (True, 3)
    assert [each.turns_committed for each in report.files] == [0, 0, 2, 1]


def test_two_files_of_one_name_stay_apart(runtime: Runtime, tmp_path: Path) -> None:
    """Conversations without an id are named after the path in the folder, so that none is taken for another."""
    for name in ("one", "two"):
        (tmp_path / "logs" / name).mkdir(parents=True)
        written(tmp_path / "logs" / name / "chat.jsonl", [chat(f"What of {name}?")])
    import gzip

    (tmp_path / "logs" / "one" / "chat.jsonl.gz").write_bytes(gzip.compress(jsonl(chat("And packed?")).encode()))
    report = runtime.spaces.import_(tmp_path / "logs")
    assert report.complete
    assert names_in(runtime) == ["logs/one/chat.jsonl#1", "logs/one/chat.jsonl.gz#1", "logs/two/chat.jsonl#1"]
    assert runtime.spaces.import_(tmp_path / "logs").turns_already_there == 3


def test_several_paths_are_imported_at_once_also_of_one_name(runtime: Runtime, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        written(tmp_path / name / "chat.jsonl", [chat(f"What of {name}?")])
    written(tmp_path / "other.jsonl", [chat("What else?")])
    given: list[Any] = [tmp_path / "one" / "chat.jsonl", str(tmp_path / "two" / "chat.jsonl"), tmp_path / "other.jsonl"]
    report = runtime.spaces.import_(given)
    assert (report.complete, report.turns_committed) == (True, 3)
    assert names_in(runtime) == ["one/chat.jsonl#1", "other.jsonl#1", "two/chat.jsonl#1"]


def test_one_file_that_is_missing_or_not_understood_does_not_end_the_import(runtime: Runtime, tmp_path: Path) -> None:
    good = written(tmp_path / "good.jsonl", talk("a", 1))
    (tmp_path / "odd.txt").write_text("words of nobody\n" * 3)
    report = runtime.spaces.import_([str(tmp_path / "none.jsonl"), str(tmp_path / "odd.txt"), good])
    assert (report.complete, report.turns_committed, names_in(runtime)) == (False, 1, ["a"])
    assert unread(report) == {"none.jsonl": "not_found", "odd.txt": "unknown_format"}
    assert report.refused_lines == []
    with pytest.raises(FileUnavailable):
        runtime.spaces.import_(str(tmp_path / "none.jsonl"))


def test_links_and_what_is_no_file_are_not_followed(runtime: Runtime, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    written(tmp_path / "secret.jsonl", talk("secret", 1))
    (tmp_path / "logs" / "link.jsonl").symlink_to(tmp_path / "secret.jsonl")
    (tmp_path / "logs" / "loop").symlink_to(tmp_path / "logs")
    os.mkfifo(tmp_path / "logs" / "pipe")
    report = runtime.spaces.import_(tmp_path / "logs")
    assert unread(report) == {"logs/link.jsonl": "link", "logs/loop": "link", "logs/pipe": "not_a_file"}
    assert names_in(runtime) == []


def test_a_folder_without_an_end_is_refused_before_anything_is_imported(
    runtime: Runtime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_files, "FILES_MAX", 2)
    for number in range(3):
        written(tmp_path / f"{number}.jsonl", talk(f"c{number}", 1))
    with pytest.raises(LimitExceeded):
        runtime.spaces.import_(tmp_path)
    assert names_in(runtime) == []


@pytest.mark.parametrize("given", ["", [], [""], [3], None])
def test_nothing_is_no_import(runtime: Runtime, given: Any) -> None:
    """An empty path is not the present folder."""
    with pytest.raises(InvalidInput):
        runtime.spaces.import_(given)


def test_names_that_are_no_text_are_spelt_out(runtime: Runtime, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    name = os.fsdecode(b"caf\xe9.jsonl")
    written(tmp_path / "logs" / name, [chat("Odd?")])
    report = runtime.spaces.import_(tmp_path / "logs")
    assert report.files[0].file == "logs/caf\\xe9.jsonl"
    assert names_in(runtime) == ["logs/caf\\xe9.jsonl#1"]


# --- zip archives -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("product", ["chatgpt", "claude"])
@pytest.mark.parametrize("through", ["path", "stream", "pipe"])
def test_the_archive_of_an_export_is_imported_as_it_comes(
    runtime: Runtime, tmp_path: Path, product: str, through: str
) -> None:
    conversations = (IMPORTS / f"{product}.json").read_bytes()
    path = packed(
        tmp_path / "export.zip",
        {
            "conversations.json": conversations,
            "user.json": '{"id": "u"}',
            "chat.html": "<html>",
            "images/a.png": b"\x89PNG",
        },
    )
    data = path.read_bytes()
    given: dict[str, Path | io.BytesIO] = {"path": path, "stream": io.BytesIO(data), "pipe": Pipe(data)}
    report = runtime.spaces.import_(given[through])
    with muniment.open("memory:", options=Options(sources=seeded_sources("import"))) as other:
        plain = other.spaces.import_(IMPORTS / f"{product}.json")
        assert names_in(runtime) == names_in(other)
    assert (report.turns_committed, report.format) == (plain.turns_committed, plain.format)
    assert sorted(unread(report).values()) == ["beside_conversations"] * 3
    assert [each.file.rpartition("/")[2] for each in report.files] == [
        "chat.html",
        "conversations.json",
        "a.png",
        "user.json",
    ]


def test_an_archive_that_is_no_export_is_read_like_a_folder(runtime: Runtime, tmp_path: Path) -> None:
    members: dict[str, str | bytes] = {
        "a/chat.jsonl": jsonl(chat("one")),
        "b/chat.jsonl": jsonl(chat("two")),
        ".DS_Store": "x",
        "__MACOSX/chat.jsonl": "x",
    }
    report = runtime.spaces.import_(packed(tmp_path / "logs.zip", members))
    assert names_in(runtime) == ["logs.zip/a/chat.jsonl#1", "logs.zip/b/chat.jsonl#1"]
    assert set(unread(report).values()) == {"hidden"}
    assert report.complete


def test_an_export_that_was_unpacked_is_imported_like_its_archive(runtime: Runtime, tmp_path: Path) -> None:
    (tmp_path / "export").mkdir()
    (tmp_path / "export" / "conversations.json").write_bytes((IMPORTS / "claude.json").read_bytes())
    (tmp_path / "export" / "users.json").write_text("[{}]")
    report = runtime.spaces.import_(tmp_path / "export")
    assert unread(report) == {"export/users.json": "beside_conversations"}


@pytest.mark.parametrize(
    "name", ["../a.jsonl", "/etc/a.jsonl", "a/../../b.jsonl", "..\\a.jsonl", "C:\\a.jsonl", "a\nb"]
)
def test_a_name_that_leads_out_of_the_archive_is_refused(runtime: Runtime, tmp_path: Path, name: str) -> None:
    path = packed(tmp_path / "x.zip", {name: jsonl(chat("q")), "good.jsonl": jsonl(chat("q"))})
    report = runtime.spaces.import_(path)
    assert list(unread(report).values()) == ["path_outside"]
    assert (report.complete, names_in(runtime)) == (False, ["x.zip/good.jsonl#1"])


def test_a_bomb_is_refused_before_it_is_unpacked(runtime: Runtime, tmp_path: Path) -> None:
    path = packed(tmp_path / "bomb.zip", {"conversations.json": b"[" + b" " * (64 * 2**20) + b"]"})
    report = runtime.spaces.import_(path)
    assert unread(report) == {"bomb.zip/conversations.json": "packed_too_densely"}
    assert not report.complete


@pytest.mark.parametrize(
    ("limit", "value", "reason"),
    [("MEMBER_BYTES_MAX", 100, "too_large"), ("ARCHIVE_BYTES_MAX", 150, "archive_too_large")],
)
def test_what_is_above_a_limit_of_archives_is_refused(
    runtime: Runtime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, value: int, reason: str
) -> None:
    members: dict[str, str | bytes] = {name: jsonl(chat("a question of some length")) for name in ("a", "b")}
    assert 100 < len(members["a"]) < 150
    monkeypatch.setattr(zip_members, limit, value)
    assert reason in unread(runtime.spaces.import_(packed(tmp_path / "x.zip", members))).values()


def test_an_archive_of_too_many_files_is_refused_as_a_whole(
    runtime: Runtime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = packed(tmp_path / "x.zip", {str(number): jsonl(chat("q")) for number in range(3)})
    monkeypatch.setattr(zip_members, "MEMBERS_MAX", 2)
    assert unread(runtime.spaces.import_(path)) == {"x.zip": "too_many_members"}
    monkeypatch.setattr(zip_members, "STREAM_BYTES_MAX", 10)
    assert unread(runtime.spaces.import_(Pipe(path.read_bytes()))) == {"import": "archive_too_large"}


def _marked_encrypted(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)


def test_members_that_are_no_plain_files_are_refused(runtime: Runtime, tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        link = zipfile.ZipInfo("a-link")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
        archive.writestr("b-unusual", jsonl(chat("q")), zipfile.ZIP_BZIP2)
        archive.writestr("c-nested", packed(tmp_path / "inner.zip", {"a": "b"}).read_bytes())
        archive.writestr("d-twice", jsonl(chat("q")))
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("d-twice", jsonl(chat("q")))
    report = runtime.spaces.import_(path)
    assert unread(report) == {
        "x.zip/a-link": "not_a_file",
        "x.zip/b-unusual": "packed_unusually",
        "x.zip/c-nested": "nested_archive",
        "x.zip/d-twice": "duplicate",
    }
    assert report.turns_committed == 1
    secret = packed(tmp_path / "secret.zip", {"a": jsonl(chat("q"))})
    _marked_encrypted(secret)
    assert unread(runtime.spaces.import_(secret)) == {"secret.zip/a": "encrypted"}


def test_a_damaged_archive_is_said_and_what_is_whole_is_kept(runtime: Runtime, tmp_path: Path) -> None:
    path = packed(tmp_path / "x.zip", {"a.jsonl": jsonl(*talk("a", 1)), "b.jsonl": jsonl(*talk("b", 300))})
    data = bytearray(path.read_bytes())
    end = data.index(b"PK\x01\x02")
    data[end - 40] ^= 0xFF  # in the packed bytes of b
    path.write_bytes(data)
    report = runtime.spaces.import_(path)
    assert "a" in names_in(runtime)
    assert [each.damaged for each in report.files] == [False, True]
    assert not report.complete
    path.write_bytes(data[: end - 10])
    assert unread(runtime.spaces.import_(path)) == {"x.zip": "zip_damaged"}
