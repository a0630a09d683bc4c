// Adds "Sign out everywhere" to Chainlit's account menu, and the administration page for administrators.
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
    addAdministration(all);
  }

  async function addAdministration(last) {
    const answer = await fetch(`${window.asclepiusRoot}/api/v1/status`);
    if (!answer.ok || !(await answer.json()).may_administer || !last.isConnected) return;
    const link = document.createElement('a');
    link.href = `${window.asclepiusRoot}/administration`;
    link.textContent = window.asclepiusSay('administration');
    link.className = last.className;
    link.role = 'menuitem';
    link.tabIndex = -1;
    last.addEventListener('keydown', (event) => event.key === 'ArrowDown' && link.focus());
    link.addEventListener('keydown', (event) => event.key === 'ArrowUp' && last.focus());
    last.after(link);
  }

  new MutationObserver(extend).observe(document.documentElement, { childList: true, subtree: true });
})();
