// The line below the question box that says which settings the next question has; it opens the settings.
(() => {
  'use strict';

  let text = '';
  const line = document.createElement('button');
  line.type = 'button';
  line.id = 'asc-in-force';
  // The keyboard reaches the settings by their own button, a few steps earlier.
  line.tabIndex = -1;
  line.title = window.asclepiusSay('settings');
  line.addEventListener('click', () => document.getElementById('chat-settings-open-modal')?.click());

  // Chainlit replaces its question box.
  function place() {
    const box = document.getElementById('message-composer');
    if (text && box && line.previousSibling !== box) box.after(line);
  }

  new MutationObserver(place).observe(document.documentElement, { childList: true, subtree: true });
  window.addEventListener('message', (event) => {
    const given = event.source === window && event.data ? event.data.asclepius_in_force : undefined;
    if (typeof given !== 'string') return;
    text = given;
    line.textContent = given;
    place();
  });
})();
