"""What the tools found in one turn: passages under one numbering, and results that figures may come from."""

from dataclasses import replace

from services.agent.arithmetic import Calculation
from services.grounding.figures import stated_figures
from services.retrieval.models import Reference, Retrieval, RetrievalStatus

# More passages than a prompt of the ordinary kind holds five times over.
_MOST_REFERENCES = 25


class Findings:
    """The passages and results of one turn. `said` is the question and the history, as text.

    Passages keep the number under which the model first saw them, so that its citations can be checked. Only what the
    gate approved is in here.
    """

    def __init__(self, said: str) -> None:
        self._said = said
        self._retrieval: Retrieval | None = None
        self._references: dict[tuple[str, int, int], Reference] = {}
        self._quotable = False
        self.results: list[str] = []
        self.tool_calls: list[str] = []

    def add(self, retrieval: Retrieval) -> tuple[Reference, ...]:
        """Return the passages of a retrieval with their numbers in this turn."""
        numbered: list[Reference] = []
        for reference in retrieval.references:
            place = (reference.build_id, reference.first_ordinal, reference.last_ordinal)
            if place not in self._references:
                if len(self._references) >= _MOST_REFERENCES:
                    break
                self._references[place] = replace(reference, number=len(self._references) + 1)
            numbered.append(self._references[place])
        self._quotable |= bool(retrieval.references) and retrieval.quotable
        if self._retrieval is None or retrieval.references:
            self._retrieval = retrieval
        return tuple(numbered)

    def add_result(self, text: str) -> None:
        """Let figures of the answer come from what a tool returned."""
        self.results.append(text)

    def add_calculation(self, calculation: Calculation) -> None:
        """Let figures of the answer come from a calculation, if every number in it has been stated somewhere.

        A model could otherwise make any figure its own by computing it.
        """
        texts = [reference.text for reference in self._references.values()]
        stated = stated_figures("\n".join([self._said, *texts, *self.results]))
        if all(_plain(float(operand)) in stated for operand in calculation.operands):
            self.results.append(calculation.text)

    @property
    def retrieval(self) -> Retrieval:
        """Everything that was found, as one retrieval for the review."""
        base = self._retrieval or Retrieval(RetrievalStatus.NO_RECALL)
        if not self._references:
            return base
        return replace(
            base,
            status=RetrievalStatus.USABLE,
            references=tuple(self._references.values()),
            quotable=self._quotable,
        )


def _plain(value: float) -> str:
    """Return a number as `stated_figures` writes it."""
    return str(int(value)) if value.is_integer() else f"{value:.6f}".rstrip("0").rstrip(".")
