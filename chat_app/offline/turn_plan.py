"""Plans the answer to the last question of a conversation: how it is read, and the calls that it still needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from chat_app.offline.calculating.calculations import calculations, is_calculator
from chat_app.offline.composition.compose import compose
from chat_app.offline.composition.each_medicine import compose_each
from chat_app.offline.planning.calls import comparison, plan
from chat_app.offline.planning.followup_signs import has_uncommon_word, pronouns
from chat_app.offline.planning.medicine_lists import of_each
from chat_app.offline.planning.medicines_before import replaced_medicines
from chat_app.offline.planning.prior_turns import PriorTurns, since_last_subject
from chat_app.offline.planning.readings import chosen_reading, tried_readings
from chat_app.offline.planning.several_questions import questions_in
from chat_app.offline.reading.cases import asked_in, case_in
from chat_app.offline.reading.dialogue import Exchange, ToolOutput, as_typed
from chat_app.offline.reading.evidence import Evidence
from chat_app.offline.reading.tool_outputs import gather
from chat_app.offline.wire.model import Answer, Call, ModelInput
from tools.language.vocabulary.patient_values import value_names
from tools.language.vocabulary.populations import populations_in


@dataclass(frozen=True)
class TurnPlan:
    """How the last question of a conversation is read, and what it needs."""

    asked: str
    """The question as it was asked; of a case, what is asked."""
    earlier: tuple[str, ...]
    """The questions before, the last first."""
    readings: tuple[str, ...]
    """The question completed from those before, or as it is, in the order in which they are tried."""
    question: str
    """The reading to go on with."""
    outputs: list[ToolOutput]
    """The outputs of its searches."""
    calls: tuple[Call, ...]
    """The calls that are still needed."""
    alone: bool
    """Whether only calculations are asked for."""
    heading: str = ""
    """The question as typed, without what its message tells; empty if it is the only one of the message."""

    def composed(self, question: str, evidence: Evidence) -> Answer:
        """Return the answer to the reading ``question``, which may be a case, or be completed from one."""
        if answer := compose_each(question, of_each(question, evidence), evidence, self.earlier):
            return answer
        case = case_in(question)
        newest = case.question if case and not evidence.names_in(self.asked) else self.asked
        return compose(question, evidence, newest=newest, earlier=self.earlier, in_case=case is not None)


def planned(
    turns: Sequence[Exchange], prior: PriorTurns, prompt: ModelInput, *, is_part: bool = False, last: bool = False
) -> TurnPlan:
    """Return the plan of the last of the ``turns``, whose outputs are those of its calls so far.

    ``prior`` is read from the turns before it.

    ``is_part`` tells that it is one of several questions of a message: it is read as it is first if it may have a
    subject of its own. ``last`` tells that no more calls can be made: then only the readings that were searched for are
    left.
    """
    current = turns[-1]
    readings = prior.standalone(current.question, [function.name for function in prompt.functions])
    if is_part and current.question in readings and _may_stand_alone(current.question):
        readings = tuple(dict.fromkeys((current.question, *readings)))
    tried = tried_readings(readings, current.outputs)
    readings = tuple(one for one, _ in tried) if last else readings
    computed, alone = calculations(prompt.functions, turns)
    unfinished = not prompt.parallel and _calls(tried[-1][:1], [], prompt, turns, [], alone=alone)
    asked = asked_in(current.question)
    question, outputs = tried[-1] if alone or unfinished else chosen_reading(asked, readings, tried)
    # The first reading is searched for alone, since it mostly suffices; the others together, since steps are limited.
    searched = readings[1:] if question in readings[1:] and not outputs else (question,)
    calls = _calls(searched, outputs, prompt, turns, computed, alone=alone)
    earlier = tuple(turn.question for turn in reversed(turns[:-1]))
    return TurnPlan(asked, earlier, readings, question, outputs, tuple(calls), alone)


def plans_of_last(turns: Sequence[Exchange], prompt: ModelInput) -> list[tuple[Exchange, TurnPlan]]:
    """Return each question of the last of the ``turns`` with the outputs of its calls, and its plan.

    A message may ask several questions. Each is read like a turn of the conversation after those before it. Their
    outputs are told apart by the calls that each one plans.
    """
    *older, current = turns
    before, prior = list(older[:-1]), PriorTurns().after(older[:-1])
    # Older messages are read whole, so that a long conversation takes no longer.
    for turn in older[-1:]:
        exchanges = [exchange for exchange, _ in _split(turn, before, prior, prompt)] or [turn]
        before, prior = [*before, *exchanges], prior.after(exchanges)
    return _split(current, before, prior, prompt) or [(current, planned([*before, current], prior, prompt))]


def needed_calls(turn: Exchange, plans: Sequence[tuple[Exchange, TurnPlan]], prompt: ModelInput) -> list[Call]:
    """Return the calls that the questions of ``turn`` need.

    A follow-up waits until the first question was searched for, since steps are limited: the first one mostly names the
    subject of those after it. After all searches the medicines of all questions are checked together.
    """
    first, _ = plans[0]
    ready = [plan for one, plan in plans if one is first or first.outputs or plan.readings[0] == one.question]
    calls = [call for plan in ready for call in plan.calls]
    if len(plans) > 1 and all(one.outputs for one, _ in plans):
        made = [*(Call(one.name, one.given) for one in turn.outputs), *calls]
        compared = comparison(turn.question, gather(turn.outputs), prompt.functions)
        calls += [call for call in compared if not any(_includes(one, call) for one in made)]
    return [call for place, call in enumerate(calls) if call not in calls[:place]]


def beside(turn: Exchange, plans: Sequence[tuple[Exchange, TurnPlan]]) -> Evidence:
    """Return the evidence of ``turn`` that belongs to none of its questions, with only grave statements on pairs."""
    shared = gather([output for output in turn.outputs if not any(output in one.outputs for one, _ in plans)])
    return replace(shared, pairs=[pair for pair in shared.grave_pairs if len(pair.names) > 1])


def _includes(call: Call, other: Call) -> bool:
    """Return whether ``call`` is to the same function as ``other``, with at least its names."""
    these, those = (
        {str(name) for value in one.arguments.values() if isinstance(value, list) for name in value}
        for one in (call, other)
    )
    return call.name == other.name and those <= these


def _split(
    turn: Exchange, before: Sequence[Exchange], prior: PriorTurns, prompt: ModelInput
) -> list[tuple[Exchange, TurnPlan]]:
    """Return each question of ``turn`` with its plan; none if it asks only one."""
    declared = replace(prompt, functions=prompt.declared)
    found: list[tuple[Exchange, TurnPlan]] = []
    for part in questions_in(turn.question):
        exchange = Exchange(part.text, has_image=turn.has_image)
        # A pronoun after another one means the same: in "can he have B with it? When is it stopped?" both are A.
        same = [one for one, plan in found if not (_has_pronoun(part.question) and _has_pronoun(plan.heading))]
        earlier = since_last_subject([*before, *same, exchange])[:-1]
        known = prior.after(same) if len(earlier) == len(before) + len(same) else PriorTurns().after(earlier)
        plan = _replayed(exchange, earlier, known, turn.outputs, declared)
        if not prompt.functions:
            plan = planned([*earlier, exchange], known, declared, is_part=True, last=True)
        found.append((exchange, replace(plan, heading=as_typed(part.question, turn.typed))))
    return found


def _has_pronoun(question: str) -> bool:
    return pronouns(question).search(question) is not None


def _replayed(
    exchange: Exchange,
    before: Sequence[Exchange],
    prior: PriorTurns,
    outputs: Sequence[ToolOutput],
    prompt: ModelInput,
) -> TurnPlan:
    """Return the plan of ``exchange`` after those of its calls that have ``outputs``, which are added to it."""
    while True:
        plan = planned([*before, exchange], prior, prompt, is_part=True)
        added = [
            output
            for output in outputs
            if output not in exchange.outputs
            and any((output.name, output.given) == (call.name, call.arguments) for call in plan.calls)
        ]
        if not added:
            break
        exchange.outputs += added
    if exchange.outputs and not plan.calls:
        exchange.answer = plan.composed(plan.question, gather(plan.outputs)).text
    return plan


def _may_stand_alone(question: str) -> bool:
    """Return whether ``question`` may name a subject of its own, beyond a value or group of the patient before."""
    return has_uncommon_word(question) and not (value_names(question) or populations_in(question))


def _calls(
    questions: Sequence[str],
    outputs: Sequence[ToolOutput],
    prompt: ModelInput,
    turns: Sequence[Exchange],
    computed: list[Call],
    *,
    alone: bool,
) -> list[Call]:
    """Return the calls that ``questions`` need after ``outputs`` and that were not made in the last of the ``turns``.

    ``computed`` are those of calculators, which may be needed ``alone``. There are no outputs for several questions.
    """
    made, evidence = [(output.name, output.given) for output in turns[-1].outputs], gather(outputs)
    functions = [function for function in prompt.functions if prompt.forced or not is_calculator(function)]
    forced = prompt.forced and not (outputs or computed)
    searches = [] if alone else [call for one in questions for call in plan(one, functions, forced=forced)]
    before = replaced_medicines(turns, questions[0], evidence)
    compared = comparison(questions[0], evidence, functions, before) if outputs and not alone else []
    needed = [call for call in (*searches, *compared, *computed) if (call.name, call.arguments) not in made]
    return [call for place, call in enumerate(needed) if call not in needed[:place]]
