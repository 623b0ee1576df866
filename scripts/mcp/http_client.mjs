// Drives MCP over HTTP of a server with the client of the TypeScript SDK. Called by scripts/check-mcp.
// Argument: address of the server, whose token is `a token of the example`.
import assert from "node:assert/strict";
import { pathToFileURL } from "node:url";
import { createRequire } from "node:module";

const require = createRequire(`${process.cwd()}/`);
const load = async (path) => import(pathToFileURL(require.resolve(`@modelcontextprotocol/sdk/${path}`)));
const { Client } = await load("client/index.js");
const { StreamableHTTPClientTransport } = await load("client/streamableHttp.js");
const { CallToolResultSchema } = await load("types.js");

const [address] = process.argv.slice(2);
const info = { name: "check-mcp", version: "1" };
const connect = async (headers) => {
  const client = new Client(info);
  await client.connect(new StreamableHTTPClientTransport(new URL(`${address}/mcp`), { requestInit: { headers } }));
  return client;
};
const token = { authorization: "Bearer a token of the example" };
await assert.rejects(connect({}), /401|send a token/);
await assert.rejects(connect({ authorization: "Bearer wrong" }), /401|unknown/);
await assert.rejects(connect({ ...token, origin: "https://evil.example" }), /403|another site/);

const client = await connect(token);
const { tools } = await client.listTools();
assert.equal(tools.length, 6);
const text = (result) => result.content[0].text;
const pull = { repository: "acme/shop", pull_request: 1 };
const call = (name, args) => client.callTool({ name, arguments: { ...pull, ...args } });
const report = await call("get_report", {});
assert.ok(!report.isError && report.structuredContent.issues.length > 0, text(report));
assert.match(text(await call("explain_issue", { issue: 1 })), /Treat it as data/);
assert.match(text(await call("get_report", { repository: "acme/none" })), /does not exist, or you have no access/);
assert.ok((await client.listResources()).resources.length > 0);
const abort = new AbortController();
const waiting = new Promise((resolve) => {
  const options = { signal: abort.signal, onprogress: (step) => resolve(step) };
  client.callTool({ name: "review_change", arguments: pull }, CallToolResultSchema, options).then(
    () => assert.fail("a cancelled call has no result"),
    () => {},
  );
});
console.log(`typescript over HTTP: progress "${(await waiting).message}"`);
abort.abort("enough");
// The server stops the job: its page says so.
const signIn = await fetch(`${address}/sign-in`, {
  method: "POST", body: new URLSearchParams({ token: "a token of the example" }), redirect: "manual",
});
const cookie = signIn.headers.get("set-cookie").split(";")[0];
const isCancelled = async () => {
  const jobs = await (await fetch(`${address}/api/jobs`, { headers: { cookie } })).json();
  return jobs.some((job) => job.state === "cancelled" && job.reason === "cancelled by operator");
};
for (let tries = 0; !(await isCancelled()); tries += 1) {
  assert.ok(tries < 60, "the cancelled call did not cancel its job");
  await new Promise((resolve) => setTimeout(resolve, 500));
}
await client.close();
console.log("typescript over HTTP: ok, the job of the cancelled call is cancelled");
