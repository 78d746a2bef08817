// What the clients below this folder are, is checked by the compiler.
import { Client as SDK } from "@modelcontextprotocol/sdk/client/index.js";
import * as demo from "./demo/client.js";
import * as everything from "./everything/client.js";
import * as hostile from "./hostile/client.js";
import * as kinds from "./kinds/client.js";

const sdk = new SDK({ name: "check", version: "1" });

export async function check(): Promise<number> {
  const added: demo.AddResult = await new demo.Client(sdk).add({ a: 1, b: 2 });
  // @ts-expect-error b is missing
  await new demo.Client(sdk).add({ a: 1 });
  await new everything.Client(sdk).echo({ message: "hello" });
  await new hostile.Client(sdk).toString2();
  await new hostile.Client(sdk).toString2({ constructor: { valueOf: true } });
  const filter: kinds.FindFilesFilter = { not: { name: "x" }, both: null };
  const found = await new kinds.Client(sdk).findFiles({
    path: "/", kind: "folder", names: [], labels: { a: "b" }, filter, depth: null, "-": true,
  });
  // @ts-expect-error a folder has no kind of that name
  const kind: kinds.FindFilesArgumentsKind = "tree";
  await new kinds.Client(sdk).findFiles2();
  return added.sum + found.total + (found.next?.length ?? 0) + kind.length;
}
