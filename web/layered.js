/**
 * Layered layout of a directed graph, after Sugiyama: back edges are reversed, each node is placed one layer below
 * its lowest predecessor, edges that span layers get a dummy node in each, layers are ordered by the medians of their
 * neighbours, and coordinates within a layer are the least-squares solution that keeps the order (isotonic
 * regression). Nodes of a group, such as a loop, stay together in every layer.
 *
 * Dummy nodes would make the time quadratic in deep graphs, so their number is limited: the edges that span the most
 * layers pass beside the picture, each in a lane of its own. The layout is a generator that yields after small pieces
 * of work, so that a page can stay responsive.
 */

/**
 * @typedef {object} Route
 * @property {number} edge
 * @property {boolean} back whether it leads upwards
 * @property {boolean} far whether it passes beside the picture; its points are the corners of straight lines
 * @property {[number, number][]} points from the bottom of a node to the top of another
 */

/**
 * @typedef {object} Placed
 * @property {number[]} x left edge of each node
 * @property {number[]} y top edge of each node
 * @property {number[]} layer of each node
 * @property {Route[]} routes
 * @property {number} width
 * @property {number} height
 */

const GAP_X = 28;
const GAP_Y = 44;
/** Sweeps over the layers; of large graphs fewer. */
const SWEEPS = 8;
const LARGE = 4_000;
/** Maximum number of dummy nodes, for each node and at least. */
const DUMMIES_PER_NODE = 6;
const DUMMIES = 4_000;
/** The distance of lanes beside the picture, and their maximum number. */
const LANE = 9;
const LANES = 64;
/** Number of a block's neighbours that a back edge beside it stays close to. */
const NEAR = 4;
/** Milliseconds of work between two breaks. */
const SLICE = 12;

/**
 * @param {{width: number, height: number}[]} nodes
 * @param {{from: number, to: number}[]} edges
 * @param {number[][]} [groups] the groups of each node, the outermost first
 * @returns {Placed}
 */
export function layout(nodes, edges, groups) {
  const work = steps(nodes, edges, groups);
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}

/**
 * Lays a graph out with breaks, so that no task is long.
 * @param {{width: number, height: number}[]} nodes
 * @param {{from: number, to: number}[]} edges
 * @param {number[][]} groups
 * @param {AbortSignal} signal
 * @returns {Promise<Placed>}
 */
export async function layoutInSteps(nodes, edges, groups, signal) {
  const work = steps(nodes, edges, groups);
  let end = performance.now() + SLICE;
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
    if (performance.now() < end) continue;
    await pause();
    if (signal.aborted) throw signal.reason;
    end = performance.now() + SLICE;
  }
}

/** Waits until the browser has handled what is due. */
export function pause() {
  return /** @type {Promise<void>} */ (new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  }));
}

/**
 * @param {{width: number, height: number}[]} nodes
 * @param {{from: number, to: number}[]} edges
 * @param {number[][]} [groups]
 * @returns {Generator<void, Placed>}
 */
