/** The facts of a program or function: declaration, cards, tables. */

import { count, fill, h } from './dom.js';
import { tokenNodes } from './listing.js';

/** @typedef {import('./protocol.js').Facts} Facts */
/** @typedef {import('./protocol.js').Range} Range */

/**
 * @param {HTMLElement} host
 * @param {Facts} facts
 * @param {(range: Range) => void} onrange
 */
export function showFacts(host, facts, onrange) {
  fill(host,
    facts.declaration.length > 0 && h('pre', { class: 'declaration mono', tabIndex: 0, role: 'region', 'aria-label': 'Declaration' },
      ...facts.declaration.flatMap((line, index) => [...(index ? ['\n'] : []), ...tokenNodes(line.tokens)])),
    h('div', { class: 'cards' }, ...facts.cards.map((card) => showCard(card, onrange))),
    ...facts.tables.map((table) => showTable(table, onrange)),
    facts.findings.length > 0 && showFindings(facts.findings, (offset) => onrange([offset, offset + 1])));
}

/**
 * @param {import('./protocol.js').Card} card
 * @param {(range: Range) => void} onrange
 */
function showCard(card, onrange) {
  return h('section', { class: 'card' }, h('h3', {}, card.title),
    h('dl', {}, ...card.rows.flatMap((fact) => [
      h('dt', {}, fact.label),
      h('dd', { class: fact.state ? `state-${fact.state}` : '' }, rangeButton(fact.value, fact.range, onrange)),
    ])));
}

/**
 * @param {import('./protocol.js').Table} table
 * @param {(range: Range) => void} onrange
 */
function showTable(table, onrange) {
  return h('section', { class: 'table' }, h('h3', {}, table.title),
    h('div', { class: 'table-scroll', tabIndex: 0, role: 'region', 'aria-label': table.title },
      h('table', {},
        h('thead', {}, h('tr', {}, ...table.columns.map((column) => h('th', { scope: 'col' }, column)))),
        h('tbody', {}, ...table.rows.map((row) => h('tr', {}, ...row.cells.map((cell, index) =>
          h('td', {}, index === 0 ? rangeButton(cell, row.range, onrange) : cell))))))),
    table.more > 0 && h('p', { class: 'muted' }, `… ${count(table.more)} more rows`));
}

/**
 * Creates a link to the bytes of a value, if it has any.
 * @param {string} value
 * @param {Range | undefined} range
 * @param {(range: Range) => void} onrange
 */
function rangeButton(value, range, onrange) {
  if (!range) return value;
  return h('button', { type: 'button', class: 'value', title: `0x${range[0].toString(16)}, ${count(range[1] - range[0])} bytes`, onclick: () => onrange(range) }, value);
}

/** Marks of severities, in addition to colours. */
const SIGNS = /** @type {Record<string, string>} */ ({ error: '✕', warning: '!', note: 'i' });

/**
 * @param {import('./protocol.js').Finding[]} findings
 * @param {(offset: number) => void} onoffset
 */
export function showFindings(findings, onoffset) {
  return h('ul', { class: 'findings', 'aria-label': 'Diagnostics' }, ...findings.map((finding) => {
    const { offset } = finding;
    return h('li', { class: `finding ${finding.severity}` },
      h('span', { class: 'sign', 'aria-hidden': 'true' }, SIGNS[finding.severity] ?? 'i'),
      h('span', { class: 'finding-text' },
        h('span', { class: 'visually-hidden' }, `${finding.severity}: `),
        finding.path.length > 0 && h('span', { class: 'muted' }, `${finding.path.join(' › ')}: `),
        finding.message,
        finding.expected !== undefined && h('span', { class: 'muted' }, ` · expected ${finding.expected}`),
        finding.found !== undefined && h('span', { class: 'muted' }, ` · found ${finding.found}`),
        finding.hint !== undefined && h('span', { class: 'hint' }, ` ${finding.hint}`)),
      offset !== undefined && h('button', { type: 'button', class: 'value mono', onclick: () => onoffset(offset) }, `0x${offset.toString(16)}`));
  }));
}
