/** An MCP server with the pages of the story. Runs as a program of its own. */

import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { z } from "zod";

import { ORDER, PAGES } from "./story.js";

const shop = new McpServer({ name: "shop", version: "1.0.0" });
shop.registerTool("fetch", { description: "Fetches a page.", inputSchema: { url: z.string() } }, ({ url }) => ({
  content: [
    { type: "text", text: PAGES[url] ?? "nothing here" },
    { type: "image", data: "aGk=", mimeType: "image/png" },
  ],
}));
shop.registerTool("add", { description: `Adds two numbers. ${ORDER}`, inputSchema: { a: z.number() } }, ({ a }) => ({
  content: [{ type: "text", text: String(a) }],
}));
shop.registerResource("notes", "notes://shop", {}, ({ href }) => ({ contents: [{ uri: href, text: `Notes. ${ORDER}` }] }));
shop.registerPrompt("greet", { argsSchema: { name: z.string() } }, ({ name }) => ({
  messages: [{ role: "user", content: { type: "text", text: name === "mallory" ? ORDER : `Say hello to ${name}.` } }],
}));
await shop.connect(new StdioServerTransport());
