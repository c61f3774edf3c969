import pytest

from kminilog.verification.findings import (
    SAMPLE_COUNT,
    Finding,
    FindingClass,
    Tally,
    parse_classes,
)
from kminilog.verification.report import Report


def finding(kind: FindingClass, offset: int = 0) -> Finding:
    return Finding(kind, "orders", 0, "why", offset=offset)


def test_tally_counts_all_and_keeps_the_first_of_each_class():
    tally = Tally(finding(FindingClass.BAD_CRC, offset) for offset in range(SAMPLE_COUNT + 5))
    tally.add(finding(FindingClass.TORN_TAIL))
    assert tally.counts() == {FindingClass.BAD_CRC: 25, FindingClass.TORN_TAIL: 1}
    assert tally.total() == 26
    offsets = [sample.offset for sample in tally.samples(FindingClass.BAD_CRC)]
    assert offsets == list(range(SAMPLE_COUNT))
    assert tally.samples(FindingClass.EXTRA) == []


def test_tally_of_the_findings_of_a_tally_has_the_same_counts():
    tally = Tally(finding(FindingClass.BAD_CRC, offset) for offset in range(1000))
    assert len(tally.findings()) == SAMPLE_COUNT
    assert Tally(tally.findings()).counts() == tally.counts()
    assert Tally(tally.findings()).findings() == tally.findings()


def test_tally_add_with_a_count_counts_that_often():
    tally = Tally()
    tally.add(finding(FindingClass.MISSING), 7)
    tally.add(finding(FindingClass.MISSING), 2)
    assert tally.counts() == {FindingClass.MISSING: 9}
    assert len(tally.samples(FindingClass.MISSING)) == 2


def test_findings_as_json_have_the_fields_of_the_contract():
    sample = Finding(FindingClass.BAD_CRC, "orders", 3, "why", "0" * 20, 5, 170, "access.log:5")
    assert Report({"log_dir": "d"}, tally=Tally([sample])).to_json()["findings"] == [
        {
            "class": "bad-crc",
            "severity": "error",
            "count": 1,
            "samples": [
                {
                    "topic": "orders",
                    "partition": 3,
                    "segment": "0" * 20,
                    "offset": 5,
                    "last_offset": None,
                    "position": 170,
                    "source": "access.log:5",
                    "detail": "why",
                    "cause": None,
                    "source_record": None,
                    "message": None,
                    "not_shown": None,
                    "place": f"access.log:5, orders-3/{'0' * 20}.log, offset 5, byte 170",
                    "command": f"kminilog dump d/orders-3/{'0' * 20}.log --at 170 --hex",
                }
            ],
        }
    ]


def test_severity_is_warning_only_for_what_can_be_rebuilt():
    warnings = {kind.value for kind in FindingClass if kind.severity == "warning"}
    assert warnings == {
        "index-position",
        "index-order",
        "index-past-end",
        "index-sparse",
        "orphan-file",
    }


def test_parse_classes_unknown_name_lists_all_classes():
    with pytest.raises(ValueError, match=r"'bad-luck'.*bad-crc.*key-order"):
        parse_classes(["bad-crc", "bad-luck"])


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ({}, "orders-0"),
        ({"segment": "7"}, "orders-0/7.log"),
        ({"offset": 0, "position": 0}, "orders-0, offset 0, byte 0"),
        ({"source": "a.csv, row 3"}, "a.csv, row 3, orders-0"),
    ],
)
def test_place_names_what_is_known(place, expected):
    assert Finding(FindingClass.BAD_CRC, "orders", 0, "", **place).place == expected


def test_place_of_an_index_finding_names_the_index_file():
    found = Finding(FindingClass.INDEX_ORDER, "orders", 0, "", "7", position=8)
    assert found.place == "orders-0/7.index, byte 8"
