/** The form of a launch: a row for each parameter, the sizes of the grid, and the limit of time. */

import { fill, h, size } from './dom.js';
import { readBuffer, TYPES, writeBuffer } from './runvalues.js';

/** @typedef {import('./protocol.js').Parameter} Parameter */
/** @typedef {import('./protocol.js').Parameters} Parameters */
/** @typedef {{values: Record<string, string>, grid: number[], block: number[], shared: number, count: number, seed: number, time_ms: number}} Launch */

/** What a buffer is filled with. */
const FILLS = { zeros: 'zeros', range: '0, 1, 2 …', random: 'random', values: 'values', file: 'a file' };

/** The groups of rows. */
const GROUPS = /** @type {Record<string, string>} */ ({ argument: 'Arguments', constant: 'Function constants', resource: 'Registers', input: 'Inputs' });

export class RunForm {
  /**
   * @param {object} options
   * @param {import('./transport.js').Transport} options.api
   * @param {() => void} options.onrun
   * @param {(name: string) => void} options.onkernel another kernel of the module was chosen
   */
  constructor({ api, onrun, onkernel }) {
    this.api = api;
    this.kernels = h('select', { 'aria-label': 'Kernel', onchange: () => onkernel(this.kernels.value) });
    this.kernelHost = h('label', { class: 'run-bar', hidden: true }, h('span', { class: 'muted' }, 'Kernel'), this.kernels);
    this.rowsHost = h('div', { class: 'run-rows' });
    this.fault = h('p', { class: 'run-fault', role: 'alert' });
    this.grid = sizesInput('Grid', 'blocks in x, y and z');
    this.block = sizesInput('Block', 'threads in x, y and z');
    this.shared = numberInput('Shared', 'bytes of dynamic shared memory per block', '0');
    this.count = numberInput('Count', 'vertices, primitives or pixels, 1 to 32', '4');
    this.seed = numberInput('Seed', 'what is not given is invented from this number', '0');
    this.time = numberInput('Seconds', 'the launch is stopped after this time', '10');
    this.button = h('button', { type: 'submit', class: 'primary' }, 'Run');
    this.stop = h('button', { type: 'button', class: 'quiet', hidden: true }, 'Stop');
    this.status = h('span', { class: 'muted', role: 'status' });
    this.element = h('form', { class: 'run-form', autocomplete: 'off', noValidate: true, onsubmit: (/** @type {Event} */ event) => {
      event.preventDefault();
      onrun();
    } }, this.kernelHost, this.rowsHost,
      h('div', { class: 'run-sizes' }, this.grid.label, this.block.label, this.shared.label, this.count.label, this.seed.label, this.time.label),
      this.fault, h('div', { class: 'run-go' }, this.button, this.stop, this.status));
    /** @type {Map<string, Row>} */
    this.rows = new Map();
    /** Why it can't be run; empty if it can. */
    this.refused = '';
  }

  /** @param {Parameters} parameters */
  show(parameters) {
    const { rows, kind, names, name } = parameters;
    this.kernelHost.hidden = names.length === 0;
    fill(this.kernels, ...names.map((other) => h('option', { value: other, selected: other === name }, other)));
    this.parameters = parameters;
    this.rows = new Map(rows.map((row) => [row.id, new Row(row, this.api)]));
    /** @type {Map<string, Parameter[]>} */
    const groups = new Map();
    for (const row of rows) groups.set(row.group, [...(groups.get(row.group) ?? []), row]);
    fill(this.rowsHost, ...[...groups].map(([group, members]) => h('fieldset', {}, h('legend', {}, GROUPS[group]),
      ...members.map((row) => this.rows.get(row.id)?.element))));
    if (rows.length === 0) fill(this.rowsHost, h('p', { class: 'muted' }, 'It takes no arguments.'));
    this.block.input.value = parameters.threads.join(', ');
    this.block.input.readOnly = !parameters.block;
    this.grid.label.hidden = !parameters.grid;
    this.block.label.hidden = !parameters.grid;
    this.shared.label.hidden = kind !== 'cubin';
    this.count.label.hidden = !parameters.count;
    this.seed.label.hidden = kind !== 'shader';
    this.time.input.max = String(parameters.most_ms / 1000);
    const refused = rows.find((row) => row.refused)?.refused;
    this.refused = refused ? `It can't be run here: ${refused}` : '';
    this.button.disabled = refused !== undefined;
    this.fault.textContent = this.refused;
  }

