/**
 * The data block of a report: answers in blocks that are compressed on their own, each a line in base64. The first is the
 * index. A block is unpacked when an answer in it is needed. (`crates/unshade/src/query/report/archive.rs` writes them.)
 */

/** @typedef {import('./protocol.js').Line} Line */
/**
 * @typedef {object} Index
 * @property {any[]} files
 * @property {string[]} kinds of tokens
 * @property {[key: string, size: number][][]} blocks the keys in each block, with the sizes of their entries
 * @property {any[]} findings about the report itself
 */

/** Number of unpacked blocks, and of answers, that are kept. */
const KEPT = 12;
/** Bits of a token's kind. */
const KIND = 0x3f;
const IS_DEFINITION = 0x80;
const IS_REFERENCE = 0x40;
const LINE_END = 0x3f;

const decoder = new TextDecoder();

export class Archive {
  /**
   * @param {string[]} packed the blocks
   * @param {Index} index
   */
  constructor(packed, index) {
    this.packed = packed;
    this.index = index;
    /** @type {Map<string, {block: number, start: number, size: number}>} */
    this.entries = new Map();
    index.blocks.forEach((keys, block) => {
      let start = 0;
      for (const [key, size] of keys) {
        this.entries.set(key, { block, start, size });
        start += size;
      }
    });
    /** @type {Map<number, Promise<Uint8Array>>} */
    this.blocks = new Map();
    /** @type {Map<string, any>} */
    this.answers = new Map();
  }

  /**
   * Opens the text of a data block.
   * @param {string} text
   */
  static async open(text) {
    const [index, ...packed] = text.trim().split('\n');
    return new Archive(packed, JSON.parse(decoder.decode(await unpacked(index))));
  }

  /** @param {string} key */
  has(key) {
    return this.entries.has(key);
  }

  /**
   * Returns the bytes of an entry.
   * @param {string} key
   * @returns {Promise<Uint8Array | undefined>}
   */
  async bytes(key) {
    const entry = this.entries.get(key);
    if (!entry) return undefined;
    const block = this.blocks.get(entry.block) ?? unpacked(this.packed[entry.block]);
    keep(this.blocks, entry.block, block);
    return (await block).subarray(entry.start, entry.start + entry.size);
  }

  /**
   * Returns an answer, if there is one.
   * @param {string} key
   * @returns {Promise<any>}
   */
  async answer(key) {
    const kept = this.answers.get(key);
    if (kept) return kept;
    const bytes = await this.bytes(key);
    if (!bytes) return undefined;
    const hasLines = key.startsWith('listing ') || key.startsWith('graph ');
    const answer = hasLines ? withLines(bytes, this.index.kinds) : JSON.parse(decoder.decode(bytes));
    keep(this.answers, key, answer);
    return answer;
  }
}

/**
 * Keeps a value as the latest, and drops the oldest if there are too many.
 * @template K, V
 * @param {Map<K, V>} map
 * @param {K} key
 * @param {V} value
 */
function keep(map, key, value) {
  map.delete(key);
  map.set(key, value);
  for (const old of map.keys()) {
    if (map.size <= KEPT) break;
    map.delete(old);
  }
}

/**
 * @param {string} line
 * @returns {Promise<Uint8Array>}
 */
async function unpacked(line) {
  const bytes = Uint8Array.from(atob(line), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Reads numbers of seven bits a byte. */
class Numbers {
  /** @param {Uint8Array} bytes */
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  next() {
    let number = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.bytes[this.at++];
      number += (byte & 0x7f) * scale;
      if (byte < 0x80 || byte === undefined) return number;
    }
  }

  /** A difference, whose sign is the lowest bit. */
  difference() {
    const number = this.next();
    return number % 2 ? -(number + 1) / 2 : number / 2;
  }
}

/**
 * Unpacks an answer and its lines: of a listing all, of a graph those of each block.
 * @param {Uint8Array} bytes
 * @param {string[]} kinds
 */
export function withLines(bytes, kinds) {
  const sizes = new Numbers(bytes);
  const lengths = [sizes.next(), sizes.next(), sizes.next(), sizes.next(), sizes.next()];
  let { at } = sizes;
  const [json, kindBytes, texts, links, ranges] = lengths.map((length) => bytes.subarray(at, at += length));
  const answer = JSON.parse(decoder.decode(json));
  if (answer.error) return answer;
  const lines = linesOf(kindBytes, decoder.decode(texts).split('\n'), new Numbers(links), new Numbers(ranges), kinds);
  if (!answer.blocks) return { ...answer, lines };
  const { counts, ...graph } = answer;
  let line = 0;
  return { ...graph, blocks: graph.blocks.map((/** @type {any} */ block, /** @type {number} */ k) => ({ ...block, lines: lines.slice(line, line += counts[k]) })) };
}

/**
 * @param {Uint8Array} tokens
 * @param {string[]} texts
 * @param {Numbers} links
 * @param {Numbers} ranges
 * @param {string[]} kinds
 */
function linesOf(tokens, texts, links, ranges, kinds) {
  /** @type {Line[]} */
  const lines = [];
  /** @type {Line} */
  let line = { tokens: [] };
  let [text, link, end] = [0, 0, 0];
  for (const token of tokens) {
    if (token === LINE_END) {
      const all = Array.from({ length: ranges.next() }, () => {
        const start = end + ranges.difference();
        end = start + ranges.next();
        return /** @type {[number, number]} */ ([start, end]);
      });
      if (all.length > 0) [line.range] = all;
      if (all.length > 1) line.also = all.slice(1);
      lines.push(line);
      line = { tokens: [] };
      continue;
    }
    const kind = kinds[token & KIND];
    if (token & (IS_DEFINITION | IS_REFERENCE)) {
      link += links.difference();
      line.tokens.push([kind, texts[text++], token & IS_DEFINITION ? -link - 1 : link]);
    } else {
      line.tokens.push([kind, texts[text++]]);
    }
  }
  return lines;
}
