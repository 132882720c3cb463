"""Makes every write and deletion in storage a place to stop at, in all Python processes that have this folder in `PYTHONPATH`."""

from __future__ import annotations

import os

from fault import VARIABLE, place

if os.environ.get(VARIABLE):
    import obstore

    put, delete = obstore.put, obstore.delete

    def put_between(store, key, *rest, **options):  # noqa: ANN001, ANN002, ANN003, ANN201
        """`obstore.put`, with a place before and one after it."""
        place(f"before put {key}")
        result = put(store, key, *rest, **options)
        place(f"after put {key}")
        return result

    def delete_between(store, key):  # noqa: ANN001, ANN201
        """`obstore.delete`, likewise."""
        place(f"before delete {key}")
        result = delete(store, key)
        place(f"after delete {key}")
        return result

    obstore.put, obstore.delete = put_between, delete_between
