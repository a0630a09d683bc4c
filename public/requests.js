// Answers equal requests of Chainlit's page with one request: it fetches the code of the references for each answer, and
// the list of conversations several times while it loads. Sends the requests that it begins with, each after the answer
// to the one before, all at once while its script is compiled. Keeps the page while the server can't be reached.
(() => {
  'use strict';

  const fetched = window.fetch.bind(window);
  const answers = new Map();
  // Until the reader does something, the list of conversations stays as it is.
  let untouched = true;
  for (const name of ['keydown', 'pointerdown']) addEventListener(name, () => (untouched = false), { capture: true, once: true });

  const language = navigator.language || 'en-US';
  const early = new Map();
  if (!window.asclepiusPlace().startsWith('/login')) {
    const code = '/public/elements/References.jsx';
    const answer = fetched(window.asclepiusRoot + code);
    answers.set(code, answer);
    window.asclepiusElement = answer.then((found) => (found.ok ? found.clone().text() : '')).catch(() => '');
    for (const path of ['/auth/config', '/user', `/project/translations?language=${language}&`, `/project/settings?language=${language}&`]) {
      early.set(path, fetched(window.asclepiusRoot + path, { credentials: 'include' }).catch(() => null));
    }
  }

  // Return the answer that came early, once; null where the page needs to ask for itself.
  async function earlyAnswer({ pathname, search }, method = 'GET') {
    const path = pathname.slice(window.asclepiusRoot.length) + search;
    const waiting = method === 'GET' && early.get(path);
    if (!waiting) return null;
    early.delete(path);
    const answer = await waiting;
    return answer && answer.ok ? answer : null;
  }

  // Return the key under which an answer may be reused, or null.
  function keyOf(address, options) {
    const path = address.pathname.slice(window.asclepiusRoot.length);
    if (path.startsWith('/public/elements/')) return path;
    // The list and the search ask for a different number of them.
    if (path === '/project/threads' && untouched) return `${path} ${String(options?.body).replace(/"first":\d+/, '')}`;
    return null;
  }

  async function answerTo(...request) {
    const [target, options] = request;
    if (target instanceof Request) return fetched(...request);
    const address = new URL(target, location.href);
    const key = keyOf(address, options);
    if (key === null) return (await earlyAnswer(address, options?.method)) || fetched(...request);
    if (!answers.has(key)) answers.set(key, fetched(...request));
    try {
      const answer = await answers.get(key);
      if (!answer.ok) answers.delete(key);
      return answer.clone();
    } catch (error) {
      answers.delete(key);
      throw error;
    }
  }

  // Chainlit takes any failed request for the user as signed out, and leaves the conversation for the login. Only a
  // refusal means that; otherwise the user is who it was.
  let user = null;
  async function userOf(...request) {
    const answer = await answerTo(...request).catch((error) => {
      if (!user) throw error;
      return null;
    });
    if (answer?.ok) user = answer.clone();
    return user && !(answer && [401, 403].includes(answer.status)) ? user.clone() : answer;
  }

  // When each listed conversation began, by its id: Chainlit gets the times and does not show them.
  const begun = (window.asclepiusBegun = new Map());
  window.fetch = async (...request) => {
    const isUser = String(request[0]).endsWith(`${window.asclepiusRoot}/user`);
    const answer = await (isUser ? userOf : answerTo)(...request);
    if (String(request[0]).endsWith('/project/threads') && answer.ok) {
      const list = await answer.clone().json();
      for (const thread of list.data || []) begun.set(thread.id, new Date(thread.createdAt));
    }
    return answer;
  };
})();
