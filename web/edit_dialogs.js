/** The dialogs of edits: the menu, a name, bytes and fields, a text with its faults. */

import { fill, h, hex, plural } from './dom.js';
import { modal } from './keys.js';

/** @typedef {import('./protocol.js').Range} Range */
/** @typedef {import('./protocol.js').TextFault} TextFault */

/** What can be stripped, by format: the word of the edit, and how people call it. @type {Record<string, [string, string][]>} */
export const STRIPPED = {
  metallib: [['debug', 'debug information'], ['sources', 'sources'], ['reflection', 'reflection'], ['private', 'private metadata']],
  dxcontainer: [['debug', 'debug information'], ['reflection', 'reflection'], ['root_signature', 'the root signature'], ['private', 'private data']],
  bitcode: [['debug', 'debug information']],
};

/** @param {{label: string, hint: string, run: () => void}[]} choices */
export function chooseEdit(choices) {
  const dialog = modal('Edit', h('div', { class: 'downloads' }, ...choices.map(({ label, hint, run }) => h('button', {
    type: 'button', class: 'download', onclick: () => {
      dialog.close();
      run();
    },
  }, label, hint && h('span', { class: 'muted' }, `  ${hint}`)))),
  h('p', { class: 'hint' }, 'An edit makes a new version in memory. The file itself stays as it is.'));
  dialog.showModal();
  /** @type {HTMLElement | null} */ (dialog.querySelector('.download'))?.focus();
}

/**
 * @param {object} options
 * @param {string} options.title
 * @param {string} options.label
 * @param {string} options.value
 * @param {string} [options.placeholder]
 * @param {string} options.button
 * @param {{label: string, value: string}} [options.old] asks for another name as well
 * @param {(name: string, old: string) => Promise<Node | null>} options.apply returns why it is refused
 */
export function askName({ title, label, value, placeholder, button, old, apply }) {
  const field = (/** @type {string} */ label, /** @type {string} */ value, /** @type {string} */ placeholder = '') => h('input', {
    class: 'field', 'aria-label': label, value, placeholder, autocomplete: 'off', spellcheck: false, required: true,
  });
  const first = old ? field(old.label, old.value, old.label) : null;
  const input = field(label, value, placeholder ?? label);
  const refusal = h('div', { role: 'alert' });
  const dialog = modal(title, h('form', { class: 'search-line', onsubmit: async (/** @type {Event} */ event) => {
    event.preventDefault();
    const refused = await apply(input.value, first?.value ?? '');
    if (refused) fill(refusal, refused);
    else dialog.close();
  } }, first, input, h('button', { type: 'submit', class: 'primary' }, button)), refusal);
  dialog.showModal();
  (first && !first.value ? first : input).select();
}

/**
 * Returns the number that bytes are, the lowest first.
 * @param {string} digits
 */
function numberOf(digits) {
  const pairs = digits.match(/../g) ?? [];
  return pairs.reduceRight((sum, pair) => sum * 256n + BigInt(parseInt(pair, 16)), 0n);
}

/**
 * Returns the bytes of a number, or null if it does not fit.
 * @param {string} text
 * @param {number} count
 */
export function bytesOf(text, count) {
  if (!/^(0x[0-9a-f]+|-?\d+)$/i.test(text.trim())) return null;
  const number = BigInt(text.trim());
  const bits = BigInt(count * 8);
  if (number >= 1n << bits || number < -(1n << bits - 1n)) return null;
  const digits = BigInt.asUintN(count * 8, number).toString(16).padStart(count * 2, '0');
  return (digits.match(/../g) ?? []).reverse().join('');
}

/**
 * Asks for other bytes: as hex digits, and as a number if there are at most eight.
 * @param {object} options
 * @param {string} options.title
 * @param {Range} options.range
 * @param {string} options.bytes hex digits
 * @param {(bytes: string) => Promise<Node | null>} options.apply returns why it is refused
 */
