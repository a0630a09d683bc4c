// Additions to Chainlit's page: announcements, the line on the start page about loaded sources, suggestions, and a theme
// that follows the system. No library, no request to another origin.
(() => {
  'use strict';

  if (!localStorage.getItem('vite-ui-theme')) localStorage.setItem('vite-ui-theme', 'system');

  const api = `${window.asclepiusRoot}/api/v1`;
  const t = window.asclepiusSay;
  const make = window.asclepiusMake;

  // -- announcements ------------------------------------------------------------------------------------------------

  const live = make('div', { 'aria-live': 'polite', role: 'status', class: 'asc-hidden', id: 'asc-live' });
  document.addEventListener('DOMContentLoaded', () => document.body.append(live));
  function announce(text) {
    live.textContent = text;
  }

  // -- the start page -----------------------------------------------------------------------------------------------

  function loaded(status) {
    if (status.problem) return status.problem;
    const count = { guidelines: status.guidelines.length, drugs: (status.drugs && (status.drugs.drugs || status.drugs.records)) || 0 };
    const guidelines = t('guidelines', { count: count.guidelines });
    const drugs = t('drugs', { count: count.drugs });
    let there = t('nothing');
    if (count.guidelines && count.drugs) there = t('loadedBoth', { guidelines, drugs });
    else if (count.guidelines || count.drugs) there = t('loadedOne', { what: count.guidelines ? guidelines : drugs });
    if (status.loading) return `${there} ${status.loading}…`;
    if (status.demonstration) there += ` ${t('demoOnly')}`;
    return count.guidelines || count.drugs ? there : `${there} ${t('howToLoad')}`;
  }

  function statement(status) {
    return make('div', { id: 'asc-statement' },
      make('p', { class: 'asc-loaded' }, loaded(status), ' ', status.problem ? null : make('a', { href: '#loaded' }, t('seeLoaded'))),
      status.offline ? make('p', {}, t('offline')) : null,
      make('p', {}, t('purpose')));
  }

  function showStatement(screen, status, settled) {
    const fresh = statement(status);
    if (settled) fresh.dataset.settled = 'yes';
    const old = document.getElementById('asc-statement');
    if (old) old.replaceWith(fresh);
    else screen.append(fresh);
  }

  let asking = false;
  let known = null;
  async function fillStart() {
    const screen = document.getElementById('welcome-screen');
    if (!screen) return;
    const there = document.getElementById('asc-statement');
    if (there && there.dataset.settled) return;
    // Chainlit re-renders the screen while it connects; show the last known status until the next answer.
    if (!there && known) showStatement(screen, known, false);
    if (asking) return;
    asking = true;
    try {
      const answer = await fetch(`${api}/status`, { credentials: 'same-origin' });
      if (!answer.ok) return;
      known = await answer.json();
      const now = document.getElementById('welcome-screen');
      if (now) showStatement(now, known, !known.loading);
    } catch {
      // The server is unreachable, which Chainlit reports itself.
    } finally {
      setTimeout(() => {
        asking = false;
        fillStart();
      }, 1500);
    }
  }
  new MutationObserver(fillStart).observe(document.documentElement, { childList: true, subtree: true });

  // -- suggestions --------------------------------------------------------------------------------------------------

  // Change the sources that a conversation searches; return whether the server accepted it.
  async function change(thread, settings) {
    const request = { method: 'POST', credentials: 'same-origin', headers: { 'content-type': 'application/json' }, body: JSON.stringify(settings) };
    try {
      return (await fetch(`${api}/threads/${encodeURIComponent(thread)}/settings`, request)).ok;
    } catch {
      return false;
    }
  }

  // Put a question back into the box to be rephrased.
  function rephrase(question) {
    const box = document.getElementById('chat-input');
    if (!box) return;
    box.focus();
    window.asclepiusDraft.fill(box, question);
  }

  window.asclepius = {
    t,
    change,
    rephrase,
    announce,
    register: window.asclepiusSources.register,
    open: window.asclepiusSources.open,
    copy: window.asclepiusClipboard.answer
  };
})();
