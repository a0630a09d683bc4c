// Adds "Sign out everywhere" to Chainlit's account menu.
(() => {
  'use strict';

  async function logOutEverywhere() {
    await fetch(`${window.asclepiusRoot}/api/v1/logins`, { method: 'DELETE' });
    location.assign(`${window.asclepiusRoot}/login`);
  }

  function extend() {
    const one = document.querySelector('[role="menuitem"]:has(> .lucide-log-out):last-child');
    if (!one) return;
    const all = one.cloneNode(false);
    all.textContent = window.asclepiusSay('logOutEverywhere');
    all.addEventListener('click', logOutEverywhere);
    // The menu's own arrow keys reach only the entries that it knows.
    one.addEventListener('keydown', (event) => event.key === 'ArrowDown' && all.focus());
    all.addEventListener('keydown', (event) => {
      if (event.key === 'ArrowUp') one.focus();
      if (event.key === 'Enter' || event.key === ' ') logOutEverywhere();
    });
    one.after(all);
  }

  new MutationObserver(extend).observe(document.documentElement, { childList: true, subtree: true });
})();
