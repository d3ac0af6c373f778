/** Tests of what needs no browser: layout, addresses, pairing of lines, numbers. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import './without-page.mjs';
import { pair } from '../compare.js';
import { readPlace } from '../dialogs.js';
import { plural, size } from '../dom.js';
import { asNumbers } from '../hex.js';
import { layout } from '../layered.js';
import { read, write } from '../store.js';

/** A deterministic random generator, so that failures are reproducible. */
function numbers(seed = 1) {
  return (/** @type {number} */ below) => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return seed % below;
  };
}

test('a layout has no overlaps, and forward edges lead down', () => {
  const next = numbers();
  for (let round = 0; round < 200; round++) {
    const count = 1 + next(30);
    const nodes = Array.from({ length: count }, () => ({ width: 20 + next(200), height: 10 + next(80) }));
    const edges = Array.from({ length: next(60) }, () => ({ from: next(count), to: next(count) }));
    const { x, y, routes, width, height } = layout(nodes, edges);
    for (let a = 0; a < count; a++) {
      assert.ok(x[a] >= 0 && x[a] + nodes[a].width <= width && y[a] >= 0 && y[a] + nodes[a].height <= height);
      for (let b = 0; b < a; b++) {
        const apart = x[a] >= x[b] + nodes[b].width - 1e-6 || x[b] >= x[a] + nodes[a].width - 1e-6
          || y[a] >= y[b] + nodes[b].height - 1e-6 || y[b] >= y[a] + nodes[a].height - 1e-6;
        assert.ok(apart, `round ${round}: ${a} and ${b} overlap`);
      }
    }
    assert.equal(routes.length, edges.length);
    for (const { edge, points, back } of routes) {
      assert.equal(points[0][1], y[edges[edge].from] + nodes[edges[edge].from].height);
      assert.equal(points[points.length - 1][1], y[edges[edge].to]);
      if (!back) assert.ok(points.every((point, k) => k === 0 || point[1] >= points[k - 1][1]));
    }
  }
});

test('removed and added lines are paired', () => {
  const line = (/** @type {'both' | 'left' | 'right'} */ side) => ({ side, tokens: [] });
  const rows = pair({ left_from: 10, right_from: 20, lines: [line('both'), line('left'), line('left'), line('right'), line('both')] });
  assert.deepEqual(rows.map(({ left, right }) => [left?.number, right?.number]), [[10, 20], [11, 21], [12, undefined], [13, 22]]);
  assert.deepEqual(rows.map(({ kind }) => kind), ['same', 'changed', 'removed', 'same']);
});

test('offsets and lines are parsed', () => {
  assert.deepEqual(readPlace('0x40'), { offset: 64 });
  assert.deepEqual(readPlace('64'), { offset: 64 });
  assert.deepEqual(readPlace('8f30'), { offset: 0x8f30 });
  assert.deepEqual(readPlace('line 12'), { line: 11 });
  assert.equal(readPlace('twelve'), null);
  assert.equal(readPlace(''), null);
});

test('the address represents the state', () => {
  const state = { ...read(''), file: 'a&b=<c> é.metallib', program: 2, item: 17_171, pane: 'source:x/y.metal', line: 39, range: /** @type {[number, number]} */ ([0x8f30, 0x8f38]), against: 'f|0|3' };
  assert.deepEqual(read(write(state)), state);
  assert.equal(write(read('')), '');
  // Invalid parts of an address are ignored.
  assert.deepEqual(read('#item=-1&line=0&range=9-3&program=x&item=1e9'), read(''));
});

test('sizes and numbers', () => {
  assert.equal(size(999), '999 bytes');
  assert.equal(size(5632), '5.6 kB');
  assert.equal(size(146_876_416), '147 MB');
  assert.equal(plural(1, 'match', 'matches'), '1 match');
  assert.equal(asNumbers([0, 0, 128, 63]), 'u8 0 · u16 0 · u32 1065353216 · f32 1');
});
