/**
 * The types of queries and answers, as documented in `docs/query.md`. Types only, no code.
 *
 * @typedef {[start: number, end: number]} Range byte offsets; the end is exclusive
 * @typedef {[kind: string, text: string] | [kind: string, text: string, link: number]} Token a link is n ≥ 0 for a
 *   reference to entity n of the listing, −n − 1 for its definition
 * @typedef {{tokens: Token[], range?: Range, also?: Range[]}} Line
 * @typedef {{message: string, offset?: number, expected?: string, found?: string, hint?: string, path?: string[]}} ErrorShape
 * @typedef {ErrorShape & {severity: string, rule: string, path: string[]}} Finding
 *
 * @typedef {{file: number, name: string, size: number, opened: boolean, error?: ErrorShape}} FileEntry
 *
 * @typedef {{program: number, path: string, format: string, format_name: string, size: number, offset?: number,
 *   space: Range, truncated: boolean, damaged: boolean, items: number, item_name: string, kinds: Record<string, number>,
 *   has_sources: boolean, panes: string[], extracts: string[], facts: {label: string, value: string}[],
 *   brief?: boolean, error?: ErrorShape}} Program details of a brief one must be requested
 * @typedef {{file: {file: number, name: string, size: number}, programs: Program[], findings: Finding[]}} Overview
 *
 * @typedef {{errors: number, warnings: number, findings: Finding[]}} Verdict
 *
 * @typedef {{key: string, label: string, align: 'left' | 'right'}} Column
 * @typedef {{item: number, name: string, mangled?: string, kind: string, cells: Record<string, string>, range?: Range}} Row
 * @typedef {{text?: string, regex?: boolean, kinds?: string[], has_source?: boolean}} Filter
 * @typedef {{total: number, matched: number, from: number, at?: number, columns: Column[], rows: Row[]}} Rows
 *
 * @typedef {{label: string, value: string, range?: Range, state?: 'good' | 'bad'}} Fact
 * @typedef {{title: string, rows: Fact[]}} Card
 * @typedef {{title: string, columns: string[], rows: {cells: string[], range?: Range}[], more: number}} Table
 * @typedef {{title: string, subtitle: string, declaration: Line[], cards: Card[], tables: Table[], panes: string[],
 *   extracts: string[], range?: Range, findings: Finding[]}} Facts
 *
 * @typedef {{total: number, from: number, lines: Line[], findings: Finding[], cut?: boolean}} ListingPart
 * @typedef {{line: number, column: number, length: number}} Place
 * @typedef {{definition?: Place, uses: Place[], more: number}} Links
 *
 * @typedef {{name: string, value: string, meaning: string, range: Range, children: number, index?: number}} OutlineNode
 *
 * @typedef {{program: number, item?: number, pane?: string, line?: number, column?: number, length?: number,
 *   text: string, range?: Range}} Match
 * @typedef {{matches: Match[], searched: number, total: number, cursor: string | null}} SearchPart
 *
 * @typedef {{label: string, lines: Line[], link?: number, reached: boolean, loop_depth: number, range?: Range}} Block
 * @typedef {{from: number, to: number, cause: string, value?: string, back: boolean}} Edge
 * @typedef {{functions: string[], blocks: Block[], edges: Edge[], loops: {header: number, depth: number, parent?: number}[]}} Graph
 *
 * @typedef {{same: boolean, changes: {kind: string, name: string, before?: string, after?: string}[],
 *   hunks: {left_from: number, right_from: number, lines: {side: 'both' | 'left' | 'right', tokens: Token[]}[]}[],
 *   more: number}} Comparison
 *
 * @typedef {{range: Range, word: string, text: string, meaning: string,
 *   fields: {bits: string, name: string, value: string, meaning: string}[]}} Bits
 */
export {};
