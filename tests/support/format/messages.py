"""Messages of all shapes, for Hypothesis."""

from hypothesis import strategies as st

from kminilog.format.dialect import DIALECTS, KAFKA, Dialect

dialects = st.sampled_from(sorted(DIALECTS.values(), key=str))
keys = st.none() | st.binary(max_size=80)
offsets = st.integers(0, 2**63 - 1)


@st.composite
def messages(draw: st.DrawFn) -> tuple[Dialect, int, bytes | None, bytes | None]:
    dialect = draw(dialects)
    value = draw(st.binary(max_size=300) | (st.none() if dialect is KAFKA else st.nothing()))
    return dialect, draw(offsets), draw(keys), value
