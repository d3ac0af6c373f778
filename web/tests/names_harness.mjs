/** Makes files with given names for the tests of the list and the first screen, and checks accessibility. */

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { fixture, scratch } from './harness.mjs';

export * from './harness.mjs';

/** Offsets in a library's header of the offsets of sections behind the function list. */
const SECTIONS = [0x28, 0x38, 0x48];

/**
 * Creates a Metal library with these functions, which all have the same module.
 * @param {string} file
 * @param {string[]} names of at most 65,000 bytes
 */
export function library(file, names) {
  const base = readFileSync(fixture('metallib/vertex_fragment.metallib'));
  const list = Number(base.readBigUInt64LE(0x18));
  const size = Number(base.readBigUInt64LE(0x20));
  const first = list + 4;
  const group = base.subarray(first, first + base.readUInt32LE(first));
  // The group is its size, the tag NAME, and the other tags.
  const others = group.subarray(4 + 6 + group.readUInt16LE(8));
  const entries = names.map((name) => {
    const text = Buffer.concat([Buffer.from(name), Buffer.from([0])]);
    const head = Buffer.alloc(10);
    head.writeUInt32LE(4 + 6 + text.length + others.length, 0);
    head.write('NAME', 4);
    head.writeUInt16LE(text.length, 8);
    return Buffer.concat([head, text, others]);
  });
  const all = Buffer.concat(entries);
  const count = Buffer.alloc(4);
  count.writeUInt32LE(names.length);
  const made = Buffer.concat([base.subarray(0, list), count, all, base.subarray(first + size)]);
  const moved = BigInt(all.length - size);
  const move = (/** @type {number} */ at) => made.writeBigUInt64LE(made.readBigUInt64LE(at) + moved, at);
  made.writeBigUInt64LE(BigInt(made.length), 0x10);
  made.writeBigUInt64LE(BigInt(all.length), 0x20);
  SECTIONS.forEach(move);
  move(made.indexOf('RLST', first + all.length) + 6);
  const path = join(scratch, file);
  writeFileSync(path, made);
  return path;
}

/**
 * Creates a cubin whose first function has this name.
 * @param {string} file
 * @param {string} name
 */
export function cubin(file, name) {
  const base = readFileSync(fixture('nvidia/calls_sm_35.cubin'));
  const made = Buffer.concat([base, Buffer.from(`${name}\0`)]);
  const headers = Number(base.readBigUInt64LE(0x28));
  const header = (/** @type {number} */ index) => headers + index * 64;
  const sections = Array.from({ length: base.readUInt16LE(0x3c) }, (_, index) => header(index));
  const table = sections.find((at) => base.readUInt32LE(at + 4) === 2) ?? 0;
  // The string table of the symbols is made to reach to the end of the file.
  const strings = header(base.readUInt32LE(table + 0x28));
  const start = Number(base.readBigUInt64LE(strings + 0x18));
  made.writeBigUInt64LE(BigInt(made.length - start), strings + 0x20);
  const symbols = Number(base.readBigUInt64LE(table + 0x18));
  const size = Number(base.readBigUInt64LE(table + 0x20));
  for (let at = symbols; at < symbols + size; at += 24) {
    if ((base[at + 4] & 15) !== 2) continue;
    made.writeUInt32LE(base.length - start, at);
    break;
  }
  const path = join(scratch, file);
  writeFileSync(path, made);
  return path;
}

const AXE = readFileSync(new URL('node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');

/**
 * Returns the serious accessibility problems of the page as it is.
 * @param {import('playwright-core').Page} page
 * @returns {Promise<string[]>}
 */
export async function axe(page) {
  await page.evaluate((source) => void (/** @type {any} */ (window).axe ?? (0, eval)(source)), AXE).catch(() => page.addScriptTag({ content: AXE }));
  const { violations } = await page.evaluate(() => /** @type {any} */ (window).axe.run(document, { resultTypes: ['violations'] }));
  return violations.filter((/** @type {any} */ one) => ['serious', 'critical'].includes(one.impact)).map((/** @type {any} */ one) =>
    `${one.id}: ${one.nodes.slice(0, 3).map((/** @type {any} */ node) => `${node.html.slice(0, 160)} ${node.failureSummary?.replace(/\s+/g, ' ').slice(0, 200)}`).join(' | ')}`);
}
