"""Format: JUnit's XML, a test case for each primary, as Jenkins, GitLab and others read it; of a
rehearsal one for each statement class.

*Slower* is a failure unless it is accepted, *invalid* an error, *inconclusive* skipped with its
reason. A doubtful one passes with its doubts as output, or fails where `--strict` is given.
"""

from __future__ import annotations

from xml.etree import ElementTree

from dyno.judge.analysis.effect_words import name_metric
from dyno.printable import escape_line, escape_text
from dyno.record import ClassVerdict, Comparison, OptionVerdict
from dyno.report import words
from dyno.report.accepted import describe_accepted
from dyno.report.rehearsal import describe_proof
from dyno.report.result import Holding, Result

#: The element that a verdict is in a test case.
ELEMENTS = {"slower": "failure", "invalid": "error", "inconclusive": "skipped"}


class _JUnit:
    summary = "JUnit's XML: a test case for each primary"
    reads: tuple[Holding, ...] = ("comparisons", "statement classes")

    def render(self, result: Result, strict: bool) -> str:
        if found := result.verdict.rehearsal:
            cases = [_make_class_case(result, it) for it in (*found.classes, *found.tables)]
            cases += [_make_option_case(result, it) for it in found.options]
        else:
            cases = [_make_case(result, row, strict) for row in result.primaries]
        counts = {
            plural: str(sum(case.find(name) is not None for case in cases))
            for name, plural in (
                ("failure", "failures"),
                ("error", "errors"),
                ("skipped", "skipped"),
            )
        }
        named = {"name": result.name, "tests": str(len(cases)), **counts}
        suites = ElementTree.Element("testsuites", named)
        suite = ElementTree.SubElement(suites, "testsuite", named)
        suite.extend(cases)
        ElementTree.SubElement(suite, "system-out").text = escape_line(result.verdict.sentence)
        ElementTree.indent(suites)
        return ElementTree.tostring(suites, "unicode", xml_declaration=True) + "\n"


def _make_case(result: Result, row: Comparison, strict: bool) -> ElementTree.Element:
    case = ElementTree.Element(
        "testcase",
        {"classname": f"{result.name}.{row.candidate}", "name": name_metric(row.metric)},
    )
    accepted = describe_accepted(result.losses, row)
    outcome = "; ".join(filter(None, (words.format_outcome(row), accepted)))
    doubts = "\n".join(f"{doubt.audit}: {doubt.sentence}" for doubt in row.doubts)
    element = None if result.is_accepted(row) else ELEMENTS.get(row.verdict)
    if element is None and row.is_doubtful and strict:
        element = "failure"
    if element:
        ElementTree.SubElement(case, element, {"message": outcome}).text = doubts or outcome
    else:
        ElementTree.SubElement(case, "system-out").text = f"{outcome}\n{doubts}".strip()
    return case


def _make_class_case(result: Result, it: ClassVerdict) -> ElementTree.Element:
    kind, name = it.answers.kind, escape_line(it.answers.text)
    named = {"classname": f"{result.name}.{kind}", "name": name}
    case = ElementTree.Element("testcase", named)
    proof = escape_line(describe_proof(it))
    if it.is_grave:
        failure = ElementTree.SubElement(case, "failure", {"message": f"{it.word}: {proof}"})
        failure.text = escape_text(it.answers.example) or proof
    elif it.word == "not compared":
        ElementTree.SubElement(case, "skipped", {"message": proof})
    else:
        ElementTree.SubElement(case, "system-out").text = f"{it.word}: {proof}".rstrip(": ")
    return case


def _make_option_case(result: Result, it: OptionVerdict) -> ElementTree.Element:
    named = {"classname": f"{result.name}.option", "name": escape_line(it.name)}
    case = ElementTree.Element("testcase", named)
    said = escape_line(f"{it.word}: {it.new}".rstrip(": "))
    if it.word == "fails":
        ElementTree.SubElement(case, "failure", {"message": said}).text = said
    else:
        ElementTree.SubElement(case, "system-out").text = said
    return case


FORMAT = _JUnit()
