/**
 * Compares the static page's WebAssembly module and the recorded answers of reports with `tests/query/requests.txt`,
 * the expected answers of the library, the server and the command line (`crates/unshade/tests/query.rs` and others).
 */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { Archive } from '../archive.js';
import { Answers } from '../report.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const lines = readFileSync(join(ROOT, 'tests/query/requests.txt'), 'utf8').split('\n');
const files = lines.filter((line) => line.startsWith('# ')).map((line) => join(ROOT, line.slice(2)));
/** @type {[string, string][]} */
const asked = lines.flatMap((line, k) => (line.startsWith('> ') ? [/** @type {[string, string]} */ ([line.slice(2), lines[k + 1]])] : []));

test('the module of the static page answers as the library does', { skip: !process.env.UNSHADE_PAGE }, async () => {
  const page = /** @type {string} */ (process.env.UNSHADE_PAGE);
  const { default: init, Workspace } = await import(pathToFileURL(join(page, 'unshade_web.js')).href);
  await init({ module_or_path: readFileSync(join(page, 'unshade_web_bg.wasm')) });
  const { default: initDecompiler, set_tables, decompile, run } = await import(pathToFileURL(join(page, 'unshade_web_decompiler.js')).href);
  await initDecompiler({ module_or_path: readFileSync(join(page, 'unshade_web_decompiler_bg.wasm')) });
  const tables = (/** @type {string} */ name) => new Uint8Array(readFileSync(join(page, `${name}.bin`)));
  set_tables(tables);
  const { default: initEditor, set_tables: setEditorTables, edit } = await import(pathToFileURL(join(page, 'unshade_web_editor.js')).href);
  await initEditor({ module_or_path: readFileSync(join(page, 'unshade_web_editor_bg.wasm')) });
  setEditorTables(tables);
  const workspace = new Workspace(tables, decompile, edit);
  for (const path of files) {
    const bytes = readFileSync(path);
    const opened = JSON.parse(workspace.open(basename(path), bytes.length, (/** @type {number} */ offset, /** @type {number} */ length) =>
      new Uint8Array(bytes.subarray(offset, offset + length))));
    assert.equal(opened.error, undefined);
  }
  const launched = (/** @type {string} */ request) => {
    try {
      return run(workspace.run_job(request));
    } catch (error) {
      return error;
    }
  };
  for (const [request, answer] of asked) {
    const answered = /^\{"query":"(run|parameters)"/.test(request) ? launched(request) : workspace.handle(request);
    assert.equal(answered, answer, request);
  }
});

/** Queries that a report answers differently or not at all. */
const OWN = new Set(['calls', 'changes', 'close', 'compare', 'edit', 'extract', 'flow', 'hash', 'parameters', 'run', 'save']);

test('the answers in a report are those of the library', { skip: !process.env.UNSHADE }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'unshade-report-'));
  const report = join(folder, 'report.html');
  execFileSync(/** @type {string} */ (process.env.UNSHADE), ['html', ...files, '-o', report]);
  const packed = /id="report">([^<]*)</.exec(readFileSync(report, 'utf8'))?.[1] ?? '';
  rmSync(folder, { recursive: true });
  const answers = new Answers(await Archive.open(packed));
  let same = 0;
  for (const [text, expected] of asked) {
    let request;
    try {
      request = JSON.parse(text);
    } catch {
      continue;
    }
    const { schema, ...wanted } = JSON.parse(expected);
    // Error messages of a report differ.
    if (OWN.has(request.query) || wanted.error) continue;
    const { schema: _, ...told } = await answers.answer(request);
    if (request.query === 'rows') told.rows = told.rows.map((/** @type {any} */ row, /** @type {number} */ at) => uncounted(row, wanted.rows[at]));
    const plain = (/** @type {any} */ answer) => (request.query === 'search' ? answer.matches : without(answer));
    assert.deepEqual(plain(told), plain(wanted), text);
    same++;
  }
  assert.ok(same > 40, `${same} answers`);
});

/**
 * Returns a row without its number of instructions, if the library did not count them: a report always has them.
 * @param {any} row
 * @param {any} wanted
 */
function uncounted({ cells, ...row }, wanted) {
  const { instructions, ...others } = cells;
  return { ...row, cells: wanted?.cells.instructions === undefined ? others : cells };
}

/**
 * Returns an answer without what a report leaves out: unsupported downloads, and graphs of other functions.
 * @param {any} answer
 * @returns {any}
 */
function without(answer) {
  const offered = (/** @type {string[]} */ names) => names.filter((name) => ['program', 'module', 'listing', 'source'].includes(name));
  return {
    ...answer,
    ...(answer.extracts ? { extracts: offered(answer.extracts) } : {}),
    ...(answer.programs ? { programs: answer.programs.map((/** @type {any} */ one) => (one.extracts ? { ...one, extracts: offered(one.extracts) } : one)) } : {}),
  };
}
