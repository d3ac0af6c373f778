/**
 * The results of a search: matches grouped by the listing or source that they are in, as rows. A group has a heading with
 * the number of its matches, and can be folded. Lines around a match are rows of their own; where lines of two matches
 * overlap, each is there once.
 */

/** @typedef {import('./protocol.js').Match} Match */
/** @typedef {import('./protocol.js').SearchPart} Part */
/**
 * @typedef {object} Group
 * @property {Match} first
 * @property {string} name
 * @property {string} kind
 * @property {number} count
 * @property {boolean} isOpen
 * @property {Row[]} rows
 */
/**
 * @typedef {{kind: 'group', group: Group} | {kind: 'match', match: Match, group?: Group}
 *   | {kind: 'context', line: number, text: string, group: Group} | {kind: 'gap', group: Group}} Row
 */

export class Found {
  constructor() {
    /** @type {Match[]} */
    this.matches = [];
    /** @type {Group[]} */
    this.groups = [];
    /** @type {Row[]} */
    this.rows = [];
  }

  /**
   * Adds the results of a part, up to a number of matches.
   * @param {Part} part
   * @param {number} limit
   */
  add(part, limit) {
    for (const match of part.matches.slice(0, limit - this.matches.length)) {
      this.matches.push(match);
      if (match.line === undefined) {
        this.rows.push({ kind: 'match', match });
        continue;
      }
      let group = this.groups.at(-1);
      const { first } = group ?? {};
      if (!group || first?.program !== match.program || first?.item !== match.item || first?.pane !== match.pane) {
        const item = part.items?.find((one) => one.program === match.program && one.item === match.item);
        group = { first: match, name: item?.name ?? '', kind: item?.kind ?? '', count: 0, isOpen: true, rows: [] };
        this.groups.push(group);
        this.rows.push({ kind: 'group', group });
      }
      const had = group.rows.length;
      const kept = addLines(group, match, match.line);
      group.count++;
      if (group.isOpen) this.rows.splice(this.rows.length - (had - kept), Infinity, ...group.rows.slice(kept));
    }
  }

  /**
   * Folds or unfolds a group.
   * @param {Group} group
   */
  toggle(group) {
    const at = this.indexOf(group) + 1;
    if (group.isOpen) this.rows.splice(at, group.rows.length);
    else this.rows.splice(at, 0, ...group.rows);
    group.isOpen = !group.isOpen;
  }

  /** @param {boolean} isOpen */
  toggleAll(isOpen) {
    for (const group of this.groups) group.isOpen = isOpen;
    this.rows = this.groups.flatMap((group) => [/** @type {Row} */ ({ kind: 'group', group }), ...(isOpen ? group.rows : [])]);
  }

  /** @param {Group} group the row of its heading */
  indexOf(group) {
    return this.rows.findIndex((row) => row.kind === 'group' && row.group === group);
  }

  /**
   * Returns the nearest row that is a match or a heading.
   * @param {number} from
   * @param {1 | -1} by
   */
  stop(from, by) {
    const isStop = (/** @type {number} */ at) => ['group', 'match'].includes(this.rows[at]?.kind);
    for (let at = from; at >= 0 && at < this.rows.length; at += by) if (isStop(at)) return at;
    for (let at = from; at >= 0 && at < this.rows.length; at -= by) if (isStop(at)) return at;
    return -1;
  }
}

/**
 * Adds a match to a group, with the lines around it. Returns the number of rows that were kept: lines after the last match
 * may be the new match.
 *
 * @param {Group} group
 * @param {Match} match
 * @param {number} line
 */
function addLines(group, match, line) {
  const { rows } = group;
  for (let last = rows.at(-1); last?.kind === 'context' && last.line >= line; last = rows.at(-1)) rows.pop();
  const kept = rows.length;
  const { before = [], after = [] } = match;
  const last = rows.at(-1);
  const reached = last?.kind === 'context' ? last.line : last?.kind === 'match' ? last.match.line ?? 0 : -1;
  const from = line - before.length;
  if (last && from > reached + 1) rows.push({ kind: 'gap', group });
  before.forEach((text, k) => {
    if (from + k > reached) rows.push({ kind: 'context', line: from + k, text, group });
  });
  rows.push({ kind: 'match', match, group });
  after.forEach((text, k) => rows.push({ kind: 'context', line: line + 1 + k, text, group }));
  return kept;
}
