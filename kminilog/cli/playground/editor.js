// The editor: CodeMirror as an element with a `value`, as a textarea has one.
import {
  bracketMatching, defaultKeymap, EditorState, EditorView, HighlightStyle, history, historyKeymap, indentOnInput, indentUnit,
  indentWithTab, keymap, lineNumbers, python, StreamLanguage, syntaxHighlighting, tags,
} from "./codemirror.js";

const COLOURS = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--mark)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--right)" },
  { tag: tags.number, color: "var(--warning)" },
  { tag: tags.comment, color: "var(--dim)", fontStyle: "italic" },
  { tag: tags.definition(tags.variableName), fontWeight: "bold" },
]);
const LOOK = EditorView.theme({
  "&": { height: "100%", fontSize: ".85rem", color: "var(--ink)" },
  ".cm-scroller": { overflow: "auto", fontFamily: 'ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace', lineHeight: "1.5" },
  ".cm-content": { caretColor: "var(--ink)" },
  ".cm-gutters": { color: "var(--dim)", background: "var(--code)", border: "none" },
  "&.cm-focused .cm-matchingBracket": { background: "none", outline: "2px solid var(--mark)" },
  "&.cm-focused .cm-nonmatchingBracket": { background: "none", outline: "2px solid var(--wrong)" },
});
const PARTS = [
  lineNumbers(), history(), indentUnit.of("    "), indentOnInput(), bracketMatching(), StreamLanguage.define(python),
  syntaxHighlighting(COLOURS), LOOK, EditorView.contentAttributes.of({ "aria-label": "answers.py" }),
  keymap.of([...defaultKeymap, ...historyKeymap, indentWithTab]), // Tab leaves it after Escape
];

customElements.define("code-editor", class extends HTMLElement {
  connectedCallback() {
    const root = this.attachShadow({ mode: "open" }); // its styles are in there, where the page's policy lets them be
    this.view = new EditorView({ parent: root, root, extensions: PARTS });
  }
  get value() {
    return this.view.state.doc.toString();
  }
  set value(text) {
    if (text !== this.value) this.view.setState(EditorState.create({ doc: text, extensions: PARTS }));
  }
  /** Show the first line that begins so, at the top. */
  reveal(beginning) {
    const at = `\n${this.value}`.indexOf(`\n${beginning}`);
    if (at >= 0) this.view.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: "start" }) });
  }
});
