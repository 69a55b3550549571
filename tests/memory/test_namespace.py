"""Namespaces: no two are the same subject, none sees another, and a missing value is named."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment import Access, Namespace, View
from muniment.errors import AccessDenied, InvalidInput
from tests.memory.items import candidate
from tests.worlds import memory_world

parts = st.text(st.sampled_from("ab/%2F5 {}_.é"), min_size=1, max_size=6).filter(lambda text: text == text.strip())
namespaces = st.builds(Namespace, parts=st.lists(parts, min_size=1, max_size=4).map(tuple))


@given(namespaces, namespaces)
def test_two_namespaces_are_two_subjects(one: Namespace, other: Namespace) -> None:
    """Whatever separators and escapes are in their parts (SC-04)."""
    assert (one.subject == other.subject) == (one == other)


@given(namespaces)
def test_a_namespace_is_read_back_from_its_subject(namespace: Namespace) -> None:
    assert Namespace.of_subject(namespace.subject) == namespace


@given(st.text(max_size=20))
def test_a_subject_stands_for_one_namespace_or_for_none(subject: str) -> None:
    found = Namespace.of_subject(subject)
    assert found is None or found.subject == subject


@given(namespaces, st.lists(parts, max_size=2))
def test_what_is_beneath_begins_with_whole_parts(prefix: Namespace, more: list[str]) -> None:
    """A longer last part is beside, not beneath."""
    beneath = Namespace(parts=(*prefix.parts, *more))
    assert beneath.is_under(prefix)
    assert prefix.is_under(beneath) == (not more)
    assert not Namespace(parts=(*prefix.parts[:-1], prefix.parts[-1] + "x")).is_under(prefix)


def test_a_separator_in_a_part_is_not_one_between_parts() -> None:
    assert Namespace(parts=("a/b", "c")).subject != Namespace(parts=("a", "b/c")).subject
    assert Namespace(parts=("user", "ada", "desk")).subject == "user/ada/desk"


def test_a_template_is_filled_or_the_missing_key_is_named() -> None:
    values = {"user": "ada", "agent": "desk", "blank": " "}
    assert Namespace.filled(("user", "{user}", "{agent}-{user}"), values).parts == ("user", "ada", "desk-ada")
    assert Namespace.filled(("plain",), {}).parts == ("plain",)
    for key in ("other", "blank"):
        with pytest.raises(InvalidInput) as missing:
            Namespace.filled(("user", f"{{{key}}}"), values)
        assert missing.value.at == f"template.{key}"
        assert missing.value.choices == ("agent", "user")
        assert "ada" not in str(missing.value)


@pytest.mark.parametrize("template", ["{", "}", "{}", "{a b}", "{{user}}", "{user"])
def test_a_malformed_template_is_refused(template: str) -> None:
    with pytest.raises(InvalidInput):
        Namespace.filled((template,), {"user": "ada"})


def test_a_value_cannot_leave_its_part() -> None:
    filled = Namespace.filled(("user", "{user}", "{agent}"), {"user": "ada/desk", "agent": "x"})
    assert not filled.is_under(Namespace(parts=("user", "ada")))
    assert filled.subject == "user/ada%2Fdesk/x"


@pytest.mark.parametrize("wrong", [(), ("",), (" a",), ("a\n",), ("a",) * 17, ("x" * 513,)], ids=range(6))
def test_what_is_no_name_is_no_part(wrong: tuple[str, ...]) -> None:
    with pytest.raises(InvalidInput):
        Namespace(parts=wrong)


@given(st.lists(namespaces, min_size=2, max_size=4, unique=True))
def test_no_namespace_sees_another(several: list[Namespace]) -> None:
    """Each one lists what was remembered in it, and is refused the rest."""
    runtime = memory_world().runtime
    for number, namespace in enumerate(several):
        told = candidate(f"fact {number}", None, subject=namespace.subject)
        runtime.memory.remember([told], "host")
    for number, namespace in enumerate(several):
        own = runtime.restricted(Access(subject=namespace.subject)).memory
        assert [item.text for item in own.list_(namespace.subject, View.HOST_UI).items] == [f"fact {number}"]
        for other in several:
            if other != namespace:
                with pytest.raises(AccessDenied):
                    own.list_(other.subject, View.HOST_UI)
