// Callbacks for an agent in TypeScript: hooks(new Map([["Write", "write_file"]])) maps its own names of tools to
// those of hooks.json. Each resolves when the hooks are over, four seconds after `bound` milliseconds at the latest,
// and never rejects.
// Only types that can be stripped: Node 22.18 runs it as it is, and tsc compiles it for others.

import { spawn } from "node:child_process";

export function hooks(tools: ReadonlyMap<string, string>, command = "bravebot-hooks", bound = 60_000) {
  const fire = async (...words: string[]): Promise<void> => {
    const timers: NodeJS.Timeout[] = [];
    await new Promise<void>((over, failed) => {
      const child = spawn(command, ["fire", ...words], { stdio: ["ignore", "ignore", "inherit"] });
      child.once("error", failed).once("exit", () => over());
      // SIGTERM first: of that the command ends its hook, of SIGKILL it cannot.
      timers.push(setTimeout(() => child.kill("SIGTERM"), bound));
      timers.push(setTimeout(() => child.kill("SIGKILL"), bound + 2_000));
      timers.push(setTimeout(over, bound + 4_000));
    }).catch((error) => console.error(`${command}: ${error.message}`));
    timers.forEach(clearTimeout);
  };
  return {
    onStart: () => fire("turn-started"),
    afterTool: (name: string) => {
      const tool = tools.get(name);
      return tool === undefined ? fire("tool-finished") : fire("tool-finished", "--tool", tool);
    },
    onEnd: () => fire("turn-finished"),
    onFailure: () => fire("turn-finished"),
  };
}