function* steps(nodes, edges, groups = []) {
  const back = backEdges(nodes.length, edges);
  yield;
  const layerOf = layers(nodes.length, edges, back);
  yield;
  const far = farEdges(nodes.length, edges, back, layerOf);
  /** The widths of nodes, followed by those of dummy nodes. */
  const widths = nodes.map(({ width }) => width);
  const layer = [...layerOf];
  /** The groups of nodes and of dummy nodes. */
  const within = nodes.map((_, node) => groups[node] ?? []);
  /** @type {{edge: number, chain: number[]}[]} */
  const chains = edges.map(({ from, to }, edge) => {
    if (far[edge]) return { edge, chain: [] };
    // A back edge passes beside the layers of both its ends, so it gets a dummy node in these as well.
    const [first, last] = back[edge] ? [layerOf[to], layerOf[from]] : [layerOf[from] + 1, layerOf[to] - 1];
    const chain = [];
    const common = first <= last ? commonGroups(within[from], within[to]) : [];
    for (let k = first; k <= last; k++) {
      chain.push(widths.length);
      widths.push(10);
      layer.push(k);
      within.push(common);
    }
    return { edge, chain: back[edge] ? chain.reverse() : chain };
  });
  /** @type {number[][]} */
  const up = widths.map(() => []);
  /** @type {number[][]} */
  const down = widths.map(() => []);
  for (const { edge, chain } of chains) {
    if (far[edge]) continue;
    const path = back[edge] ? [...chain].reverse() : [edges[edge].from, ...chain, edges[edge].to];
    for (let k = 1; k < path.length; k++) {
      down[path[k - 1]].push(path[k]);
      up[path[k]].push(path[k - 1]);
    }
    if (back[edge] && chain.length) {
      // The dummy nodes beside a block stay close to it.
      up[chain[0]].push(...up[edges[edge].from].slice(0, NEAR));
      down[chain[chain.length - 1]].push(...down[edges[edge].to].slice(0, NEAR));
    }
  }
  yield;
  const sweeps = widths.length > LARGE ? SWEEPS / 2 : SWEEPS;
  const rows = yield* order(layer, up, down, within, sweeps);
  const centre = yield* place(rows, widths, up, down, sweeps);

  const depth = rows.map((row) => row.reduce((most, node) => Math.max(most, nodes[node]?.height ?? 0), 0));
  /** @type {number[]} */
  const top = [];
  let y = GAP_Y / 2;
  for (const [k, height] of depth.entries()) {
    top[k] = y;
    y += height + GAP_Y;
  }
  let [left, right] = [Infinity, -Infinity];
  for (let node = 0; node < widths.length; node++) {
    left = Math.min(left, centre[node] - widths[node] / 2);
    right = Math.max(right, centre[node] + widths[node] / 2);
  }
  left -= GAP_X;
  right += GAP_X;
  yield;
  const x = nodes.map(({ width }, node) => centre[node] - width / 2 - left);
  const lanes = lanesOf(edges, far, layerOf);
  const routes = chains.map(({ edge, chain }) => {
    /** @type {[number, number][]} */
    const points = [];
    for (const point of chain) {
      const head = top[layer[point]];
      const foot = head + depth[layer[point]];
      const at = centre[point] - left;
      points.push(...(back[edge] ? /** @type {[number, number][]} */ ([[at, foot], [at, head]]) : /** @type {[number, number][]} */ ([[at, head], [at, foot]])));
    }
    return { edge, points, back: back[edge], far: far[edge] };
  });
  yield;
  // Edges leave and enter a node side by side, sorted by where they lead to and come from.
  /** @type {(edge: number, ofFoot: boolean) => number} */
  const toward = (edge, ofFoot) => {
    const { points } = routes[edge];
    if (far[edge]) return right;
    if (points.length) return ofFoot ? points[0][0] : points[points.length - 1][0];
    return centre[ofFoot ? edges[edge].to : edges[edge].from] - left;
  };
  const ends = (/** @type {boolean} */ ofFoot) => {
    /** @type {number[][]} */
    const of = nodes.map(() => []);
    edges.forEach(({ from, to }, edge) => of[ofFoot ? from : to].push(edge));
    /** @type {number[]} */
    const at = [];
    of.forEach((mine, node) => {
      mine.sort((a, b) => toward(a, ofFoot) - toward(b, ofFoot));
      const step = Math.min(24, nodes[node].width / (mine.length + 1));
      mine.forEach((edge, k) => { at[edge] = centre[node] - left + (k - (mine.length - 1) / 2) * step; });
    });
    return at;
  };
  const feet = ends(true);
  yield;
  const heads = ends(false);
  let width = right - left;
  for (const { edge, points } of routes) {
    const { from, to } = edges[edge];
    const foot = top[layerOf[from]] + nodes[from].height;
    const head = top[layerOf[to]];
    points.unshift([feet[edge], foot]);
    if (far[edge]) {
      // Through the gap below the layer of the source, along the lane, and through the gap above that of the target.
      const lane = right - left + (lanes[edge] + 1) * LANE;
      const turn = 6 + (lanes[edge] % 8) * 3;
      const low = top[layerOf[from]] + depth[layerOf[from]] + turn;
      const high = head - GAP_Y / 2 + turn / 3;
      points.push([feet[edge], low], [lane, low], [lane, high], [heads[edge], high]);
      width = Math.max(width, lane + GAP_X);
    }
    points.push([heads[edge], head]);
  }
  return { x, y: nodes.map((_, node) => top[layerOf[node]]), layer: layerOf, routes, width, height: y };
}

/**
 * Returns the groups that two nodes are both in.
 * @param {number[]} one
 * @param {number[]} two
 */
function commonGroups(one, two) {
  let k = 0;
  while (k < one.length && one[k] === two[k]) k++;
  return k === one.length ? one : k === two.length ? two : one.slice(0, k);
}

