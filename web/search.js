/**
 * The search dialog: names, listings, sources and bytes of a file. Results appear while the search runs (`steps.js`),
 * grouped by function (`found.js`), and it can be stopped at any time.
 */

import { count, h, plural } from './dom.js';
import { Found } from './found.js';
import { modal } from './keys.js';
import { aborted, problem, RowBox } from './rows.js';

/** @typedef {import('./protocol.js').Match} Match */

/** Scopes with a hint, and what is counted. */
const SCOPES = /** @type {const} */ ([
  ['names', 'Names', 'Part of a name', ['name', 'names']],
  ['listings', 'Listings', 'Text of the disassembly', ['listing', 'listings']],
  ['sources', 'Sources', 'Text of embedded sources', ['item', 'items']],
  ['bytes', 'Bytes', 'Hex digits (de c0 17 0b, ?? is any byte), or text in quotes', ['byte', 'bytes']],
]);
/** Lines shown before and after a match. */
const CONTEXT = 1;
/** Maximum number of matches. */
const MAX_MATCHES = 5000;

/** The last search, with its results, restored when the dialog opens. */
const last = {
  scope: 'listings', text: '', regex: false, exact: false, file: -1, active: -1, status: '', found: new Found(),
};

/**
 * @param {object} options
 * @param {import('./transport.js').Transport} options.api
 * @param {number} options.file
 * @param {(match: Match) => void} options.onchoose
 */
