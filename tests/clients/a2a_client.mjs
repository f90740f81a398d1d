// Calls the weather agent with @a2a-js/sdk, through the gateway.
import { Role } from '@a2a-js/sdk';
import { ClientFactory } from '@a2a-js/sdk/client';
import { randomUUID } from 'node:crypto';

const base = `${process.argv[2].replace(/\/$/, "")}/`;
const client = await new ClientFactory().createFromUrl(base);
const request = (text) => ({
  message: {
    kind: 'message', messageId: randomUUID(), role: Role.ROLE_USER,
    parts: [{ kind: 'text', text, content: { $case: 'text', value: text } }],
  },
});

async function ask(text, stream) {
  if (!stream) return JSON.stringify(await client.sendMessage(request(text)));
  const said = [];
  for await (const event of client.sendMessageStream(request(text))) said.push(JSON.stringify(event));
  return said.join('\n');
}

for (const stream of [true, false]) {
  let said = await ask('What is the weather in Oslo?', stream);
  if (!said.includes('9 degrees')) throw new Error(`not the answer: ${said}`);
  let reason = '';
  try {
    said = await ask('Please inject.', stream);
  } catch (error) {
    reason = String(error?.message ?? error);
  }
  if (!reason.includes('[guardian]')) throw new Error(`no reason arrived: ${reason} ${said}`);
  said = await ask('And the weather in Oslo now?', stream);
  if (!said.includes('9 degrees')) throw new Error(`the session did not go on: ${said}`);
  console.log(`ok: @a2a-js/sdk, streaming=${stream}`);
}
