from __future__ import annotations

import asyncio
import json
import tempfile
import unittest
from pathlib import Path
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, create_sdk_mcp_server, query, tool
from scripted_anthropic import ScriptedAnthropic, Turn
from story import ORDER, Played, Script, Story

from aos_guardian import Guardian
from aos_guardian.claude_agent import guard_messages, guard_options


def shop(played: Played) -> Any:
    def make(name: str, argument: str) -> Any:
        @tool(name, "A tool of a shop.", {argument: str})
        async def run(given: dict[str, Any]) -> dict[str, Any]:
            return {"content": [{"type": "text", "text": getattr(played, name)(**given)}]}

        return run

    return create_sdk_mcp_server(
        "shop", tools=[make("fetch", "url"), make("send_email", "to"), make("note", "text"), make("fail", "url")]
    )


async def ask(guardian: Guardian, model: ScriptedAnthropic, folder: str, question: str, played: Played) -> None:
    options = ClaudeAgentOptions(
        cwd=folder,
        model="claude-sonnet-4-5",
        mcp_servers={"shop": shop(played)},
        allowed_tools=["Bash", "Read", "Grep", "Glob", "mcp__shop"],
        setting_sources=[],
        env={
            "ANTHROPIC_BASE_URL": model.url,
            "ANTHROPIC_API_KEY": "sk-ant-of-a-test",
            "CLAUDE_CONFIG_DIR": f"{folder}/.claude",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        },
    )
    async for message in guard_messages(query(prompt=question, options=guard_options(options, guardian)), guardian):
        if isinstance(message, ResultMessage):
            played.answer = message.result


class ClaudeAgent(Story, unittest.TestCase):
    edits_question = False

    def play(self, guardian: Guardian, script: Script, question: str) -> Played:
        turns: list[Turn] = [
            turn if isinstance(turn, str) else [(f"mcp__shop__{name}", given) for name, given in turn] for turn in script
        ]
        played = Played()
        with ScriptedAnthropic(turns) as model, tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            asyncio.run(ask(guardian, model, folder, question, played))
            played.asked, played.results = len(model.asked), model.results()
            played.questions = [json.dumps(each["messages"]) for each in model.asked]
        return played


class BuiltInTools(unittest.TestCase):
    def read(self, *script: Turn) -> tuple[list[str], int, Played]:
        played = Played()
        with ScriptedAnthropic([*script]) as model, tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            Path(folder, "page.txt").write_text(f"Widget 3000: 49 EUR. {ORDER}\n")
            asyncio.run(ask(Guardian(), model, folder, "What does the widget in page.txt cost?", played))
            return model.results(), len(model.asked), played

    def test_what_built_in_tools_read_is_withheld(self) -> None:
        results, _, played = self.read(
            [("Bash", {"command": "cat page.txt", "description": "Read the page"})],
            [("Read", {"file_path": "page.txt"})],
            [("Grep", {"pattern": "Widget", "glob": "*.txt", "output_mode": "content"})],
            "It costs 49 EUR.",
        )
        self.assertEqual("It costs 49 EUR.", played.answer)
        self.assertEqual(3, len(results))
        for result in results:
            self.assertIn("[guardian] ", result)
            self.assertNotIn(ORDER, result)

    def test_an_injected_error_ends_the_turn_because_it_cannot_be_replaced(self) -> None:
        command = {"command": "cat page.txt; exit 3", "description": "Read the page"}
        results, asked, _ = self.read([("Bash", command)], "It costs 49 EUR.")
        self.assertEqual(1, asked)
        self.assertNotIn(ORDER, str(results))

    def test_the_steps_of_a_subagent_are_judged(self) -> None:
        task = {
            "description": "Read the page",
            "prompt": "Read page.txt.",
            "subagent_type": "general-purpose",
            "run_in_background": False,
        }
        with (
            ScriptedAnthropic(
                [[("Agent", task)], [("Read", {"file_path": "page.txt"})], "Nothing to see.", "Nothing to see."]
            ) as model,
            tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        ):
            Path(folder, "page.txt").write_text(f"Widget 3000: 49 EUR. {ORDER}\n")
            asyncio.run(ask(Guardian(), model, folder, "What does the widget in page.txt cost?", Played()))
            read = [each for each in model.asked if "Read page.txt." in json.dumps(each["messages"][:1])][-1]
        self.assertIn("[guardian] ", json.dumps(read["messages"]))
        self.assertNotIn(ORDER, json.dumps([each["messages"] for each in model.asked]))

    def test_an_honest_session_with_files_is_left_alone(self) -> None:
        results, _, played = self.read([("Glob", {"pattern": "*.txt"})], "There is one page.")
        self.assertIn("page.txt", results[0])
        self.assertEqual("There is one page.", played.answer)


if __name__ == "__main__":
    unittest.main()
