// What Chainlit's page lacks for whoever uses it by ear or by keyboard: names, roles, keys. Mended soon after each change.
(() => {
  'use strict';

  const t = window.asclepiusSay;
  const names = [
    ['#sidebar-trigger-button', 'sidebar'], ['#search-chats-button', 'search'], ['#new-chat-button', 'newChat'],
    ['#chat-settings-open-modal', 'settings'], ['#chat-settings-header-button', 'settings'], ['#upload-button', 'attach'],
    ['#upload-button-loading', 'attach'], ['#upload-button-input', 'attach'], ['#chat-submit', 'ask'], ['#stop-button', 'stop'],
    ['.positive-feedback-off, .positive-feedback-on', 'good'], ['.negative-feedback-off, .negative-feedback-on', 'bad'],
    ['.edit-message', 'edit'], ['#theme-toggle', 'theme'], ['#user-nav-button', 'account'],
    ['button:has(> .lucide-arrow-down)', 'down'], ['button:has(> .lucide-copy)', 'copy'], ['.dropzone > input[type="file"]', 'attach']
  ];

  const toasts = [["Couldn't resume chat", 'gone'], ['credentialssignin', 'wrongLogin']];

  function mend() {
    for (const [selector, name] of names) {
      for (const node of document.querySelectorAll(selector)) {
        // Chainlit's own names are English, for whoever hears them alone.
        const named = node.textContent.trim() && !node.querySelector(':scope > .sr-only');
        if (!node.getAttribute('aria-label') && !named) node.setAttribute('aria-label', t(name));
      }
    }
    // Chainlit tells some errors in its own words.
    for (const node of document.querySelectorAll('[data-sonner-toast] [data-title]')) {
      const known = toasts.find(([words]) => node.textContent.includes(words));
      if (known) node.textContent = t(known[1]);
    }
    // Inside a link nothing may be a button; the menu opens by keyboard with F2 (below).
    for (const node of document.querySelectorAll('div#thread-options[aria-haspopup]')) {
      for (const name of ['aria-haspopup', 'aria-expanded', 'aria-controls', 'aria-label', 'type']) node.removeAttribute(name);
    }
    // A field of several choices names neither its box nor what takes a choice away.
    for (const label of document.querySelectorAll('label[cmdk-label]:empty')) {
      const field = label.closest('.space-y-2')?.querySelector('label');
      if (field && field !== label) label.textContent = field.textContent;
    }
    // Its list is there only while it is open.
    for (const box of document.querySelectorAll('[cmdk-input]')) {
      box.dataset.list = box.dataset.list || box.getAttribute('aria-controls');
      const list = document.getElementById(box.dataset.list);
      if (list && !box.hasAttribute('aria-controls')) list.scrollIntoView({ block: 'nearest' });
      box.setAttribute('aria-expanded', String(list !== null));
      if (list) box.setAttribute('aria-controls', box.dataset.list);
      else box.removeAttribute('aria-controls');
    }
    for (const node of document.querySelectorAll('[cmdk-root] button:not([aria-label])')) {
      node.setAttribute('aria-label', t('remove', { name: node.parentElement.textContent.trim() }));
    }
    // A table that is wider than the screen is scrolled by keyboard, too.
    for (const box of document.querySelectorAll('.message-content .overflow-auto:has(> table)')) {
      const wide = box.scrollWidth > box.clientWidth;
      for (const [name, value] of [['tabindex', '0'], ['role', 'group'], ['aria-label', t('table')]]) {
        if (wide) box.setAttribute(name, value);
        else box.removeAttribute(name);
      }
    }
    // A list whose groups are no list items is none.
    for (const list of document.querySelectorAll('ul[data-sidebar="menu"]:not([role])')) {
      if ([...list.children].some((child) => child.tagName !== 'LI')) list.setAttribute('role', 'presentation');
    }
  }

  // The whole of such a field opens it, not only the narrow box in it.
  document.addEventListener('click', (event) => {
    const field = event.target.closest ? event.target.closest('[cmdk-root] .group') : null;
    if (field && !event.target.closest('button')) field.querySelector('[cmdk-input]').focus();
  });

  document.addEventListener('keydown', (event) => {
    const entry = event.key === 'F2' && event.target.closest ? event.target.closest('#thread-history a') : null;
    const menu = entry && entry.querySelector('#thread-options');
    if (menu) menu.dispatchEvent(new PointerEvent('pointerdown', { bubbles: true, button: 0, ctrlKey: false }));
  });

  // A conversation's new name is no form to the browser: Enter would do nothing.
  document.addEventListener('keydown', (event) => {
    const field = event.key === 'Enter' && event.target.matches ? event.target.matches('[role="dialog"] input#name') : false;
    const confirm = field && event.target.parentElement.nextElementSibling?.lastElementChild;
    if (confirm && event.target.value.trim()) confirm.click();
  });

  let due = false;
  function mendSoon() {
    if (due) return;
    due = true;
    setTimeout(() => {
      due = false;
      mend();
    }, 100);
  }
  new MutationObserver(mendSoon).observe(document.documentElement, { childList: true, subtree: true });
  window.addEventListener('resize', mendSoon);
})();
