"""Arrays drawn at random, written by every writer and compared bit for bit (generate.py). Another 2,000 each run, from a printed seed;
ZARRFS_TEST_SEED repeats one. Long runs add up in ledger.jsonl."""
import os
import time

import generate


def test_2000_arrays_drawn_at_random_are_right(zarrfs, monkeypatch, capsys):
    monkeypatch.setenv("ZARRFS", zarrfs)
    seed = int(os.environ.get("ZARRFS_TEST_SEED") or time.time())
    arrays, wrong = generate.run_seed(seed, generate.RUN)
    assert not wrong, f"seed {seed}:\n" + "\n".join(f"{case['id']}: {found}\n  {generate.command_of(case)}" for case, found in wrong[:20])
    assert arrays == generate.RUN
