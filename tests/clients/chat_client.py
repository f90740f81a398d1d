"""The official SDKs of OpenAI and Anthropic against a scripted model (`chat_model.py`), directly and through the gateway: where all is
allowed they return the same, helpers for streams included, and a call that is denied never comes.

    chat_client.py DIRECT OPENAI ANTHROPIC      the model, and the gateways before it
"""

import json
import re
import sys
import warnings

import anthropic
import openai
from pydantic import BaseModel

QUESTION = "What is the weather in Oslo?"
ASKED = [{"role": "user", "content": QUESTION}]
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}, "command": {"type": "string"}}}
NAMES = ("weather", "now", "bash")
CHAT_TOOLS = [{"type": "function", "function": {"name": name, "description": "d", "parameters": SCHEMA}} for name in NAMES]
TOOLS = [{"type": "function", "strict": False, "name": name, "description": "d", "parameters": SCHEMA} for name in NAMES]
BLOCK_TOOLS = [{"name": name, "description": "d", "input_schema": SCHEMA} for name in NAMES]
PIXEL = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
ALLOWED = ("text", "compressed", "call", "parallel", "thought", "bad_request", "limited", "broken")
HARMFUL = ("harm", "harm_first", "harm_amid", "harm_last")


class Person(BaseModel):
    name: str
    age: int


def plain(value):
    if hasattr(value, "model_dump"):
        return value.model_dump()
    return [plain(one) for one in value] if isinstance(value, (list, tuple)) else value


def of_stream(stream, final):
    with stream as events:
        return [[event.type for event in events], getattr(events, final)()]


def cases(base_openai: str, base_anthropic: str) -> dict:
    """What each case returns, by name."""
    chats = openai.OpenAI(base_url=base_openai + "/v1", api_key="k", max_retries=0)
    blocks = anthropic.Anthropic(base_url=base_anthropic, api_key="k", max_retries=0)
    found = {}

    def case(name, ask) -> None:
        try:
            returned = plain(ask())
        except Exception as error:  # Helpers raise errors of any kind.
            told = getattr(error, "body", None) or str(error)
            returned = {"raised": type(error).__name__, "status": getattr(error, "status_code", None), "told": told}
        found[name] = json.dumps(returned, sort_keys=True, default=str)

    chat = chats.chat.completions
    parse = chat.parse if hasattr(chat, "parse") else chats.beta.chat.completions.parse
    # Helpers want to know of each tool whether its arguments keep to the schema.
    strict = [{**tool, "function": {**tool["function"], "strict": True}} for tool in CHAT_TOOLS]
    for name in ALLOWED + HARMFUL:
        told = {"model": name, "messages": ASKED, "tools": CHAT_TOOLS}
        case(f"chat {name}", lambda: chat.create(**told))
        case(f"chat {name}, stream", lambda: list(chat.create(**told, stream=True, stream_options={"include_usage": True})))
        if hasattr(chat, "stream"):
            case(f"chat {name}, helper", lambda: of_stream(chat.stream(**told | {"tools": strict}), "get_final_completion"))
        told = {"model": name, "max_tokens": 99, "messages": ASKED, "tools": BLOCK_TOOLS}
        case(f"messages {name}", lambda: blocks.messages.create(**told))
        case(f"messages {name}, stream", lambda: list(blocks.messages.create(**told, stream=True)))
        case(f"messages {name}, helper", lambda: of_stream(blocks.messages.stream(**told), "get_final_message"))
        if hasattr(chats, "responses"):
            told = {"model": name, "input": QUESTION, "tools": TOOLS}
            case(f"responses {name}", lambda: chats.responses.create(**told))
            case(f"responses {name}, stream", lambda: list(chats.responses.create(**told, stream=True)))
            case(f"responses {name}, helper", lambda: of_stream(chats.responses.stream(**told), "get_final_response"))
            case(f"responses {name}, gone on", lambda: gone_on(chats.responses, told))
    case("chat, two choices", lambda: list(chat.create(model="parallel", messages=ASKED, tools=CHAT_TOOLS, n=2, stream=True)))
    case("chat, structure", lambda: parse(model="structure", messages=ASKED, response_format=Person))
    image = [{"type": "text", "text": QUESTION}, {"type": "image_url", "image_url": {"url": PIXEL}}]
    case("chat, image", lambda: chat.create(model="text", messages=[{"role": "user", "content": image}]))
    source = {"type": "base64", "media_type": "image/png", "data": PIXEL.split(",")[1]}
    image = [{"type": "image", "source": source}, {"type": "text", "text": QUESTION}]
    case("messages, image", lambda: blocks.messages.create(model="text", max_tokens=99, messages=[{"role": "user", "content": image}]))
    return found


def gone_on(responses, told: dict):
    first = responses.create(**told)
    calls = [item for item in first.output if item.type == "function_call"]
    results = [{"type": "function_call_output", "call_id": call.call_id, "output": "9 degrees"} for call in calls]
    return responses.create(model="text", previous_response_id=first.id, input=[*results, {"role": "user", "content": "And now?"}])


def same(written: str) -> str:
    """Without the numbers that the model counts up from answer to answer."""
    return re.sub(r"\b(resp|call|fc|msg)_\d+", r"\1_N", written)


def main(direct: str, gateway_openai: str, gateway_anthropic: str) -> int:
    warnings.simplefilter("ignore")  # Older lines do not know thoughts, and say so at each.
    wanted, got = cases(direct, direct), cases(gateway_openai, gateway_anthropic)
    wrong = []
    for name, returned in got.items():
        if any(harm in name.replace(",", " ").split() for harm in HARMFUL):
            # In streams the arguments come in pieces, the name does not.
            right = ('"bash"' in wanted[name] or "gone on" in name) and '"bash"' not in returned and '"raised"' not in returned
        else:
            right = same(returned) == same(wanted[name])
        if not right:
            wrong.append(name)
            print(f"WRONG: {name}\n  directly: {wanted[name][:600]}\n  through:  {returned[:600]}")
    state = "ok" if not wrong else "FAILED"
    print(f"{state}: openai {openai.__version__}, anthropic {anthropic.__version__}, {gateway_openai}: {len(got) - len(wrong)} of {len(got)} cases")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
