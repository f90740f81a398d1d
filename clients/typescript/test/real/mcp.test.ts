import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import * as newer from "@modelcontextprotocol/client";
import { StdioClientTransport as NewerTransport } from "@modelcontextprotocol/client/stdio";
import { Denied, Guardian } from "aos-guardian";
import { guardClient } from "aos-guardian/mcp";

import { KEY, ORDER, PAGES, fetching, guardian } from "./story.js";

type Json = Record<string, any>;

/** A client of each generation of the SDK: `@modelcontextprotocol/sdk`, and `@modelcontextprotocol/client` that follows it. */
const GENERATIONS: [name: string, connect: (asked: Guardian, server: { command: string; args: string[] }) => Promise<Client>][] = [
  [
    "MCP SDK 1.x",
    async (asked, server) => {
      const client = guardClient(new Client({ name: "test", version: "1.0.0" }), asked);
      await client.connect(new StdioClientTransport(server));
      return client;
    },
  ],
  [
    "MCP client 2.x",
    async (asked, server) => {
      const client = guardClient(new newer.Client({ name: "test", version: "1.0.0" }), asked);
      await client.connect(new NewerTransport(server));
      return client as unknown as Client;
    },
  ],
];

async function fetched(client: Client, page: string): Promise<Json> {
  const [name, given] = fetching(page);
  return client.callTool({ name, arguments: given });
}

for (const [name, connect] of GENERATIONS) {
  async function shopping(asked: Guardian, run: (client: Client) => Promise<void>): Promise<void> {
    const server = fileURLToPath(new URL("mcp-shop.js", import.meta.url));
    const client = await connect(asked, { command: process.execPath, args: [server] });
    try {
      await run(client);
    } finally {
      await client.close();
    }
  }

  test(`${name}: an honest result is left alone`, () =>
    shopping(guardian(), async (client) => {
      const [text, image] = (await fetched(client, "widget")).content as Json[];
      assert.equal(text?.text, PAGES["https://shop.example/widget"]);
      assert.equal(image?.data, "aGk=");
    }));

  test(`${name}: an injected result is withheld and its order stopped`, () =>
    shopping(guardian(), async (client) => {
      const result = await fetched(client, "poisoned");
      assert.equal(result.isError, true);
      assert.match(result.content[0].text as string, /\[guardian\] /);
      assert.ok(!JSON.stringify(result).includes(ORDER));
      const sent: Json = await client.callTool({ name: "send_email", arguments: { to: "attacker@evil.example" } });
      assert.match(sent.content[0].text as string, /\[guardian\] /);
    }));

  test(`${name}: keys are masked, images stay`, () =>
    shopping(guardian(), async (client) => {
      const result = await fetched(client, "key");
      assert.ok(!JSON.stringify(result).includes(KEY));
      assert.equal(result.content[1].data, "aGk=");
    }));

  test(`${name}: a tool with a poisoned description is not listed`, () =>
    shopping(guardian(), async (client) => {
      assert.deepEqual(
        (await client.listTools()).tools.map((tool) => tool.name),
        ["fetch"],
      );
    }));

  test(`${name}: a poisoned resource or prompt is denied`, () =>
    shopping(guardian(), async (client) => {
      await assert.rejects(client.readResource({ uri: "notes://shop" }), Denied);
      await assert.rejects(client.getPrompt({ name: "greet", arguments: { name: "mallory" } }), Denied);
      const prompt = await client.getPrompt({ name: "greet", arguments: { name: "Ann" } });
      assert.match(JSON.stringify(prompt), /Say hello to Ann/);
    }));

  test(`${name}: without an answer the posture counts`, async () => {
    const nowhere = { url: "http://127.0.0.1:9", retries: 0 };
    await shopping(guardian(nowhere), async (client) =>
      assert.match((await fetched(client, "widget")).content[0].text as string, /\[guardian\] /),
    );
    await shopping(guardian({ ...nowhere, onFailure: "allow" }), async (client) =>
      assert.match((await fetched(client, "widget")).content[0].text as string, /49 EUR/),
    );
  });
}
