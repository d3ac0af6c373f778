/**
 * Search in names, listings, sources and bytes. Each request has a time budget and returns a cursor to continue, so
 * that results stream, the page stays responsive and a search can be stopped at any time.
 */

import { count, h, plural } from './dom.js';
import { modal } from './keys.js';
import { aborted, problem, RowBox } from './rows.js';

/** @typedef {import('./protocol.js').Match} Match */

const SCOPES = /** @type {const} */ ([
  ['names', 'Names', 'Part of a name'],
  ['listings', 'Listings', 'Text of the disassembly'],
  ['sources', 'Sources', 'Text of embedded sources'],
  ['bytes', 'Bytes', 'Hex digits (de c0 17 0b, ?? is any byte), or text in quotes'],
]);
/** Milliseconds per request. */
const BUDGET = 60;
/** Maximum number of matches. */
const MAX_MATCHES = 5000;

/** The last search, restored when the dialog opens. */
const last = { scope: 'listings', text: '', regex: false };

/**
 * @param {object} options
 * @param {import('./transport.js').Transport} options.api
 * @param {number} options.file
 * @param {(match: Match) => void} options.onchoose
 */
export function openSearch({ api, file, onchoose }) {
  /** @type {Match[]} */
  let matches = [];
  let controller = new AbortController();

  const input = h('input', { type: 'search', class: 'field', 'aria-label': 'Search for', spellcheck: false, autocomplete: 'off', value: last.text });
  const regex = h('input', { type: 'checkbox', checked: last.regex });
  const stop = h('button', { type: 'button', class: 'quiet', hidden: true, onclick: () => controller.abort() }, 'Stop');
  const bar = h('progress', { max: 1, value: 0, 'aria-label': 'Searched' });
  const status = h('span', { class: 'muted', role: 'status' });
  const problemHost = h('div');
  const scopes = SCOPES.map(([value, label, hint]) => h('label', { class: 'choice' },
    h('input', { type: 'radio', name: 'scope', value, checked: value === last.scope, onchange: () => {
      last.scope = value;
      input.placeholder = hint;
      if (input.value) run();
    } }), label));
  input.placeholder = SCOPES.find(([value]) => value === last.scope)?.[2] ?? '';

  const box = new RowBox({
    label: 'Results',
    className: 'results',
    create: () => h('div', { class: 'row result' }, h('span', { class: 'result-where' }), h('span', { class: 'result-text mono' })),
    render: (row, index) => {
      const match = matches[index];
      const [where, text] = row.children;
      where.textContent = match.line !== undefined ? `#${match.item ?? 0}:${match.line + 1}`
        : match.range && match.item === undefined ? `0x${match.range[0].toString(16)}` : match.item !== undefined ? `#${match.item}` : '';
      const from = match.column ?? -1;
      if (from >= 0 && match.length) {
        text.replaceChildren(match.text.slice(0, from), h('mark', {}, match.text.slice(from, from + match.length)), match.text.slice(from + match.length));
      } else {
        text.textContent = match.text;
      }
    },
    onchoose: (index) => {
      dialog.close();
      onchoose(matches[index]);
    },
  });

  async function run() {
    controller.abort();
    controller = new AbortController();
    const { signal } = controller;
    last.text = input.value;
    last.regex = regex.checked;
    matches = [];
    box.reset(0);
    problemHost.replaceChildren();
    status.textContent = '';
    if (!input.value.trim()) return;
    stop.hidden = false;
    bar.value = 0;
    bar.classList.add('running');
    let searched = 0;
    let total = 0;
    let state = '';
    try {
      /** @type {string | null | undefined} */
      let cursor;
      do {
        /** @type {import('./protocol.js').SearchPart} */
        const part = await api.call({ query: 'search', file, scope: last.scope, text: input.value, regex: last.regex, budget_ms: BUDGET, limit: 500, ...(cursor ? { cursor } : {}) }, signal);
        if (signal.aborted) return;
        ({ cursor, searched, total } = part);
        if (part.matches.length > 0) {
          matches.push(...part.matches);
          box.reset(matches.length, true);
        }
        bar.max = total || 1;
        bar.value = searched;
        status.textContent = `${count(matches.length)} found · ${count(searched)} of ${count(total)}${last.scope === 'bytes' ? ' bytes' : ''}`;
      } while (cursor && matches.length < MAX_MATCHES);
      state = matches.length >= MAX_MATCHES ? '; refine the search to see others' : '';
    } catch (error) {
      if (!aborted(error)) {
        problemHost.replaceChildren(problem(error));
        return;
      }
      if (controller.signal !== signal) return;
      state = `, stopped after ${count(searched)} of ${count(total)}`;
    } finally {
      if (controller.signal === signal) {
        stop.hidden = true;
        bar.classList.remove('running');
      }
    }
    status.textContent = matches.length === 0 ? `No matches${state}.` : `${plural(matches.length, 'match', 'matches')}${state}.`;
    // Start at the first row, unless the user already moved.
    if (matches.length > 0 && box.active < 0) box.setActive(0);
  }

  const form = h('form', { class: 'search-form', onsubmit: (/** @type {Event} */ event) => {
    event.preventDefault();
    run();
  } },
  h('div', { class: 'search-line' }, input, h('button', { type: 'submit', class: 'primary' }, 'Find'), stop),
  h('div', { class: 'search-line', role: 'radiogroup', 'aria-label': 'Where' }, ...scopes, h('label', { class: 'choice' }, regex, 'Regular expression')));
  input.addEventListener('keydown', (event) => {
    if (event.key === 'ArrowDown' && matches.length > 0) {
      event.preventDefault();
      box.element.focus();
      if (box.active < 0) box.move(1);
    }
  });

  const dialog = modal('Search all', form, h('div', { class: 'search-state' }, status, bar), problemHost, box.element);
  dialog.classList.add('search', 'wide');
  dialog.addEventListener('close', () => controller.abort());
  dialog.showModal();
  input.focus();
  input.select();
  if (input.value) run();
}