export function askBytes({ title, range, bytes, apply }) {
  const count = bytes.length / 2;
  const spaced = (/** @type {string} */ digits) => (digits.match(/../g) ?? []).join(' ');
  const status = h('div', { class: 'hint', role: 'alert' });
  const digits = h('textarea', { class: 'field mono', 'aria-label': 'Bytes', rows: Math.min(8, Math.ceil(count / 16)), spellcheck: false, value: spaced(bytes), oninput: () => {
    const now = digits.value.replace(/\s/g, '');
    if (number && now.length === bytes.length) number.value = numberOf(now).toString();
  } });
  const number = count <= 8 ? h('input', { class: 'field', 'aria-label': 'Number, lowest byte first', value: numberOf(bytes).toString(), autocomplete: 'off', spellcheck: false, oninput: () => {
    const now = bytesOf(number?.value ?? '', count);
    status.textContent = now === null ? `No number of ${plural(count, 'byte')}: decimal, or hexadecimal after 0x.` : '';
    if (now !== null) digits.value = spaced(now);
  } }) : null;
  const dialog = modal('Change bytes', h('p', { class: 'hint' }, `${title}, ${hex(range[0])}–${hex(range[1])}`),
    h('form', { class: 'edit-form', onsubmit: async (/** @type {Event} */ event) => {
      event.preventDefault();
      const now = digits.value.replace(/\s/g, '');
      if (now.length !== bytes.length) {
        status.textContent = `Enter ${plural(count, 'byte')}, two hex digits each.`;
        return;
      }
      const refused = await apply(now);
      if (refused) fill(status, refused);
      else dialog.close();
    } }, number && h('label', {}, 'Number', number), h('label', {}, 'Bytes', digits), h('button', { type: 'submit', class: 'primary' }, 'Change')), status);
  dialog.showModal();
  (number ?? digits).select();
}

/**
 * Lets the reader change a text. Faults are listed below it; each leads to its place.
 * @param {object} options
 * @param {string} options.title
 * @param {string} options.text
 * @param {number} options.line the line where the caret is at first, from 0
 * @param {(text: string) => Promise<{faults: TextFault[], problem?: Node} | null>} options.apply returns why it is refused
 */
export function askText({ title, text, line, apply }) {
  const area = h('textarea', { class: 'edit-text mono', 'aria-label': title, spellcheck: false, wrap: 'off', value: text, onkeydown: (/** @type {KeyboardEvent} */ event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      submit();
    }
  } });
  const faultList = h('div', { class: 'edit-faults', role: 'alert' });
  const button = h('button', { type: 'submit', class: 'primary', title: 'Ctrl+Enter' }, 'Apply');
  let isChanged = false;
  area.addEventListener('input', () => {
    isChanged = true;
  });

  async function submit() {
    button.disabled = true;
    fill(faultList);
    const refused = await apply(area.value);
    button.disabled = false;
    if (!refused) {
      isChanged = false;
      return dialog.close();
    }
    fill(faultList, refused.problem ?? null, ...refused.faults.map((fault) => h('button', {
      type: 'button', class: 'edit-fault', onclick: () => select(area, fault.line - 1, fault.column - 1),
    }, h('span', { class: 'mono' }, `${fault.line}:${fault.column}`), ` ${fault.message}`)));
    if (refused.faults.length) select(area, refused.faults[0].line - 1, refused.faults[0].column - 1);
  }

  const dialog = modal(title, h('form', { class: 'edit-form', onsubmit: (/** @type {Event} */ event) => {
    event.preventDefault();
    submit();
  } }, area, faultList, h('div', { class: 'search-line' }, button, h('span', { class: 'hint' }, 'Ctrl+Enter applies. The result is a new version; the file stays as it is.'))));
  dialog.classList.add('wide', 'edit');
  // A click outside, or Esc, must not discard what was typed.
  dialog.addEventListener('cancel', (event) => {
    if (isChanged) event.preventDefault();
  });
  dialog.addEventListener('click', (event) => {
    if (event.target === dialog && isChanged) event.stopImmediatePropagation();
  }, { capture: true });
  dialog.showModal();
  select(area, line, 0);
}

/**
 * Selects a line of a text from a column on, and scrolls to it.
 * @param {HTMLTextAreaElement} area
 * @param {number} line
 * @param {number} column
 */
function select(area, line, column) {
  const lines = area.value.split('\n');
  const at = Math.max(0, Math.min(line, lines.length - 1));
  const start = lines.slice(0, at).reduce((sum, text) => sum + text.length + 1, 0);
  area.focus();
  area.setSelectionRange(start + Math.max(0, Math.min(column, lines[at].length)), start + lines[at].length);
  const height = area.scrollHeight / Math.max(1, lines.length);
  area.scrollTop = Math.max(0, at * height - area.clientHeight / 2);
}
