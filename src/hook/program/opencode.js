// Written by `guardian hook install opencode`; `guardian hook uninstall opencode` takes it away.
import { spawn } from "node:child_process";

const COMMAND = ["COMMAND"];
const MILLISECONDS = "SECONDS" * 1000;

// What the guardian answers; without an answer, a denial.
function ask(event) {
  return new Promise((resolve) => {
    const [program, ...words] = COMMAND;
    const child = spawn(program, words, { stdio: ["pipe", "pipe", "pipe"] });
    let out = "", said = "";
    const deny = () => resolve({ deny: said.trim() || "[guardian] no verdict" });
    const timer = setTimeout(() => { child.kill("SIGKILL"); deny(); }, MILLISECONDS);
    child.on("error", () => { clearTimeout(timer); deny(); });
    child.stdout.on("data", (chunk) => { out += chunk; });
    child.stderr.on("data", (chunk) => { said += chunk; });
    child.on("close", (code) => {
      clearTimeout(timer);
      try {
        if (code === 0) return resolve(JSON.parse(out));
      } catch {}
      deny();
    });
    child.stdin.on("error", () => {});
    child.stdin.end(JSON.stringify(event));
  });
}

function replace(target, values) {
  for (const name of Object.keys(target)) if (!(name in values)) delete target[name];
  Object.assign(target, values);
}

export const Guardian = async () => ({
  "chat.message": async (input, output) => {
    const prompt = (output.parts ?? []).map((part) => part.text ?? "").filter(Boolean).join("\n");
    const answer = await ask({ hook_event_name: "prompt", session_id: input.sessionID, prompt });
    if (answer.deny) throw new Error(answer.deny);
  },
  "tool.execute.before": async (input, output) => {
    const answer = await ask({
      hook_event_name: "call", session_id: input.sessionID, tool_use_id: input.callID,
      tool_name: input.tool, tool_input: output.args,
    });
    if (answer.deny) throw new Error(answer.deny);
    if (answer.input) replace(output.args, answer.input);
  },
  "tool.execute.after": async (input, output) => {
    const shown = output.content === undefined
      ? { title: output.title ?? "", output: output.output ?? "" }
      : { content: output.content };
    const answer = await ask({
      hook_event_name: "result", session_id: input.sessionID, tool_use_id: input.callID,
      tool_name: input.tool, tool_input: input.args ?? {}, tool_response: shown,
    });
    if (answer.deny) Object.assign(output, { title: "", output: answer.deny, content: [{ type: "text", text: answer.deny }] });
    if (answer.output) Object.assign(output, answer.output);
    if ((answer.deny || answer.output) && output.metadata) output.metadata = {};
  },
});
