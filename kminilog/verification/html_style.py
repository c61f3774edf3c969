"""The style sheet of a report: light and dark, from a telephone to a wide screen.

No information is in a colour alone: there is always a word, and marks of errors are taller than
those of warnings. It loads nothing, and knows nothing of the page's content. Source: ours.
"""

STYLE = """
:root { color-scheme: light dark; --back: #f6f7f9; --card: #fff; --ink: #1b1f24; --dim: #57606a;
  --line: #d5dae0; --ok: #1a7f37; --error: #c0272d; --warning: #9a6700; --bar: #4a7fb5;
  --extra: #8250df; --rejected: #9a6700; --code: #eef1f4; --mark: #ffe0de; }
@media (prefers-color-scheme: dark) {
  :root { --back: #0d1117; --card: #161b22; --ink: #e6edf3; --dim: #9aa5b1; --line: #30363d;
    --ok: #3fb950; --error: #ff7b72; --warning: #d9a93a; --bar: #5b9bd8; --extra: #b28cf2;
    --rejected: #d9a93a; --code: #21262d; --mark: #67262b; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; }
main { max-width: 68rem; margin: 0 auto; padding: 1rem; }
header, section, dl, .tiles { background: var(--card); border: 1px solid var(--line);
  border-radius: .5rem; padding: 1rem; margin: 0 0 1rem; }
header { border-left: .5rem solid var(--error); }
header.ok { border-left-color: var(--ok); }
header.partial { border-left-color: var(--warning); }
header p { margin: 0; }
.meaning { margin: .5rem 0 0; }
.sides { border-collapse: collapse; margin: .25rem 0; font-size: .9rem; }
.sides th { text-align: left; font-weight: 400; color: var(--dim); padding: .1rem .75rem .1rem 0;
  vertical-align: top; white-space: nowrap; }
.sides td { padding: .1rem 0; }
mark { background: var(--mark); color: inherit; border-left: 2px solid var(--error); }
.aside { color: var(--dim); font-size: .9rem; }
.list { overflow: auto; max-height: 24rem; }
.list table { border-collapse: collapse; font-size: .85rem; width: 100%; }
.list th, .list td { text-align: right; padding: .15rem .75rem .15rem 0; white-space: nowrap; }
.list th:first-child { text-align: left; font-weight: 400; }
.list thead th { color: var(--dim); font-weight: 600; position: sticky; top: 0;
  background: var(--card); }
.list .wrong th, .list .wrong td { font-weight: 700; }
.badge { font-size: 2rem; font-weight: 700; line-height: 1.2; color: var(--error); }
.ok .badge { color: var(--ok); }
.partial .badge { color: var(--warning); }
h1 { font-size: 1.25rem; margin: .25rem 0; }
h2 { font-size: 1.1rem; margin: 0 0 .5rem; }
h3 { font-size: 1rem; margin: 0; }
h1, dd, .place, td, li { overflow-wrap: anywhere; }
.tiles { list-style: none; display: grid; gap: .75rem;
  grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); }
.tiles li { color: var(--dim); }
.tiles b { display: block; color: var(--ink); font-size: 1.4rem; line-height: 1.2; }
dl div { display: grid; grid-template-columns: 8rem 1fr; gap: .5rem; }
dt { color: var(--dim); }
dd { margin: 0; }
code, pre { background: var(--code); border-radius: .25rem; font-size: .85rem;
  font-family: ui-monospace, Menlo, Consolas, monospace; }
code { padding: .15rem .35rem; overflow-wrap: anywhere; }
pre { padding: .4rem .6rem; margin: .25rem 0 .75rem; white-space: pre-wrap;
  overflow-wrap: anywhere; }
.bar { display: flex; gap: 2px; height: 1.5rem; }
.bar span { min-width: 4px; flex-basis: 0; border-radius: 2px; }
.legend { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; margin: .25rem 0 .75rem; }
.legend i { display: inline-block; width: .8rem; height: .8rem; border-radius: 2px;
  margin-right: .4rem; }
.source, .stored { background: var(--bar); }
.extra, .duplicate { background: var(--extra); }
.duplicate { opacity: .6; }
.missing { background: var(--error); }
.rejected { background: var(--rejected); }
details { border-top: 1px solid var(--line); padding: .5rem 0; }
summary { cursor: pointer; }
.severity { margin: 0 .5rem; padding: 0 .5rem; border-radius: 1rem; border: 1px solid; }
.error .severity { color: var(--error); }
.warning .severity { color: var(--warning); }
.allowed .severity { color: var(--dim); }
details p { margin: 0; }
.place { font-weight: 600; }
.scroll { overflow-x: auto; margin-bottom: 1rem; background-repeat: no-repeat;
  background-image: linear-gradient(to right, var(--card) 50%, transparent),
    linear-gradient(to left, var(--card) 50%, transparent),
    linear-gradient(to right, var(--dim), transparent),
    linear-gradient(to left, var(--dim), transparent);
  background-position: left, right, left, right;
  background-attachment: local, local, scroll, scroll;
  background-size: 2rem 100%, 2rem 100%, .6rem 100%, .6rem 100%; }
.scroll h3 { font-size: .85rem; }
.scroll table { border-collapse: collapse; font-size: .85rem;
  font-family: ui-monospace, Menlo, Consolas, monospace; }
.scroll th { text-align: left; color: var(--dim); font-weight: 600; }
.scroll td, .scroll th { padding: .1rem .8rem .1rem 0; white-space: nowrap; }
.scroll td:last-child { white-space: normal; overflow-wrap: anywhere; min-width: 5rem; }
.field-name { border-left: .3rem solid var(--bar); padding-left: .35rem; }
.partitions { display: grid; gap: 1rem;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 22rem), 1fr)); }
.partition p { margin: .25rem 0; color: var(--dim); font-size: .9rem; }
.size, .offsets { position: relative; background: var(--code); border-radius: 2px; }
.size { height: .75rem; }
.size span { position: absolute; inset: 0 auto 0 0; background: var(--bar); border-radius: 2px; }
.size i { position: absolute; top: -2px; bottom: -2px; width: 2px; background: var(--ink); }
.offsets { height: 1.1rem; overflow: hidden; }
.offsets i { position: absolute; bottom: 0; width: 3px; margin-left: -1px; }
.offsets .error { height: 100%; background: var(--error); }
.offsets .warning { height: 60%; background: var(--warning); }
.offsets .allowed { height: 30%; background: var(--dim); }
@media (max-width: 36rem) { .scroll table { font-size: .75rem; }
  details ol { padding-left: 1.5rem; }
  .scroll td, .scroll th { padding-right: .4rem; } }
@media print { .list { max-height: none; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
"""
