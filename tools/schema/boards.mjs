// SPDX-License-Identifier: Apache-2.0

// Holds what boards say to their panels against what Grafana's own types know:
// options, field settings, and overrides of these. Grafana takes one that it
// does not know without a word, and does without.
//
//   node boards.mjs BOARD.json...
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

// A program that does nothing: each line claims that something is of its type.
// In JSON an enum is one of its values.
const program = fileURLToPath(new URL("boards.ts", import.meta.url));
const schema = "./node_modules/@grafana/schema/dist/types/raw/";
const lines = [
  `import type { FieldConfig } from "${schema}dashboard/x/types.gen";`,
  "type Plain<T> = T extends string ? `${T}` : T extends (infer E)[] ? Plain<E>[] : T extends object ? { [K in keyof T]: Plain<T[K]> } : T;",
];
const whose = []; // by line

function claim(who, type, value) {
  whose[lines.length] = who;
  lines.push(`({ _: ${JSON.stringify(value)} }) satisfies { _: ${type} };`);
}

function panel(who, p) {
  const types = `import("${schema}composable/${p.type.toLowerCase().replaceAll("-", "")}/panelcfg/x/types.gen")`;
  claim(`${who}: options`, `Plain<${types}.Options>`, p.options ?? {});
  const { custom, ...standard } = p.fieldConfig?.defaults ?? {};
  claim(`${who}: fields`, "Plain<FieldConfig>", standard);
  if (custom && Object.keys(custom).length) claim(`${who}: fields, custom`, `Plain<${types}.FieldConfig>`, custom);
  for (const { matcher, properties } of p.fieldConfig?.overrides ?? []) {
    for (const { id, value } of properties) {
      const own = id.startsWith("custom.");
      claim(`${who}: ${id} of ${matcher.options}`, `Partial<Plain<${own ? types + "." : ""}FieldConfig>>`, { [own ? id.slice(7) : id]: value });
    }
  }
}

for (const file of process.argv.slice(2)) {
  const { panels } = JSON.parse(readFileSync(file, "utf8"));
  for (const p of panels.flatMap((p) => [p, ...(p.panels ?? [])])) {
    if (p.type !== "row") panel(`${basename(file)}: ${p.title}`, p);
  }
}

const options = { strict: true, noEmit: true, skipLibCheck: true, types: [], module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler };
const host = ts.createCompilerHost(options);
const { getSourceFile } = host;
host.getSourceFile = (name, ...rest) => name === program ? ts.createSourceFile(name, lines.join("\n"), ts.ScriptTarget.Latest) : getSourceFile(name, ...rest);
const faults = ts.getPreEmitDiagnostics(ts.createProgram([program], options, host));
for (const f of faults) {
  const ours = f.file?.fileName === program;
  const who = ours ? `${whose[f.file.getLineAndCharacterOfPosition(f.start).line]}: ${f.file.text.substr(f.start, f.length)}` : f.file?.fileName ?? "tsc";
  console.error(`${who}: ${ts.flattenDiagnosticMessageText(f.messageText, "\n")}`);
}
process.exit(faults.length ? 1 : 0);