  /**
   * Reads the form. Marks a field that is wrong, and returns null.
   * @returns {Launch | null}
   */
  read() {
    this.clear();
    if (this.refused) return this.mark(undefined, this.refused);
    /** @type {Record<string, string>} */
    const values = {};
    for (const [id, row] of this.rows) {
      const value = row.read();
      if ('fault' in value) {
        this.mark(id, value.fault);
        return null;
      }
      if (value.text !== '') values[id] = value.text;
    }
    const [grid, block] = [this.grid, this.block].map(({ input }) => threeOf(input.value));
    if (!grid) return this.mark('grid', 'One to three numbers, such as 4, 4.');
    if (!block) return this.mark('block', 'One to three numbers, such as 8, 8.');
    const [shared, count, seed, seconds] = [this.shared, this.count, this.seed, this.time].map(({ input }) => Number(input.value));
    for (const [name, number] of /** @type {[string, number][]} */ ([['shared', shared], ['count', count], ['seed', seed], ['time', seconds]])) {
      if (!(number >= 0) || name !== 'time' && !Number.isSafeInteger(number)) return this.mark(name, 'A number, at least 0.');
    }
    const most = this.parameters?.most_ms ?? 60_000;
    if (seconds * 1000 > most || seconds <= 0) return this.mark('time', `More than 0 and at most ${most / 1000} seconds.`);
    return { values, grid, block, shared, count, seed, time_ms: Math.round(seconds * 1000) };
  }

  /** Removes the marks of faults. */
  clear() {
    this.fault.textContent = '';
    for (const field of this.element.querySelectorAll('[aria-invalid]')) field.removeAttribute('aria-invalid');
    for (const row of this.rows.values()) row.note('');
  }

  /**
   * Shows what is wrong with a value, at its field.
   * @param {string | undefined} id
   * @param {string} message
   * @returns {null}
   */
  mark(id, message) {
    const row = this.rows.get(id ?? '');
    const field = /** @type {Record<string, {input: HTMLInputElement} | undefined>} */ (
      { grid: this.grid, block: this.block, shared: this.shared, count: this.count, seed: this.seed, time: this.time })[id ?? '']?.input;
    if (row) row.note(message);
    else this.fault.textContent = message;
    const target = row?.field ?? field;
    target?.setAttribute('aria-invalid', 'true');
    target?.focus();
    return null;
  }

  /**
   * Shows whether a launch runs.
   * @param {AbortController | null} controller
   */
  running(controller) {
    this.button.disabled = controller !== null || Boolean(this.refused);
    this.stop.hidden = controller === null;
    this.stop.onclick = () => controller?.abort();
    this.status.textContent = controller ? 'Running…' : '';
  }
}

/** A row of the form. */
class Row {
  /**
   * @param {Parameter} parameter
   * @param {import('./transport.js').Transport} api
   */
  constructor(parameter, api) {
    const { id, name, ty, form, suggestion, optional, refused } = parameter;
    this.parameter = parameter;
    this.name = name;
    this.api = api;
    /** The number of the open file that is chosen. */
    this.fileNumber = '';
    const hint = `run-hint-${id.replace(/\W/g, '-')}`;
    this.hint = h('span', { class: 'run-hint', id: hint });
    /** The field that is focused if the value is wrong. @type {HTMLInputElement} */
    this.field = h('input', { class: 'field', type: 'text', spellcheck: false, 'aria-describedby': hint });
    /** @type {(HTMLElement | false)[]} */
    let controls = [];
    if (refused) controls = [h('span', { class: 'muted' }, refused)];
    else if (form === 'buffer') controls = this.#buffer(name, suggestion, optional);
    else {
      this.field.value = optional ? '' : suggestion;
      this.field.placeholder = optional ? `${parameter.group === 'constant' ? 'unset' : 'invented'}; such as ${suggestion}` : '';
      this.field.setAttribute('aria-label', name);
      controls = [this.field];
    }
    this.element = h('div', { class: 'run-row', role: 'group', 'aria-label': name },
      h('span', { class: 'run-name', title: name }, name), h('span', { class: 'run-type mono muted', title: ty }, ty),
      h('span', { class: 'run-controls' }, ...controls), this.hint);
  }

