/** Values of a launch as text, as `unshade run` takes them, and numbers from bytes. Without DOM. */

/**
 * A buffer as the form has it.
 * @typedef {object} BufferValue
 * @property {string} type the type of its elements: `f32`; `bytes` for a buffer without a type
 * @property {string} shape the number of elements, or sizes whose product it is: `16x16`
 * @property {'zeros' | 'range' | 'random' | 'values' | 'file'} fill
 * @property {string} text the seed, the numbers or the number of the file
 */

/** The types of elements of buffers. */
export const TYPES = ['f32', 'f64', 'i8', 'i16', 'i32', 'i64', 'u8', 'u16', 'u32', 'u64'];

/** @type {BufferValue} */
const PLAIN = { type: 'f32', shape: '32', fill: 'zeros', text: '' };

/**
 * Parses a buffer: `f32[32]=range`, `buf:64`.
 * @param {string} text
 * @returns {BufferValue}
 */
export function readBuffer(text) {
  const bytes = /^buf:(\d+)$/.exec(text);
  if (bytes) return { ...PLAIN, type: 'bytes', shape: bytes[1] };
  const match = /^(\w+)\[(\d*)\](?:=(.*))?$/.exec(text);
  if (!match) return PLAIN;
  const [, type, shape, content = ''] = match;
  if (content === 'range') return { type, shape, fill: 'range', text: '' };
  if (content.startsWith('random:')) return { type, shape, fill: 'random', text: content.slice(7) };
  if (content.startsWith('file:')) return { type, shape, fill: 'file', text: content.slice(5) };
  return content ? { type, shape, fill: 'values', text: content } : { type, shape, fill: 'zeros', text: '' };
}

/**
 * Returns the sizes of a shape, or null if it has none.
 * @param {string} shape
 * @returns {number[] | null}
 */
export function sizesOf(shape) {
  const words = shape.trim().split(/\s*[x×*,]\s*/i);
  const sizes = words.map(Number);
  return words.every((word) => /^\d{1,10}$/.test(word)) && sizes.length <= 4 ? sizes : null;
}

/**
 * Writes a buffer.
 * @param {BufferValue} value
 * @returns {{text: string} | {fault: string}}
 */
export function writeBuffer({ type, shape, fill, text }) {
  const sizes = shape.trim() === '' && fill === 'file' ? [] : sizesOf(shape);
  if (!sizes) return { fault: 'A shape is a number, or numbers such as 16x16.' };
  const count = sizes.length ? String(sizes.reduce((product, size) => product * size, 1)) : '';
  if (type === 'bytes') {
    if (fill === 'file') return { text: `file:${text}` };
    if (fill === 'zeros') return { text: `buf:${count}` };
    type = 'u8';
  }
  const start = `${type}[${count}]`;
  switch (fill) {
    case 'zeros': return { text: start };
    case 'range': return { text: `${start}=range` };
    case 'random': return /^\d{1,18}$/.test(text.trim()) ? { text: `${start}=random:${text.trim()}` } : { fault: 'A seed is a number.' };
    case 'file': return text ? { text: `${start}=file:${text}` } : { fault: 'Choose a file.' };
    default: {
      const numbers = text.trim().split(/[\s,]+/).filter(Boolean);
      return numbers.length ? { text: `${start}=${numbers.join(',')}` } : { fault: 'Enter numbers, separated by spaces or commas.' };
    }
  }
}

/**
 * Returns bytes from their digits.
 * @param {string} digits
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function bytesOf(digits) {
  const bytes = new Uint8Array(digits.length >> 1);
  for (let index = 0; index < bytes.length; index++) bytes[index] = parseInt(digits.slice(index * 2, index * 2 + 2), 16);
  return bytes;
}

/**
 * Returns the number of bytes of an element.
 * @param {string} type
 */
export function sizeOf(type) {
  return Number(type.slice(1)) / 8 || 1;
}

