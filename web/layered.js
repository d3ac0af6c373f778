/**
 * Layered layout of a directed graph, after Sugiyama: back edges are reversed, each node is placed one layer below
 * its lowest predecessor, edges that span layers get a dummy node in each, layers are ordered by the medians of their
 * neighbours, and coordinates within a layer are the least-squares solution that keeps the order (isotonic
 * regression).
 */

/**
 * @typedef {object} Placed
 * @property {number[]} x left edge of each node
 * @property {number[]} y top edge of each node
 * @property {{points: [number, number][], edge: number, back: boolean}[]} routes from the bottom of a node to the top
 *   of another; back edges lead upwards
 * @property {number} width
 * @property {number} height
 */

const GAP_X = 28;
const GAP_Y = 44;
const SWEEPS = 8;

/**
 * @param {{width: number, height: number}[]} nodes
 * @param {{from: number, to: number}[]} edges
 * @returns {Placed}
 */
export function layout(nodes, edges) {
  const back = backEdges(nodes.length, edges);
  const layerOf = layers(nodes.length, edges, back);
  /** The widths of nodes, followed by those of dummy nodes. */
  const widths = nodes.map(({ width }) => width);
  const layer = [...layerOf];
  /** @type {{edge: number, chain: number[]}[]} */
  const chains = edges.map(({ from, to }, edge) => {
    // A back edge passes beside the layers of both its ends, so it gets a dummy node in these as well.
    const [first, last] = back[edge] ? [layerOf[to], layerOf[from]] : [layerOf[from] + 1, layerOf[to] - 1];
    const chain = [];
    for (let k = first; k <= last; k++) {
      chain.push(widths.length);
      widths.push(10);
      layer.push(k);
    }
    return { edge, chain: back[edge] ? chain.reverse() : chain };
  });
  /** @type {number[][]} */
  const up = widths.map(() => []);
  /** @type {number[][]} */
  const down = widths.map(() => []);
  for (const { edge, chain } of chains) {
    const path = back[edge] ? [...chain].reverse() : [edges[edge].from, ...chain, edges[edge].to];
    for (let k = 1; k < path.length; k++) {
      down[path[k - 1]].push(path[k]);
      up[path[k]].push(path[k - 1]);
    }
    if (back[edge] && chain.length) {
      // The dummy node beside a block stays close to it.
      up[chain[0]].push(...up[edges[edge].from]);
      down[chain[chain.length - 1]].push(...down[edges[edge].to]);
    }
  }
  const rows = order(layer, up, down);
  const centre = place(rows, widths, up, down);

  const depth = rows.map((row) => Math.max(0, ...row.map((node) => nodes[node]?.height ?? 0)));
  /** @type {number[]} */
  const top = [];
  let y = GAP_Y / 2;
  for (const [k, height] of depth.entries()) {
    top[k] = y;
    y += height + GAP_Y;
  }
  const left = Math.min(...centre.map((x, node) => x - widths[node] / 2)) - GAP_X;
  const right = Math.max(...centre.map((x, node) => x + widths[node] / 2)) + GAP_X;
  const x = nodes.map(({ width }, node) => centre[node] - width / 2 - left);
  const routes = chains.map(({ edge, chain }) => {
    /** @type {[number, number][]} */
    const points = [];
    for (const point of chain) {
      const head = top[layer[point]];
      const foot = head + depth[layer[point]];
      const at = centre[point] - left;
      points.push(...(back[edge] ? /** @type {[number, number][]} */ ([[at, foot], [at, head]]) : /** @type {[number, number][]} */ ([[at, head], [at, foot]])));
    }
    return { edge, points, back: back[edge] };
  });
  // Edges leave and enter a node side by side, sorted by where they lead to and come from.
  /** @type {(edge: number, ofFoot: boolean) => number} */
  const toward = (edge, ofFoot) => {
    const { points } = routes[edge];
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
  const heads = ends(false);
  for (const { edge, points } of routes) {
    const { from, to } = edges[edge];
    points.unshift([feet[edge], top[layerOf[from]] + nodes[from].height]);
    points.push([heads[edge], top[layerOf[to]]]);
  }
  return { x, y: nodes.map((_, node) => top[layerOf[node]]), routes, width: right - left, height: y };
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
 * @returns {number[][]}
 */
function order(layer, up, down) {
  /** @type {number[][]} */
  const rows = [];
  layer.forEach((k, node) => (rows[k] ??= []).push(node));
  for (let k = 0; k < rows.length; k++) rows[k] ??= [];
  const at = new Array(layer.length).fill(0);
  const number = (/** @type {number[]} */ row) => row.forEach((node, k) => { at[node] = k; });
  rows.forEach(number);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const neighbours = sweep % 2 === 0 ? up : down;
    const sequence = sweep % 2 === 0 ? rows : [...rows].reverse();
    for (const row of sequence) {
      const medians = new Map(row.map((node) => [node, median(neighbours[node].map((other) => at[other])) ?? at[node]]));
      row.sort((a, b) => /** @type {number} */ (medians.get(a)) - /** @type {number} */ (medians.get(b)) || at[a] - at[b]);
      number(row);
    }
  }
  return rows;
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
 * @returns {number[]}
 */
function place(rows, widths, up, down) {
  const centre = new Array(widths.length).fill(0);
  for (const row of rows) fit(row, row.map(() => 0), widths, centre);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    for (const row of sweep % 2 === 0 ? rows : [...rows].reverse()) {
      const wanted = row.map((node) => {
        const near = sweep < SWEEPS - 2 ? (sweep % 2 === 0 ? up : down)[node] : [...up[node], ...down[node]];
        return near.length === 0 ? centre[node] : near.reduce((sum, other) => sum + centre[other], 0) / near.length;
      });
      fit(row, wanted, widths, centre);
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
