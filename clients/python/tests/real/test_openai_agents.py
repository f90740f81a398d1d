from __future__ import annotations

import asyncio
import json
import unittest
from typing import Any
from unittest import mock

import agents
from agents import Agent, Runner, function_tool, set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message, function_call
from story import HARMFUL, KEY, QUESTION, Played, Script, Story, fetching

from aos_guardian import AsyncGuardian, Guardian
from aos_guardian.openai_agents import guard_agent

set_tracing_disabled(True)


def scripted(script: Script) -> ScriptedModel:
    return ScriptedModel(
        [
            [assistant_message(turn)]
            if isinstance(turn, str)
            else [function_call(name, given, call_id=f"call-{step}-{index}") for index, (name, given) in enumerate(turn)]
            for step, turn in enumerate(script)
        ]
    )


def read(played: Played, model: ScriptedModel) -> None:
    played.asked = len(model.calls)
    last = model.calls[-1].input if model.calls else []
    for item in last if isinstance(last, list) else [{"role": "user", "content": last}]:
        if item.get("type") == "function_call_output":
            played.results.append(str(item["output"]))
        elif item.get("role") == "user":
            played.questions.append(str(item["content"]))


class OpenAiAgents(Story, unittest.TestCase):
    edits_question = False
    edits_answer = False

    def play(self, guardian: Guardian, script: Script, question: str) -> Played:
        played, model = Played(), scripted(script)
        tools: Any = [function_tool(tool) for tool in (played.fetch, played.send_email, played.note, played.fail)]
        agent = guard_agent(Agent(name="shop", instructions="Help.", model=model, tools=tools), guardian)
        try:
            played.answer = asyncio.run(Runner.run(agent, question)).final_output
        except agents.AgentsException as error:
            played.error = error
        read(played, model)
        return played

    def test_a_tripwire_says_why_and_has_the_edited_text(self) -> None:
        denied = self.play(Guardian(), ["With pleasure."], HARMFUL).error
        assert isinstance(denied, agents.InputGuardrailTripwireTriggered)
        self.assertIn("[guardian] ", denied.guardrail_result.output.output_info["reason"])
        edited = self.play(Guardian(), [f"Here you are: {KEY}"], QUESTION).error
        assert isinstance(edited, agents.OutputGuardrailTripwireTriggered)
        self.assertEqual("Here you are: ************", edited.guardrail_result.output.output_info["edited"])

    def test_agents_that_are_handed_over_to_are_guarded_in_a_circle(self) -> None:
        played = Played()
        model = scripted([[("transfer_to_shop", {})], [fetching("poisoned")], "It costs 49 EUR."])
        shop: Agent[Any] = Agent(name="shop", model=model, tools=[function_tool(played.fetch)])
        desk: Agent[Any] = Agent(name="desk", model=model, handoffs=[agents.handoff(shop)])
        shop.handoffs.append(desk)
        result = asyncio.run(Runner.run(guard_agent(desk, Guardian()), QUESTION))
        self.assertEqual("shop", result.last_agent.name)
        items: Any = result.to_input_list()
        outputs = [item["output"] for item in items if item.get("type") == "function_call_output"]
        self.assertIn("[guardian] ", str(outputs[-1]))

    def test_earlier_messages_of_a_conversation_are_not_judged_again(self) -> None:
        model = scripted(["Hello."])
        agent = guard_agent(Agent(name="shop", model=model), Guardian())
        history: Any = [
            {"role": "user", "content": HARMFUL},
            {"role": "assistant", "content": "No."},
            {"role": "user", "content": QUESTION},
        ]
        self.assertEqual("Hello.", asyncio.run(Runner.run(agent, history)).final_output)

    def test_tools_of_mcp_servers_are_judged(self) -> None:
        from mcp_shop import server

        async def run() -> Any:
            async with server() as shop:
                model = scripted([[("fetch", {"url": "https://shop.example/poisoned"})], "It costs 49 EUR."])
                agent = guard_agent(Agent(name="shop", model=model, mcp_servers=[shop]), Guardian())
                await Runner.run(agent, QUESTION)
                return model.calls[-1].input[-1]

        self.assertIn("[guardian] ", json.dumps(asyncio.run(run())))

    def test_a_trace_is_a_session_by_its_group_or_its_id(self) -> None:
        agents.set_trace_processors([])
        set_tracing_disabled(False)
        self.addCleanup(set_tracing_disabled, True)
        with mock.patch.object(
            AsyncGuardian, "in_session", autospec=True, side_effect=lambda guardian, *_, **__: guardian
        ) as sessions:
            agent = guard_agent(Agent(name="shop", model=scripted(["Hello."] * 3)), Guardian())
            with agents.trace("chat", group_id="chat-7"):
                asyncio.run(Runner.run(agent, QUESTION))
            asyncio.run(Runner.run(agent, QUESTION))
            asyncio.run(Runner.run(agent, QUESTION))
        names = [call.args[1] for call in sessions.call_args_list]
        self.assertEqual(["chat-7"] * 2, names[:2])
        self.assertEqual((names[2], names[4]), (names[3], names[5]))
        self.assertNotEqual(names[2], names[4])

    def test_streamed_text_is_not_held(self) -> None:
        agent = guard_agent(Agent(name="shop", model=scripted([f"Here you are: {KEY}"])), Guardian())

        async def run() -> str:
            seen = ""
            try:
                async for event in Runner.run_streamed(agent, QUESTION).stream_events():
                    seen += str(event)
            except agents.OutputGuardrailTripwireTriggered:
                return seen
            raise AssertionError("the tripwire did not trigger")

        self.assertIn(KEY, asyncio.run(run()))

    def test_a_tool_that_runs_elsewhere_is_named_in_the_log(self) -> None:
        with self.assertLogs("aos_guardian", "WARNING") as log:
            guard_agent(Agent(name="shop", tools=[agents.WebSearchTool()]), Guardian())
        self.assertIn("`web_search` of `shop`", log.output[0])

    def test_the_session_is_told_by_the_context(self) -> None:
        names: list[Any] = []

        def session(context: Any) -> str:
            names.append(context)
            return str(context["chat"])

        agent = guard_agent(Agent(name="shop", model=scripted(["Hello."])), Guardian(), session=session)
        asyncio.run(Runner.run(agent, QUESTION, context={"chat": "chat-7"}))
        self.assertEqual([{"chat": "chat-7"}] * 2, names)


if __name__ == "__main__":
    unittest.main()
