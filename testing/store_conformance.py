"""A suite that any LangGraph `BaseStore` can be held to: what memories need of the store that keeps them.

LangGraph's `BaseStore` says what the operations are, and leaves open what this suite asks: that a filter comes before a
limit, that a namespace is no prefix of letters, that pages together hold everything once.

Example:
    >>> class TestMyStore(StoreConformance):
    ...     @pytest.fixture
    ...     def store(self, tmp_path):
    ...         return MyStore(tmp_path / "store")
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from langgraph.store.base import BaseStore, GetOp, Item, ListNamespacesOp, MatchCondition, PutOp, SearchOp

_ODD: Final = ("%", "_", "*", "a'b", 'a"b', "用户", "a b", "a\\b", "a/b", "{x}")
"""Names that mean something to databases, files or patterns, and nothing here."""


class StoreConformance:
    """Tests of a store, for pytest: derive from it, and give a fixture `store` that makes an empty one."""

    def test_what_is_put_is_what_is_read(self, store: BaseStore) -> None:
        """Whatever JSON can hold comes back as it was."""
        value: dict[str, Any] = {
            "text": "naïve 猫 🐈 \n\t",
            "numbers": [0, -1, 2**53 + 1, 0.1, -2.5],
            "nothing": None,
            "truth": [True, False],
            "deep": {"a": {"b": [{"c": ""}]}},
        }
        store.put(("a",), "k", value)
        store.put(("a",), "empty", {})

        assert _value(store, ("a",), "k") == value
        assert _value(store, ("a",), "empty") == {}
        assert store.get(("a",), "another") is None
        assert store.get(("b",), "k") is None

    def test_a_long_value_is_kept_whole(self, store: BaseStore) -> None:
        """A pasted document is one value."""
        store.put(("a",), "k", {"text": "猫 and dog. " * 30_000})

        assert _value(store, ("a",), "k") == {"text": "猫 and dog. " * 30_000}

    def test_a_second_write_takes_the_place_of_the_first(self, store: BaseStore) -> None:
        """Nothing of the first value is left, and the item is as old as it was."""
        store.put(("a",), "k", {"old": 1, "both": 1})
        before = _got(store, ("a",), "k")
        store.put(("a",), "k", {"new": 2, "both": 2})
        after = _got(store, ("a",), "k")

        assert after.value == {"new": 2, "both": 2}
        assert after.created_at == before.created_at
        assert before.updated_at <= after.updated_at
        assert after.created_at.tzinfo is not None, "a time without a zone is another time elsewhere"
        assert len(store.search(("a",))) == 1

    def test_what_is_deleted_is_gone_from_everywhere(self, store: BaseStore) -> None:
        """Also from the list of namespaces; what is not there can be deleted, too."""
        store.put(("a", "b"), "k", {"n": 1})
        store.put(("a", "c"), "k", {"n": 2})
        store.delete(("a", "b"), "k")
        store.delete(("a", "b"), "k")
        store.delete(("never",), "there")

        assert store.get(("a", "b"), "k") is None
        assert [item.value for item in store.search(("a",))] == [{"n": 2}]
        assert store.list_namespaces() == [("a", "c")]

    def test_a_namespace_is_no_prefix_of_letters(self, store: BaseStore) -> None:
        """Memories of `ann` are not those of `anna`."""
        for namespace in (("u", "ann"), ("u", "ann", "notes"), ("u", "anna"), ("u", "Ann"), ("u2", "ann")):
            store.put(namespace, "k", {"of": list(namespace)})

        found = sorted(item.namespace for item in store.search(("u", "ann")))
        assert found == [("u", "ann"), ("u", "ann", "notes")]
        assert sorted(store.list_namespaces(prefix=("u", "ann"))) == [("u", "ann"), ("u", "ann", "notes")]

    def test_names_are_no_patterns(self, store: BaseStore) -> None:
        """What a database or a file system reads otherwise is a name here."""
        for name in _ODD:
            store.put(("u", name), name, {"own": name})

        for name in _ODD:
            assert _value(store, ("u", name), name) == {"own": name}
            assert [item.value for item in store.search(("u", name))] == [{"own": name}], name
        assert sorted(store.list_namespaces(prefix=("u",), limit=50)) == sorted(("u", name) for name in _ODD)

    def test_a_batch_answers_in_its_order(self, store: BaseStore) -> None:
        """One answer for each operation; a write answers nothing."""
        store.put(("a",), "k", {"n": 1})

        answers = store.batch(
            [
                ListNamespacesOp((MatchCondition("prefix", ("a",)),)),
                GetOp(("a",), "k"),
                PutOp(("b",), "k", {"n": 2}),
                GetOp(("a",), "none"),
                SearchOp(("a",)),
            ]
        )

        assert [type(answer) for answer in answers] == [list, Item, type(None), type(None), list]
        assert answers[0] == [("a",)]
        assert _value(store, ("b",), "k") == {"n": 2}

    def test_of_two_writes_to_a_key_in_a_batch_the_last_holds(self, store: BaseStore) -> None:
        """A deletion is a write."""
        store.batch([PutOp(("a",), "k", {"n": 1}), PutOp(("a",), "k", {"n": 2})])
        store.batch([PutOp(("a",), "gone", {"n": 1}), PutOp(("a",), "gone", None)])
        store.batch([PutOp(("a",), "back", None), PutOp(("a",), "back", {"n": 3})])

        assert _value(store, ("a",), "k") == {"n": 2}
        assert store.get(("a",), "gone") is None
        assert _value(store, ("a",), "back") == {"n": 3}

    def test_pages_together_hold_everything_once(self, store: BaseStore) -> None:
        """Also of items that were written at the same moment."""
        store.batch([PutOp(("a", str(n % 3)), f"k{n}", {"n": n}) for n in range(25)])

        pages = [store.search(("a",), limit=7, offset=start) for start in (0, 7, 14, 21, 28)]

        assert [len(page) for page in pages] == [7, 7, 7, 4, 0]
        assert sorted(item.value["n"] for page in pages for item in page) == list(range(25))
        assert len(store.search(("a",))) == 10, "the default limit of LangGraph is 10"

    def test_a_filter_comes_before_the_limit(self, store: BaseStore) -> None:
        """The few that fit are found among many that do not."""
        store.batch([PutOp(("a",), f"k{n}", {"n": n, "even": n % 2 == 0, "kind": "x"}) for n in range(40)])
        store.put(("a",), "other", {"kind": "y"})

        assert len(store.search(("a",), filter={"even": True}, limit=15)) == 15
        assert [item.key for item in store.search(("a",), filter={"kind": "y"}, limit=1)] == ["other"]
        assert [item.key for item in store.search(("a",), filter={"n": 7, "kind": "x"})] == ["k7"]
        assert store.search(("a",), filter={"n": 7, "kind": "y"}) == []
        assert store.search(("a",), filter={"none": "x"}) == []

    def test_filters_compare(self, store: BaseStore) -> None:
        """By the operators that LangGraph names."""
        store.batch([PutOp(("a",), f"k{n}", {"n": n}) for n in range(5)])

        for asked, wanted in (
            ({"$eq": 2}, [2]),
            ({"$ne": 2}, [0, 1, 3, 4]),
            ({"$gt": 2}, [3, 4]),
            ({"$gte": 2}, [2, 3, 4]),
            ({"$lt": 2}, [0, 1]),
            ({"$lte": 2}, [0, 1, 2]),
            ({"$gt": 0, "$lt": 3}, [1, 2]),
        ):
            assert sorted(item.value["n"] for item in store.search(("a",), filter={"n": asked})) == wanted, asked

    def test_namespaces_are_listed_once_by_what_is_asked(self, store: BaseStore) -> None:
        """By prefix, suffix, wildcard and depth, in pages."""
        for namespace in (("a", "x", "1"), ("a", "x", "2"), ("a", "y", "1"), ("b", "x", "1")):
            store.batch([PutOp(namespace, "k", {}), PutOp(namespace, "l", {})])

        assert sorted(store.list_namespaces(prefix=("a", "*", "1"))) == [("a", "x", "1"), ("a", "y", "1")]
        assert sorted(store.list_namespaces(suffix=("x", "1"))) == [("a", "x", "1"), ("b", "x", "1")]
        assert sorted(store.list_namespaces(prefix=("a",), max_depth=2)) == [("a", "x"), ("a", "y")]
        assert sorted(store.list_namespaces(max_depth=1)) == [("a",), ("b",)]
        pages = [store.list_namespaces(limit=3, offset=start) for start in (0, 3, 6)]
        assert [len(page) for page in pages] == [3, 1, 0]
        assert len({namespace for page in pages for namespace in page}) == 4

    def test_threads_write_at_once_and_nothing_is_lost(self, store: BaseStore) -> None:
        """Each of many writers finds all that it wrote."""

        def write(writer: int) -> None:
            for n in range(10):
                store.put(("a", str(writer)), str(n), {"n": n})

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(write, range(4)))

        assert len(store.search(("a",), limit=100)) == 40

    async def test_asynchronous_code_is_answered_the_same(self, store: BaseStore) -> None:
        """Every operation has its twin."""
        await store.aput(("a", "b"), "k", {"n": 1})
        await store.aput(("a", "b"), "gone", {"n": 2})
        await store.adelete(("a", "b"), "gone")

        found = await store.aget(("a", "b"), "k")
        assert found is not None
        assert found.value == {"n": 1}
        assert [item.key for item in await store.asearch(("a",), filter={"n": 1})] == ["k"]
        assert await store.alist_namespaces(prefix=("a",)) == [("a", "b")]
        assert len(await store.abatch([GetOp(("a", "b"), "k"), GetOp(("a", "b"), "gone")])) == 2


def _got(store: BaseStore, namespace: tuple[str, ...], key: str) -> Item:
    found = store.get(namespace, key)
    assert found is not None, f"{namespace} {key} is not there"
    return found


def _value(store: BaseStore, namespace: tuple[str, ...], key: str) -> dict[str, Any]:
    return _got(store, namespace, key).value
