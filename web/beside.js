/** Reads files next to the scripts of workers, which may wait for them. */

/**
 * @param {string} name
 * @returns {Uint8Array | undefined}
 */
export function readBeside(name) {
  const request = new XMLHttpRequest();
  request.open('GET', new URL(name, import.meta.url), false);
  request.responseType = 'arraybuffer';
  try {
    request.send();
  } catch {
    return undefined;
  }
  return request.status === 200 ? new Uint8Array(request.response) : undefined;
}
