// Answers equal requests of Chainlit's page with one request: it fetches the code of the references for each answer, and
// the list of conversations several times while it loads.
(() => {
  'use strict';

  const fetched = window.fetch.bind(window);
  const answers = new Map();
  // Until the reader does something, the list of conversations stays as it is.
  let untouched = true;
  for (const name of ['keydown', 'pointerdown']) addEventListener(name, () => (untouched = false), { capture: true, once: true });

  // Return the key under which an answer may be reused, or null.
  function keyOf(address, options) {
    const path = address.pathname.slice(window.asclepiusRoot.length);
    if (path.startsWith('/public/elements/')) return path;
    // The list and the search ask for a different number of them.
    if (path === '/project/threads' && untouched) return `${path} ${String(options?.body).replace(/"first":\d+/, '')}`;
    return null;
  }

  window.fetch = async (...request) => {
    const [target, options] = request;
    const key = target instanceof Request ? null : keyOf(new URL(target, location.href), options);
    if (key === null) return fetched(...request);
    if (!answers.has(key)) answers.set(key, fetched(...request));
    try {
      const answer = await answers.get(key);
      if (!answer.ok) answers.delete(key);
      return answer.clone();
    } catch (error) {
      answers.delete(key);
      throw error;
    }
  };
})();