  /**
   * @param {string} name
   * @param {string} suggestion
   * @param {boolean} optional
   */
  #buffer(name, suggestion, optional) {
    const start = readBuffer(suggestion);
    const types = TYPES.includes(start.type) ? TYPES : [...TYPES, start.type];
    this.type = h('select', { 'aria-label': `Type of ${name}` }, ...types.map((type) => h('option', { value: type, selected: type === start.type }, type)));
    this.field.value = start.shape;
    this.field.classList.add('run-shape');
    this.field.setAttribute('aria-label', `Shape of ${name}`);
    this.field.title = 'The number of elements, or a shape such as 16x16';
    const fills = { ...(optional ? { none: 'invented' } : {}), ...FILLS };
    const first = optional ? 'none' : start.fill;
    this.fill = h('select', { 'aria-label': `Contents of ${name}`, onchange: () => this.#show() },
      ...Object.entries(fills).map(([value, label]) => h('option', { value, selected: value === first }, label)));
    this.text = h('input', { class: 'field', type: 'text', spellcheck: false, value: start.text });
    this.file = h('input', { type: 'file', class: 'run-file', 'aria-label': `File for ${name}`, onchange: () => this.#open() });
    this.#show();
    return [this.type, this.field, this.fill, this.text, this.file];
  }

  #show() {
    const fill = this.fill?.value ?? '';
    if (!this.text || !this.file || !this.type) return;
    this.text.hidden = fill !== 'random' && fill !== 'values';
    this.text.setAttribute('aria-label', `${fill === 'random' ? 'Seed' : 'Values'} of ${this.name}`);
    this.text.placeholder = fill === 'random' ? 'seed' : '1, 2, 3 (the last one is repeated)';
    if (fill === 'random' && !/^\d+$/.test(this.text.value)) this.text.value = '1';
    if (fill === 'values' && /^\d+$/.test(this.text.value)) this.text.value = '';
    this.file.hidden = fill !== 'file';
    this.type.hidden = fill === 'none';
    this.field.hidden = fill === 'none';
    this.note('');
  }

  async #open() {
    const file = this.file?.files?.[0];
    if (!file) return;
    this.fileNumber = '';
    this.note('Reading…');
    try {
      this.fileNumber = String(await this.api.open(file, file.name));
      this.field.value = '';
      this.note(`${file.name}, ${size(file.size)}`);
    } catch (error) {
      this.note(String(/** @type {any} */ (error)?.message ?? error));
    }
  }

  /** @param {string} text */
  note(text) {
    this.hint.textContent = text;
  }

  /** @returns {{text: string} | {fault: string}} */
  read() {
    const { form, optional } = this.parameter;
    if (form !== 'buffer') {
      const text = this.field.value.trim();
      return text || optional ? { text } : { fault: 'Enter a value.' };
    }
    const fill = /** @type {import('./runvalues.js').BufferValue['fill'] | 'none'} */ (this.fill?.value ?? 'none');
    if (fill === 'none') return { text: '' };
    const text = fill === 'file' ? this.fileNumber : this.text?.value ?? '';
    return writeBuffer({ type: this.type?.value ?? 'f32', shape: this.field.value, fill, text });
  }
}

/**
 * @param {string} name
 * @param {string} title
 * @param {string} value
 */
function numberInput(name, title, value) {
  const input = h('input', { class: 'field', type: 'text', inputMode: 'decimal', value, title, 'aria-label': `${name}: ${title}` });
  return { input, label: h('label', {}, h('span', { class: 'muted' }, name), input) };
}

/**
 * @param {string} name
 * @param {string} title
 */
function sizesInput(name, title) {
  return numberInput(name, title, '1');
}

/**
 * Returns three sizes; missing ones are 1.
 * @param {string} text
 */
export function threeOf(text) {
  const words = text.trim().split(/\s*[,x× ]\s*/).filter(Boolean);
  if (words.length < 1 || words.length > 3 || !words.every((word) => /^\d{1,10}$/.test(word))) return null;
  return [0, 1, 2].map((index) => Number(words[index] ?? 1));
}
