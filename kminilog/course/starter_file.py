"""The starter of a lab as a student gets it: its titles and docstrings in a language.

`starter.py` is English. Its code and its examples are the same in every language. Source: ours.
"""

import ast
import re
from collections.abc import Mapping
from textwrap import indent

from kminilog.course.answers import Answers, UnreadableError
from kminilog.course.catalogue import DEFAULT_LANGUAGE, Catalogue
from kminilog.course.material import Exercise, Lab, lab_of


def starter_in(lab: Lab, language: str) -> str:
    """Return the whole file."""
    text = _starter(lab).source
    ours = Catalogue(language)
    for each in lab.exercises:
        text = with_title(text, each, language)
        for name in each.answers if ours.texts(each).docs else ():
            text = text.replace(_definition(each, name), definition_in(each, name, language))
    if language != DEFAULT_LANGUAGE:
        about = ours.say("answers-are", lab=lab.number, title=ours.title(lab))
        text = f'"""{about}"""\n' + text.partition("\n")[2]
    return text


def with_title(text: str, exercise: Exercise, language: str) -> str:
    """Return a file with the title of one exercise, where it has one, in the language."""
    title = f"# {exercise.id}  {Catalogue(language).texts(exercise).title}"
    return re.sub(rf"^# {re.escape(exercise.id)}  .*$", lambda _: title, text, flags=re.MULTILINE)


def definition_in(exercise: Exercise, name: str, language: str) -> str:
    """Return one function, class or constant of it; UnreadableError if it is not there."""
    return with_docs(_definition(exercise, name), Catalogue(language).texts(exercise).docs)


def with_docs(definition: str, docs: Mapping[str, str]) -> str:
    """Return a function or class with other words in its docstrings, up to their examples."""
    lines = definition.split("\n")
    nodes = [
        node
        for node in ast.walk(ast.parse(definition))
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in docs
    ]
    for node in sorted(nodes, key=lambda node: node.lineno, reverse=True):  # places stay right
        prose = (ast.get_docstring(node, clean=False) or "").partition(">>>")[0].rstrip()
        own = indent(docs[node.name], " " * node.body[0].col_offset).strip()
        first, last = node.body[0].lineno - 1, node.body[0].end_lineno
        given = "\n".join(lines[first:last])
        lines[first:last] = given.replace(f'"""{prose}', f'"""{own}', 1).split("\n")
    return "\n".join(lines)


def _starter(lab: Lab) -> Answers:
    return Answers(lab.folder / "starter.py")


def _definition(exercise: Exercise, name: str) -> str:
    starter = _starter(lab_of(exercise.lab))
    span = starter.span_of(name)
    if span is None:
        raise UnreadableError(f"the starter has no {name}")
    first, last = span
    return "\n".join(starter.source.split("\n")[first - 1 : last])