/**
 * Finds the edges that would need too many dummy nodes, those that span most layers first.
 * @param {number} count
 * @param {{from: number, to: number}[]} edges
 * @param {boolean[]} back
 * @param {number[]} layerOf
 */
function farEdges(count, edges, back, layerOf) {
  const far = edges.map(() => false);
  const span = edges.map(({ from, to }, edge) => (back[edge] ? layerOf[from] - layerOf[to] + 1 : layerOf[to] - layerOf[from] - 1));
  let left = DUMMIES + DUMMIES_PER_NODE * count;
  for (const edge of edges.map((_, edge) => edge).sort((a, b) => span[a] - span[b])) {
    left -= span[edge];
    far[edge] = left < 0;
  }
  return far;
}

/**
 * Gives each far edge a lane that no other uses in the same layers, as long as there are lanes.
 * @param {{from: number, to: number}[]} edges
 * @param {boolean[]} far
 * @param {number[]} layerOf
 * @returns {number[]} by edge
 */
function lanesOf(edges, far, layerOf) {
  /** @type {number[]} */
  const lanes = [];
  const spans = [];
  for (let edge = 0; edge < edges.length; edge++) {
    if (!far[edge]) continue;
    const [from, to] = [layerOf[edges[edge].from], layerOf[edges[edge].to]];
    spans.push({ edge, start: Math.min(from, to), end: Math.max(from, to) });
  }
  spans.sort((a, b) => a.start - b.start || a.end - b.end);
  /** The layer up to which each lane is used. @type {number[]} */
  const used = [];
  for (const { edge, start, end } of spans) {
    let lane = used.findIndex((until) => until < start);
    if (lane < 0) lane = used.length < LANES ? used.length : edge % LANES;
    used[lane] = Math.max(used[lane] ?? 0, end);
    lanes[edge] = lane;
  }
  return lanes;
}
/**
 * Finds back edges in a depth-first search.
 * @param {number} count
 * @param {{from: number, to: number}[]} edges
 * @returns {boolean[]}
 */
function backEdges(count, edges) {
  /** @type {number[][]} */
  const out = Array.from({ length: count }, () => []);
  edges.forEach(({ from }, edge) => out[from].push(edge));
  const back = edges.map(() => false);
  const state = new Uint8Array(count);
  for (let root = 0; root < count; root++) {
    if (state[root]) continue;
    /** @type {[number, number][]} node, next of its edges */
    const stack = [[root, 0]];
    state[root] = 1;
    while (stack.length > 0) {
      const frame = stack[stack.length - 1];
      const edge = out[frame[0]][frame[1]++];
      if (edge === undefined) {
        state[frame[0]] = 2;
        stack.pop();
        continue;
      }
      const { to } = edges[edge];
      if (state[to] === 1) {
        back[edge] = true;
      } else if (state[to] === 0) {
        state[to] = 1;
        stack.push([to, 0]);
      }
    }
  }
  return back;
}

/**
 * Assigns layers: the longest path from a node without predecessors.
 * @param {number} count
 * @param {{from: number, to: number}[]} edges
 * @param {boolean[]} back
 * @returns {number[]}
 */
function layers(count, edges, back) {
  const layer = new Array(count).fill(0);
  const entering = new Array(count).fill(0);
  /** @type {number[][]} */
  const out = Array.from({ length: count }, () => []);
  edges.forEach(({ from, to }, edge) => {
    if (back[edge]) return;
    out[from].push(to);
    entering[to]++;
  });
  const ready = [];
  for (let node = 0; node < count; node++) if (entering[node] === 0) ready.push(node);
  for (let k = 0; k < ready.length; k++) {
    for (const to of out[ready[k]]) {
      layer[to] = Math.max(layer[to], layer[ready[k]] + 1);
      if (--entering[to] === 0) ready.push(to);
    }
  }
  return layer;
}

/**
 * Returns the nodes of each layer from left to right.
 * @param {number[]} layer
 * @param {number[][]} up
 * @param {number[][]} down
 * @param {number[][]} within the groups of each node
 * @param {number} sweeps
 * @returns {Generator<void, number[][]>}
 */
