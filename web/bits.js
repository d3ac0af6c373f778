/** A tooltip that explains the bits of a machine instruction. */

import { byId, fill, h } from './dom.js';

/** @typedef {import('./protocol.js').Line} Line */

export class BitsTip {
  /** @param {import('./transport.js').Transport} api */
  constructor(api) {
    this.api = api;
    /** @type {Line | null} */
    this.line = null;
    this.element = h('div', { class: 'bits', role: 'tooltip', hidden: true });
    byId('reader').append(this.element);
  }

  /**
   * @param {{file: number, program: number, item?: number}} subject
   * @param {Line} line
   * @param {() => HTMLElement | undefined} row returns the line's row when the answer arrives, if it is still
   * visible
   */
  async show(subject, line, row) {
    if (!line.range) return;
    this.line = line;
    try {
      /** @type {import('./protocol.js').Bits} */
      const answer = await this.api.call({ query: 'bits', ...subject, offset: line.range[0] });
      const node = this.line === line ? row() : undefined;
      if (node?.isConnected) this.#place(answer, node);
    } catch {
      // Not an instruction, or the instruction set is unknown: nothing to show.
    }
  }

  hide() {
    this.line = null;
    this.element.hidden = true;
  }

  /**
   * @param {import('./protocol.js').Bits} answer
   * @param {HTMLElement} row
   */
  #place({ word, meaning, fields }, row) {
    const { element } = this;
    fill(element, h('p', { class: 'mono bits-word' }, word), meaning && h('p', {}, meaning),
      h('table', {}, h('tbody', {}, ...fields.map((field) => h('tr', {},
        h('td', { class: 'mono muted' }, field.bits), h('td', {}, field.name),
        h('td', { class: 'mono' }, field.value), h('td', { class: 'muted wrap' }, field.meaning))))));
    element.hidden = false;
    const at = row.getBoundingClientRect();
    const below = at.bottom + element.offsetHeight + 8 < window.innerHeight;
    element.style.left = `${Math.max(8, Math.min(at.left + 60, window.innerWidth - element.offsetWidth - 8))}px`;
    element.style.top = `${below ? at.bottom + 4 : Math.max(8, at.top - element.offsetHeight - 4)}px`;
  }
}