/**
 * Reads the number at an offset.
 * @param {DataView} view
 * @param {string} type
 * @param {number} at
 * @returns {number | bigint}
 */
export function numberAt(view, type, at) {
  switch (type) {
    case 'f32': return view.getFloat32(at, true);
    case 'f64': return view.getFloat64(at, true);
    case 'i8': return view.getInt8(at);
    case 'i16': return view.getInt16(at, true);
    case 'i32': return view.getInt32(at, true);
    case 'i64': return view.getBigInt64(at, true);
    case 'u16': return view.getUint16(at, true);
    case 'u32': return view.getUint32(at, true);
    case 'u64': return view.getBigUint64(at, true);
    default: return view.getUint8(at);
  }
}

/**
 * Formats a number with the digits that its type has.
 * @param {number | bigint} number
 * @param {string} type
 */
export function shown(number, type) {
  if (typeof number === 'bigint' || type[0] !== 'f') return String(number);
  if (!Number.isFinite(number)) return Number.isNaN(number) ? 'nan' : number > 0 ? 'inf' : '-inf';
  return type === 'f32' ? String(Number(number.toPrecision(7))) : String(number);
}

/**
 * Returns what the bits of a register are: a small integer, or the float of 32 bits; an empty text for other values.
 * @param {string} text such as `0x3f800000`
 */
export function readings(text) {
  if (/^0x[0-9a-f]+$/.test(text) && text.length !== 10) return BigInt(text) < 1n << 20n ? String(BigInt(text)) : '';
  if (!/^0x[0-9a-f]{8}$/.test(text)) return '';
  const view = new DataView(new ArrayBuffer(4));
  view.setUint32(0, Number(text));
  const float = shown(view.getFloat32(0), 'f32');
  const integer = view.getInt32(0);
  return Math.abs(integer) < 1 << 20 ? String(integer) : float;
}

/** Formats of pictures: a name, the bytes of a pixel, and what makes red, green, blue and alpha of a place. */
export const PICTURES = [
  { name: 'grey, scaled', type: '', channels: 1 },
  { name: 'grey, 0 to 1', type: '', channels: 1 },
  { name: 'rgba, 0 to 1', type: '', channels: 4 },
  { name: 'rgba, bytes', type: 'u8', channels: 4 },
];

/**
 * Returns the pixels of a picture.
 * @param {Uint8Array<ArrayBuffer>} bytes
 * @param {string} type of the buffer's elements
 * @param {number} format the index in `PICTURES`
 * @param {number} width
 * @returns {{width: number, height: number, data: Uint8ClampedArray<ArrayBuffer>} | null} null if there are none
 */
export function pixels(bytes, type, format, width) {
  const picture = PICTURES[format];
  const kind = picture.type || type;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const step = sizeOf(kind);
  const count = Math.floor(bytes.length / step / picture.channels);
  const height = Math.min(4096, Math.ceil(count / width));
  if (count === 0 || width < 1 || width > 4096) return null;
  const at = (/** @type {number} */ index) => Number(numberAt(view, kind, index * step));
  let [low, high] = [0, kind === 'u8' && format !== 0 ? 255 : 1];
  if (format === 0) {
    [low, high] = [Infinity, -Infinity];
    for (let index = 0; index < count; index++) {
      const number = at(index);
      if (Number.isFinite(number)) [low, high] = [Math.min(low, number), Math.max(high, number)];
    }
    if (!(high > low)) high = low + 1;
  }
  const data = new Uint8ClampedArray(width * height * 4);
  for (let pixel = 0; pixel < Math.min(count, width * height); pixel++) {
    const channel = (/** @type {number} */ index) => (at(pixel * picture.channels + index) - low) / (high - low) * 255;
    const grey = channel(0);
    data.set(picture.channels === 4 ? [grey, channel(1), channel(2), channel(3)] : [grey, grey, grey, 255], pixel * 4);
  }
  return { width, height, data };
}
