/**
 * The trace of a thread as a place that can be moved in both directions: values at a step, breakpoints, lines.
 *
 * A trace is fetched in windows; a window has the values before its first step, and what each step wrote. The state at a
 * step is computed from the nearest checkpoint. A fault is one more step, after which the thread has no others.
 */

/** @typedef {import('./protocol.js').Range} Range */
/** @typedef {import('./protocol.js').RunTrace} RunTrace */
/** @typedef {import('./protocol.js').RunFault} RunFault */
/** @typedef {{range?: Range, text: string, written: {name: string, value: string}[], accesses: import('./protocol.js').RunAccess[], fault?: string}} Step */

/** The distance of checkpoints. */
const CHECKPOINT = 64;

export class Trace {
  /**
   * @param {RunTrace} trace
   * @param {RunFault | undefined} fault the fault of this thread, if it has one
   * @param {(range: Range) => string} textOf returns the text of an instruction
   */
  constructor(trace, fault, textOf) {
    this.from = trace.from;
    /** The number of steps of the thread. */
    this.total = trace.total + (fault ? 1 : 0);
    this.fault = fault;
    this.places = trace.places.map(({ range, text }) => ({ range, text: text || (range ? textOf(range) : '') }));
    this.names = this.places.map(({ text }, index) => /^\s*(%[\w.$-]+)\s*=/.exec(text)?.[1] ?? `${short(text) || `#${index}`}`);
    /** @type {Step[]} */
    this.steps = trace.steps.map(({ at, written = [], accesses = [] }) => ({
      range: this.places[at].range, text: this.places[at].text,
      written: written.map(({ name, value }) => ({ name: this.nameOf(name), value })), accesses,
    }));
    if (fault && this.from + this.steps.length === trace.total) {
      this.steps.push({ range: fault.range, text: fault.range ? textOf(fault.range) : '', written: [], accesses: [], fault: fault.message });
    }
    /** @type {Map<string, string>[]} */
    this.checkpoints = [new Map(trace.start.map(({ name, value }) => [this.nameOf(name), value]))];
  }

  /** The number of the step after the last one of the window. */
  get end() {
    return this.from + this.steps.length;
  }

  /** @param {number} index */
  has(index) {
    return index >= this.from && index < this.end;
  }

  /**
   * Returns a step of the window.
   * @param {number} index
   * @returns {Step | undefined}
   */
  step(index) {
    return this.steps[index - this.from];
  }

  /**
   * Returns the values after a step.
   * @param {number} index
   * @returns {Map<string, string>}
   */
  stateAt(index) {
    const last = index - this.from;
    const wanted = Math.floor((last + 1) / CHECKPOINT);
    while (this.checkpoints.length <= wanted) {
      const start = (this.checkpoints.length - 1) * CHECKPOINT;
      this.checkpoints.push(this.#after(this.checkpoints[this.checkpoints.length - 1], start, start + CHECKPOINT));
    }
    return this.#after(this.checkpoints[wanted], wanted * CHECKPOINT, last + 1);
  }

  /**
   * @param {Map<string, string>} state
   * @param {number} from
   * @param {number} to
   */
  #after(state, from, to) {
    const after = new Map(state);
    for (const step of this.steps.slice(from, to)) for (const { name, value } of step.written) after.set(name, value);
    return after;
  }

  /**
   * Returns the name of a value: a register, or the name of an instruction's result in the listing.
   * @param {string} name
   */
  nameOf(name) {
    const match = /^@(\d+)(\.\d+)?$/.exec(name);
    return match ? `${this.names[Number(match[1])] ?? name}${match[2] ?? ''}` : name;
  }

  /**
   * Returns the next step in a direction that is accepted; null if the window has none.
   * @param {number} index
   * @param {1 | -1} by
   * @param {(step: Step) => boolean} accept
   */
  find(index, by, accept) {
    for (let at = index + by; this.has(at); at += by) {
      const step = this.step(at);
      if (step && accept(step)) return at;
    }
    return null;
  }
}

/**
 * Returns whether an instruction is one of those of some bytes.
 * @param {Range | undefined} instruction
 * @param {Range[]} ranges
 */
export function isIn(instruction, ranges) {
  // Records of bitcode begin within bytes: neighbours may share one.
  return instruction !== undefined && ranges.some(([start, end]) =>
    instruction[0] === start || instruction[0] > start && instruction[0] < end - 1);
}

/**
 * Returns the beginning of an instruction without its address: its operation and its destination.
 * @param {string} text
 */
function short(text) {
  return text.replace(/^\s*(\/\*[^*]*\*\/|[0-9a-f]{4,}:|\d+:)?\s*/, '').replace(/\s+/g, ' ').slice(0, 24);
}
