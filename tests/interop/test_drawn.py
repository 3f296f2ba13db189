"""Arrays drawn at random, written by every writer and compared bit for bit (generate.py). Another 2,000 each run, from a printed seed;
ZARRFS_TEST_SEED repeats one. Long runs add up in ledger.jsonl."""
import os
import time

import draw
import generate
import read_drawn


def test_2000_arrays_drawn_at_random_are_right(zarrfs, monkeypatch, capsys):
    monkeypatch.setenv("ZARRFS", zarrfs)
    seed = int(os.environ.get("ZARRFS_TEST_SEED") or time.time())
    arrays, wrong = generate.run_seed(seed, generate.RUN)
    assert not wrong, f"seed {seed}:\n" + "\n".join(f"{case['id']}: {found}\n  {generate.command_of(case)}" for case, found in wrong[:20])
    assert arrays == generate.RUN


def test_who_reads_a_drawn_array_otherwise_is_known(zarrfs, monkeypatch):
    """Each array read by the libraries that did not write it too: README.md says of each disagreement who is right. The seed is the
    same each run, because a new one would judge those libraries, not zarrfs, which the test above does; `--others` looks for more."""
    monkeypatch.setenv("ZARRFS", zarrfs)
    seed = int(os.environ.get("ZARRFS_TEST_SEED") or 11)
    same, unknown = 0, []
    for batch in generate.BATCHES:
        verdicts, cases = generate.read_with_others(batch, seed, range(generate.share(batch, 300)))
        for reader, judged in verdicts.items():
            same += sum(verdict == "same" for verdict, _ in judged.values())
            unknown += [f"{case} by {reader} {verdict}: {why}" for case, (verdict, why) in judged.items()
                        if verdict in ("differs", "fails") and not read_drawn.known(reader, cases[case])]
    assert not unknown, f"seed {seed}:\n" + "\n".join(unknown[:20])
    assert same > 200


def drawn(seed, total):
    """The cases of a run, without writing them."""
    built = generate.built_in(generate.program())
    return [draw.draw(batch, seed, number, built) for batch in draw.BATCHES for number in range(draw.share(batch, total))]


def test_every_row_of_the_tables_is_built_in_and_drawn(zarrfs, monkeypatch):
    monkeypatch.setenv("ZARRFS", zarrfs)
    assert generate.not_built(generate.built_in(zarrfs)) == []
    cases = drawn(1, 3 * generate.RUN)
    types = {(case["batch"], case["type"]) for case in cases}
    codecs = {(case["batch"], codec["name"], codec["kind"]) for case in cases for codec in case["chain"]}
    flawed = {("tensorstore-v3", "float8_e8m0fnu")}
    assert {(batch, row.name) for row in draw.TYPES.values() for batch in row.batches.split()} - types == flawed
    assert {(batch, row.name, row.kind) for row in draw.CODECS for batch in row.batches.split()} == codecs


def test_the_shapes_and_keys_of_a_run_are_of_every_kind(zarrfs, monkeypatch):
    monkeypatch.setenv("ZARRFS", zarrfs)
    cases = drawn(2, generate.RUN)
    sharded = [case for case in cases if "inner" in case]
    for some in (
        [case for case in cases if case["shape"] == []],
        [case for case in cases if 0 in case["shape"]],
        [case for case in cases if case["boxes"] == []],
        [case for case in cases if case.get("order") == "F"],
        [case for case in sharded if case["nested"]],
        [case for case in sharded if case["outer"]],
        [case for case in sharded if case["index"]["location"] == "start"],
        [case for case in sharded if not case["index"]["crc"]],
    ):
        assert len(some) >= 8
    assert len({str(case["keys"]) for case in cases}) == 6


def test_a_case_is_drawn_the_same_again_and_a_wrong_byte_is_found(zarrfs, monkeypatch, tmp_path):
    """A generator that finds nothing would be right always."""
    monkeypatch.setenv("ZARRFS", zarrfs)
    cases = [case for case in drawn(3, generate.RUN) if case["batch"] == "tensorstore-v3"]
    assert cases == [case for case in drawn(3, generate.RUN) if case["batch"] == "tensorstore-v3"]
    plain = [case for case in cases if case["shape"] and 0 not in case["shape"] and not case["chain"] and "inner" not in case]
    case = next(case for case in plain if case["keep"] and case["boxes"] == [[[0, side] for side in case["shape"]]])
    store = str(tmp_path / "all" / "tensorstore-v3.zarr")
    assert generate.run_cases([case], str(tmp_path / "all")) == []
    right = draw.elements(case, store)
    monkeypatch.setattr(generate, "elements", lambda case, store: (right[0], right[1][:-1] + bytes([right[1][-1] ^ 1])))
    (found,) = generate.run_cases([case], str(tmp_path / "wrong"))
    assert found[0] == case and "byte" in found[1]
    assert generate.command_of(case).endswith(f"generate.py --case {case['id']}")