function* order(layer, up, down, within, sweeps) {
  /** @type {number[][]} */
  const rows = [];
  layer.forEach((k, node) => (rows[k] ??= []).push(node));
  for (let k = 0; k < rows.length; k++) rows[k] ??= [];
  const at = new Array(layer.length).fill(0);
  const wanted = new Array(layer.length).fill(0);
  const number = (/** @type {number[]} */ row) => row.forEach((node, k) => { at[node] = k; });
  rows.forEach(number);
  for (let sweep = 0; sweep < sweeps; sweep++) {
    const neighbours = sweep % 2 === 0 ? up : down;
    const sequence = sweep % 2 === 0 ? rows : [...rows].reverse();
    for (const row of sequence) {
      for (const node of row) wanted[node] = median(neighbours[node].map((other) => at[other])) ?? at[node];
      const sorted = together(row, within, wanted, at, 0);
      sorted.forEach((node, k) => { row[k] = node; });
      number(row);
      yield;
    }
  }
  return rows;
}

/**
 * Sorts nodes by where they want to be, and keeps the nodes of a group together.
 * @param {number[]} row
 * @param {number[][]} within
 * @param {number[]} wanted
 * @param {number[]} at their places, which decide between equal wishes
 * @param {number} depth the number of groups that all of them are in
 * @returns {number[]}
 */
function together(row, within, wanted, at, depth) {
  if (row.length < 2) return row;
  /** @type {Map<number, number[]>} */
  const groups = new Map();
  /** @type {{nodes: number[], wanted: number, at: number}[]} */
  const parts = [];
  for (const node of row) {
    const group = within[node][depth];
    const known = group === undefined ? undefined : groups.get(group);
    if (known) {
      known.push(node);
      continue;
    }
    const nodes = [node];
    if (group !== undefined) groups.set(group, nodes);
    parts.push({ nodes, wanted: wanted[node], at: at[node] });
  }
  for (const part of parts) {
    if (part.nodes.length < 2) continue;
    part.wanted = part.nodes.reduce((sum, node) => sum + wanted[node], 0) / part.nodes.length;
    part.nodes = together(part.nodes, within, wanted, at, depth + 1);
  }
  return parts.sort((a, b) => a.wanted - b.wanted || a.at - b.at).flatMap(({ nodes }) => nodes);
}

/** @param {number[]} numbers */
function median(numbers) {
  if (numbers.length === 0) return undefined;
  numbers.sort((a, b) => a - b);
  const middle = numbers.length >> 1;
  return numbers.length % 2 ? numbers[middle] : (numbers[middle - 1] + numbers[middle]) / 2;
}

/**
 * Returns the x-coordinate of each node's centre: close to its neighbours, within the limits of order and widths.
 * @param {number[][]} rows
 * @param {number[]} widths
 * @param {number[][]} up
 * @param {number[][]} down
 * @param {number} sweeps
 * @returns {Generator<void, number[]>}
 */
function* place(rows, widths, up, down, sweeps) {
  const centre = new Array(widths.length).fill(0);
  for (const row of rows) fit(row, row.map(() => 0), widths, centre);
  yield;
  for (let sweep = 0; sweep < sweeps; sweep++) {
    for (const row of sweep % 2 === 0 ? rows : [...rows].reverse()) {
      const wanted = row.map((node) => {
        const near = sweep < sweeps - 2 ? (sweep % 2 === 0 ? up : down)[node] : [...up[node], ...down[node]];
        return near.length === 0 ? centre[node] : near.reduce((sum, other) => sum + centre[other], 0) / near.length;
      });
      fit(row, wanted, widths, centre);
      yield;
    }
  }
  return centre;
}

/**
 * Places a row as close as possible to the wanted positions. After subtracting the minimum distances this is the
 * closest monotonic sequence, found by merging neighbours that decrease (pool adjacent violators).
 * @param {number[]} row
 * @param {number[]} wanted
 * @param {number[]} widths
 * @param {number[]} centre written to
 */
function fit(row, wanted, widths, centre) {
  /** @type {number[]} */
  const offset = [];
  for (let k = 0; k < row.length; k++) {
    offset[k] = k === 0 ? 0 : offset[k - 1] + (widths[row[k - 1]] + widths[row[k]]) / 2 + GAP_X;
  }
  /** @type {{sum: number, count: number}[]} */
  const pools = [];
  for (let k = 0; k < row.length; k++) {
    let pool = { sum: wanted[k] - offset[k], count: 1 };
    for (let last = pools[pools.length - 1]; last && last.sum / last.count > pool.sum / pool.count; last = pools[pools.length - 1]) {
      pool = { sum: pool.sum + last.sum, count: pool.count + last.count };
      pools.pop();
    }
    pools.push(pool);
  }
  let k = 0;
  for (const { sum, count } of pools) {
    for (let n = 0; n < count; n++, k++) centre[row[k]] = sum / count + offset[k];
  }
}