export function openSearch({ api, file, onchoose }) {
  let { found } = last;
  let controller = new AbortController();

  const input = h('input', { type: 'search', class: 'field', 'aria-label': 'Search for', spellcheck: false, autocomplete: 'off', value: last.text });
  const regex = h('input', { type: 'checkbox', checked: last.regex });
  const exact = h('input', { type: 'checkbox', checked: last.exact });
  const stop = h('button', { type: 'button', class: 'quiet', hidden: true, onclick: () => controller.abort() }, 'Stop');
  const fold = h('button', { type: 'button', class: 'quiet', hidden: true, onclick: () => foldAll() }, 'Fold all');
  const bar = h('progress', { max: 1, value: 0, 'aria-label': 'Searched' });
  const status = h('span', { class: 'muted search-status', role: 'status' });
  const progress = h('span', { class: 'muted' });
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
    role: 'tree',
    className: 'results',
    create: () => h('div', { class: 'row result' }, h('span', { class: 'result-where' }), h('span', { class: 'result-text' }), h('span', { class: 'result-count' })),
    render,
    onchoose: choose,
    onmove: (index) => {
      // Lines around matches are passed over.
      const stop = found.stop(index, 1);
      if (stop !== index) box.setActive(stop);
    },
    onkey: (event, active) => {
      const row = found.rows[active];
      switch (event.key) {
        case 'ArrowDown': case 'j': go(found.stop(active + 1, 1)); return true;
        case 'ArrowUp': case 'k':
          if (active <= 0) input.focus();
          else go(found.stop(active - 1, -1));
          return true;
        case 'ArrowLeft':
          if (row?.kind === 'group' && row.group.isOpen) foldOne(row.group);
          else if (row && row.kind !== 'group' && row.group) go(found.indexOf(row.group));
          return true;
        case 'ArrowRight':
          if (row?.kind !== 'group') return false;
          if (row.group.isOpen) go(found.stop(active + 1, 1));
          else foldOne(row.group);
          return true;
        default: return false;
      }
    },
  });

  /** @param {number} index */
  function go(index) {
    if (index >= 0 && index !== box.active) box.setActive(index);
  }

  /** @param {import('./found.js').Group} group */
  function foldOne(group) {
    found.toggle(group);
    box.reset(found.rows.length, true);
    box.setActive(found.indexOf(group));
    showFold();
  }

  function foldAll() {
    found.toggleAll(!found.groups.some((group) => group.isOpen));
    box.reset(found.rows.length);
    showFold();
  }

  function showFold() {
    fold.hidden = found.groups.length < 2;
    fold.textContent = found.groups.some((group) => group.isOpen) ? 'Fold all' : 'Unfold all';
  }

  /** @param {HTMLElement} element @param {number} index */
  function render(element, index) {
    const row = found.rows[index];
    const [where, text, number] = /** @type {HTMLElement[]} */ ([...element.children]);
    element.className = `row result result-${row.kind}`;
    element.classList.toggle('active', index === box.active);
    element.removeAttribute('aria-expanded');
    element.setAttribute('aria-level', '2');
    number.textContent = '';
    text.className = 'result-text mono';
    switch (row.kind) {
      case 'group': {
        const { group } = row;
        where.textContent = group.isOpen ? '▾' : '▸';
        text.replaceChildren(h('span', { class: 'result-name' }, group.name || `item ${group.first.item ?? 0}`), ' ', h('span', { class: 'muted' }, titleOf(group)));
        number.textContent = count(group.count);
        element.setAttribute('aria-expanded', String(group.isOpen));
        element.setAttribute('aria-level', '1');
        break;
      }
      case 'match': {
        const { match } = row;
        where.textContent = match.line !== undefined ? count(match.line + 1)
          : match.range && match.item === undefined ? `0x${match.range[0].toString(16)}` : match.item !== undefined ? `#${match.item}` : '';
        mark(text, match, last.scope === 'names' && !last.regex ? last.text : undefined);
        element.setAttribute('aria-level', row.group ? '2' : '1');
        break;
      }
      case 'context':
        where.textContent = count(row.line + 1);
        text.textContent = row.text;
        break;
      default:
        where.textContent = '⋯';
        text.textContent = '';
    }
  }

  /** @param {number} index */
  function choose(index) {
    const row = found.rows[index];
    if (!row || row.kind === 'gap') return;
    if (row.kind === 'group') return foldOne(row.group);
    if (row.kind === 'context') return open({ ...row.group.first, line: row.line, range: undefined });
    open(row.match);
  }

  /** @param {Match} match */
  function open(match) {
    dialog.close();
    onchoose(match);
  }

  async function run() {
    controller.abort();
    controller = new AbortController();
    const { signal } = controller;
    found = new Found();
    Object.assign(last, { text: input.value, regex: regex.checked, exact: exact.checked, file: -1, active: -1, found });
    box.reset(0);
    problemHost.replaceChildren();
    status.textContent = '';
    progress.textContent = '';
    showFold();
    if (!input.value.trim()) return;
    stop.hidden = false;
    bar.value = 0;
    bar.classList.add('running');
    const started = performance.now();
    const [one, many] = SCOPES.find(([value]) => value === last.scope)?.[3] ?? ['item', 'items'];
    let searched = 0;
    let total = 0;
    let missing = '';
    let end = '';
    const seconds = () => (performance.now() - started) / 1000;
    const request = { query: 'search', file, scope: last.scope, text: last.text, regex: last.regex, case: last.exact, context: CONTEXT };
    try {
      await api.search(request, (part) => {
        if (signal.aborted) return false;
        ({ searched, total } = part);
        missing = /** @type {{missing?: string}} */ (part).missing ?? '';
        if (part.matches.length > 0) {
          found.add(part, MAX_MATCHES);
          box.reset(found.rows.length, true);
          showFold();
          // Start at the first match, unless the user already moved.
          if (box.active < 0) box.setActive(found.stop(found.groups.length ? 1 : 0, 1), 'stay');
        }
        bar.max = total || 1;
        bar.value = searched;
        progress.textContent = `${count(found.matches.length)} found · ${count(searched)} of ${count(total)} ${many}${rate(searched, seconds(), many)}`;
        return found.matches.length < MAX_MATCHES;
      }, signal);
    } catch (error) {
      if (!aborted(error)) {
        problemHost.replaceChildren(problem(error));
        return;
      }
      if (controller.signal !== signal) return;
      end = `stopped after ${count(searched)} of ${count(total)} ${many}`;
    } finally {
      if (controller.signal === signal) {
        stop.hidden = true;
        bar.classList.remove('running');
        progress.textContent = '';
      }
    }
    if (found.matches.length >= MAX_MATCHES && searched < total) end = `only the first are shown, from ${count(searched)} of ${count(total)} ${many}: make the text longer, or match case, to see others`;
    if (missing) end = [end, missing].filter(Boolean).join('; ');
    const where = found.groups.length > 1 ? ` in ${plural(found.groups.length, last.scope === 'sources' ? 'source' : 'function')}` : '';
    const within = `${plural(searched, one, many)}, ${seconds().toFixed(1)} s`;
    status.textContent = `${found.matches.length === 0 ? 'No matches' : plural(found.matches.length, 'match', 'matches') + where}${end ? `; ${end}` : ` (${within})`}.`;
    Object.assign(last, { file, status: status.textContent });
  }

  const form = h('form', { class: 'search-form', onsubmit: (/** @type {Event} */ event) => {
    event.preventDefault();
    run();
  } },
  h('div', { class: 'search-line' }, input, h('button', { type: 'submit', class: 'primary' }, 'Find'), stop),
  h('div', { class: 'search-line', role: 'radiogroup', 'aria-label': 'Where' }, ...scopes),
  h('div', { class: 'search-line' }, h('label', { class: 'choice' }, regex, 'Regular expression'), h('label', { class: 'choice' }, exact, 'Match case'), fold));
  input.addEventListener('keydown', (event) => {
    if (event.key === 'ArrowDown' && found.rows.length > 0) {
      event.preventDefault();
      box.element.focus();
      if (box.active < 0) go(found.stop(0, 1));
    }
  });

  const dialog = modal('Search all', form, h('div', { class: 'search-state' }, status, bar, progress), problemHost, box.element);
  dialog.classList.add('search', 'wide');
  dialog.addEventListener('close', () => {
    last.active = box.active;
    controller.abort();
  });
  dialog.showModal();
  input.focus();
  input.select();
  if (last.file === file && last.text) {
    // The same file: show the results of the last search again.
    box.reset(found.rows.length);
    if (last.active >= 0) box.setActive(last.active, 'center');
    status.textContent = last.status;
    showFold();
  } else if (input.value) {
    run();
  }
}

/**
 * What is known of a group besides its name.
 * @param {import('./found.js').Group} group
 */
function titleOf({ first, kind }) {
  const source = first.pane?.startsWith('source:') ? first.pane.slice('source:'.length) : '';
  return [kind, source, first.program > 0 ? `program ${first.program + 1}` : ''].filter(Boolean).join(' · ');
}

/**
 * Shows a line with its match marked.
 * @param {HTMLElement} node
 * @param {Match} match
 * @param {string} [text] to look for, if the match has no column
 */
function mark(node, match, text) {
  const from = match.at ?? match.column ?? (text ? match.text.toLowerCase().indexOf(text.toLowerCase()) : -1);
  const length = match.length ?? text?.length ?? 0;
  if (from < 0 || length === 0) {
    node.textContent = match.text;
    return;
  }
  node.replaceChildren(match.text.slice(0, from), h('mark', {}, match.text.slice(from, from + length)), match.text.slice(from + length));
}

/**
 * @param {number} searched
 * @param {number} seconds
 * @param {string} what
 */
function rate(searched, seconds, what) {
  if (seconds < 0.5) return '';
  const perSecond = searched / seconds;
  return what === 'bytes' ? ` · ${(perSecond / 1e6).toFixed(0)} MB/s` : ` · ${count(Math.round(perSecond))}/s`;
}
