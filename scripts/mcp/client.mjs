// Drives `crh mcp` with the client of the TypeScript SDK. Called by scripts/check-mcp.
// Arguments: crh, the repository, URL of a fake model, URL of a model that never answers.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { createRequire } from "node:module";

// The SDK is in the folder of the script that calls this one.
const require = createRequire(`${process.cwd()}/`);
const load = async (path) => import(pathToFileURL(require.resolve(`@modelcontextprotocol/sdk/${path}`)));
const { Client } = await load("client/index.js");
const { StdioClientTransport } = await load("client/stdio.js");
const { CallToolResultSchema, ElicitRequestSchema, ListRootsRequestSchema } = await load("types.js");

const [crh, repository, model, slowModel] = process.argv.slice(2);

async function connect(url) {
  const env = { ...process.env, OPENAI_API_KEY: "sk-check", OPENAI_BASE_URL: url, CRH_STRATEGY: "single" };
  const transport = new StdioClientTransport({ command: crh, args: ["mcp"], cwd: "/", env, stderr: "inherit" });
  const capabilities = { roots: {}, elicitation: {} };
  const client = new Client({ name: "check-mcp", version: "1" }, { capabilities });
  client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: `${pathToFileURL(repository)}` }] }));
  client.setRequestHandler(ElicitRequestSchema, (request) => {
    assert.match(request.params.message, /(Apply the fix of|Hide) issue 1/);
    return { action: "accept", content: { agree: true } };
  });
  await client.connect(transport);
  return client;
}

const text = (result) => result.content[0].text;
const client = await connect(model);
const { tools } = await client.listTools();
assert.equal(tools.length, 8);
console.log(`typescript: ${tools.map((tool) => tool.name).join(", ")}`);

const steps = [];
const options = { onprogress: (step) => steps.push(step.progress), resetTimeoutOnProgress: true };
// The client checks the structured content against the tool's schema.
const call = (name, args) => client.callTool({ name, arguments: args }, CallToolResultSchema, options);
const review = await call("review_change", { base: "HEAD~1" });
assert.equal(review.isError, false, text(review));
assert.equal(review.structuredContent.issues[0].title, "The total is divided by the count");
assert.ok(steps.length > 5, "progress");
assert.match(text(await call("propose_fix", { issue: 1 })), /\+    return result\n/);
const outside = await call("check_change", { repository: "/etc" });
assert.ok(outside.isError && text(outside).includes("outside"));
const fixed = await call("apply_fix", { issue: 1 });
assert.equal(fixed.isError, false, text(fixed));
assert.match(readFileSync(`${repository}/shop.py`, "utf8"), /return result\n/);
const dismissed = await call("dismiss_issue", { issue: 1, reason: "checked" });
assert.equal(dismissed.isError, false, text(dismissed));
const { resources } = await client.listResources();
assert.match((await client.readResource({ uri: resources[1].uri })).contents[0].text, /diff --git/);
const { prompts } = await client.listPrompts();
assert.equal(prompts[0].name, "review_my_branch");
await client.close();

const slow = await connect(slowModel);
const abort = new AbortController();
const reviewing = new Promise((resolve) => {
  const onprogress = (step) => step.message.includes("single") && resolve();
  const request = { name: "review_change", arguments: { base: "HEAD~1" } };
  slow.callTool(request, CallToolResultSchema, { signal: abort.signal, onprogress }).then(
    () => assert.fail("a cancelled call has no result"),
    (error) => console.log(`typescript: cancelled (${error.message})`),
  );
});
await reviewing;
await new Promise((resolve) => setTimeout(resolve, 2_000));
abort.abort("enough");
// The server works on.
const report = await slow.callTool({ name: "check_change", arguments: { base: "HEAD~1" } });
assert.equal(report.isError, false, text(report));
await slow.close();
console.log(`typescript: ok, ${steps.length} steps of progress`);
