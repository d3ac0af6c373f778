/**
 * Asks ahead: answers that will probably be wanted next, such as the listing of the next function in a list, are
 * requested while the user reads. Only the latest guesses are kept, each until it is used.
 */

/** @typedef {import('./transport.js').Transport} Transport */
/** @typedef {Record<string, unknown>} Request */

/** @param {Request} request */
function keyOf(request) {
  return JSON.stringify(Object.entries(request).filter(([, value]) => value !== undefined).sort(([one], [other]) => (one < other ? -1 : 1)));
}

/**
 * @param {Transport} api
 * @returns {Transport & {ahead: (requests: Request[]) => void}}
 */
export function withAhead(api) {
  /** @type {Map<string, {answer: Promise<any>, controller: AbortController}>} */
  const guesses = new Map();
  return {
    ...api,
    ahead(requests) {
      for (const { controller } of guesses.values()) controller.abort();
      guesses.clear();
      for (const request of requests) {
        const controller = new AbortController();
        const answer = api.call(request, controller.signal);
        // An error is reported if the answer is wanted.
        answer.catch(() => {});
        guesses.set(keyOf(request), { answer, controller });
      }
    },
    async call(request, signal) {
      const key = guesses.size ? keyOf(request) : '';
      const guess = guesses.get(key);
      if (!guess) return api.call(request, signal);
      guesses.delete(key);
      signal?.addEventListener('abort', () => guess.controller.abort(signal.reason), { once: true });
      return guess.answer;
    },
  };
}
