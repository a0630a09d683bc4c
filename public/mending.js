// Accessibility fixes to Chainlit's page: names, roles and keys, applied soon after each change.
(() => {
  'use strict';

  const t = window.asclepiusSay;
  const names = [
    ['#sidebar-trigger-button', 'sidebar'], ['#search-chats-button', 'search'], ['#new-chat-button', 'newChat'],
    ['#chat-settings-open-modal', 'settings'], ['#chat-settings-header-button', 'settings'], ['#upload-button', 'attach'],
    ['#upload-button-loading', 'attach'], ['#upload-button-input', 'attach'], ['#chat-submit', 'ask'], ['#stop-button', 'stop'],
    ['.positive-feedback-off, .positive-feedback-on', 'good'], ['.negative-feedback-off, .negative-feedback-on', 'bad'],
    ['.edit-message, #edit-chat-input', 'edit'], ['#theme-toggle', 'theme'], ['#user-nav-button', 'account'],
    ['button:has(> .lucide-arrow-down)', 'down'], ['button:has(> .lucide-copy)', 'copy'], ['.dropzone > input[type="file"]', 'attach']
  ];

  const toasts = [["Couldn't resume chat", 'gone'], ['credentialssignin', 'wrongLogin'], ['toomanylogins', 'tooManyLogins'],
    ['File type must be', 'onlyPdf'], ['File is larger than', 'fileTooLarge'], ['Too many files', 'tooManyFiles']];

  function mend() {
    for (const [selector, name] of names) {
      for (const node of document.querySelectorAll(selector)) {
        // Chainlit's own labels are English and for screen readers only.
        const named = node.textContent.trim() && !node.matches('textarea') && !node.querySelector(':scope > .sr-only');
        if (node.matches('button, input, a, textarea, [role]') && !node.getAttribute('aria-label') && !named) node.setAttribute('aria-label', t(name));
      }
    }
    // Its name would be the first letter of the user's.
    document.getElementById('user-nav-button')?.setAttribute('aria-label', t('account'));
    // A file is named by its own name.
    for (const node of document.querySelectorAll('.inline-pdf[aria-label]')) node.removeAttribute('aria-label');
    // Chainlit gives these buttons the role of their drop zone.
    for (const node of document.querySelectorAll('button[role="presentation"]')) node.setAttribute('role', 'button');
    // Some error messages are built into Chainlit.
    for (const node of document.querySelectorAll('[data-sonner-toast] [data-title]')) {
      const known = toasts.find(([words]) => node.textContent.includes(words));
      if (known) node.textContent = t(known[1]);
    }
    // A link must not contain a button; F2 opens the menu by keyboard (below).
    for (const node of document.querySelectorAll('div#thread-options:is([aria-haspopup], [aria-expanded])')) {
      for (const name of ['aria-haspopup', 'aria-expanded', 'aria-controls', 'aria-label', 'type']) node.removeAttribute(name);
    }
    // A multi-select labels neither its box nor its remove buttons.
    for (const label of document.querySelectorAll('label[cmdk-label]:empty')) {
      const field = label.closest('.space-y-2')?.querySelector('label');
      if (field && field !== label) label.textContent = field.textContent;
    }
    // Its list exists only while it is open.
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
    closeSidebar();
    returnFromMenu();
    returnFromDialog();
    // Landmarks and a heading, and no stop at the area that takes dropped files.
    document.querySelector('.peer [data-sidebar="sidebar"]')?.setAttribute('role', 'navigation');
    for (const area of document.querySelectorAll('div[role="presentation"][tabindex="0"]')) area.setAttribute('tabindex', '-1');
    // The drawer of a phone refers to a title and a description that it does not have.
    for (const drawer of document.querySelectorAll('[role="dialog"][data-mobile]')) {
      for (const name of ['aria-labelledby', 'aria-describedby']) drawer.removeAttribute(name);
      drawer.setAttribute('aria-label', t('sidebar'));
    }
    for (const node of document.querySelectorAll('.step h3[data-orientation]:not([aria-level])')) node.setAttribute('aria-level', '2');
    for (const node of document.querySelectorAll('.step [data-orientation][role="region"]')) node.setAttribute('role', 'group');
    const header = document.querySelector('#header:not(:has(h1))');
    if (header) header.append(window.asclepiusMake('h1', { class: 'asc-hidden' }, document.title));
    // Make a table that is wider than the screen scrollable by keyboard.
    for (const box of document.querySelectorAll('.message-content .overflow-auto:has(> table)')) {
      const wide = box.scrollWidth > box.clientWidth;
      box.dataset.wide = wide;
      for (const [name, value] of [['tabindex', '0'], ['role', 'group'], ['aria-label', t('table')]]) {
        if (wide) box.setAttribute(name, value);
        else box.removeAttribute(name);
      }
    }
    // A list whose children are not list items must not be announced as a list.
    for (const list of document.querySelectorAll('ul[data-sidebar="menu"]:not([role])')) {
      if ([...list.children].some((child) => child.tagName !== 'LI')) list.setAttribute('role', 'presentation');
    }
  }

  // The tooltip of the button in focus, which a touch screen hides, takes the Escape that is to close the drawer.
  window.addEventListener('keydown', (event) => {
    const drawer = event.key === 'Escape' && event.isTrusted && document.querySelector('[role="dialog"][data-mobile]');
    if (!drawer || !document.querySelector('[role="tooltip"]')) return;
    const close = (looks) => {
      if (looks && document.querySelector('[role="tooltip"]')) setTimeout(close, 50, looks - 1);
      else drawer.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true }));
    };
    setTimeout(close, 50, 40);
  }, true);

  // A click anywhere in a multi-select opens it, not only in its narrow box.
  document.addEventListener('click', (event) => {
    const field = event.target.closest ? event.target.closest('[cmdk-root] .group') : null;
    if (field && !event.target.closest('button')) field.querySelector('[cmdk-input]').focus();
  });

  // Its list covers the fields below it, so a choice by mouse closes it.
  document.addEventListener('click', (event) => {
    if (event.target.closest?.('#chat-settings [cmdk-item]')) setTimeout(() => document.activeElement.blur());
  }, true);

  document.addEventListener('keydown', (event) => {
    const entry = event.key === 'F2' && event.target.closest ? event.target.closest('#thread-history a') : null;
    const menu = entry && entry.querySelector('#thread-options');
    if (!menu) return;
    menu.dispatchEvent(new PointerEvent('pointerdown', { bubbles: true, button: 0, ctrlKey: false }));
    opener = { href: entry.getAttribute('href'), opened: false };
  });

  // A closed menu gives the focus back to its entry; Chainlit would drop it. The history may be loaded again meanwhile,
  // which replaces the entries, so the focus stays with this conversation until the next key or click.
  let opener = null;
  function returnFromMenu() {
    if (!opener || !opener.opened || document.querySelector('[role="menu"]') || document.activeElement !== document.body) return;
    [...document.querySelectorAll('#thread-history a')].find((entry) => entry.getAttribute('href') === opener.href)?.focus();
  }
  for (const kind of ['keydown', 'pointerdown']) {
    document.addEventListener(kind, (event) => {
      if (event.isTrusted && opener && !document.querySelector('[role="menu"]')) opener = null;
    }, true);
  }

  // A field of a dialog takes the focus before the dialog can keep who had it, so that closing it drops the focus.
  let before = null;
  let inDialog = false;
  document.addEventListener('focusin', ({ target }) => {
    if (target.closest('#root, #asc-panel')) before = target;
  });
  function returnFromDialog() {
    const open = document.querySelector('[role="dialog"], [role="alertdialog"], [role="menu"]') !== null;
    if (inDialog && !open && document.activeElement === document.body && before?.isConnected) before.focus();
    inDialog = open;
  }

  // The rename dialog is not a form, so Enter would do nothing.
  document.addEventListener('keydown', (event) => {
    const field = event.key === 'Enter' && event.target.matches ? event.target.matches('[role="dialog"] input#name') : false;
    const confirm = field && event.target.parentElement.nextElementSibling?.lastElementChild;
    if (confirm && event.target.value.trim()) confirm.click();
  });

  // A closed sidebar must not take the focus.
  function closeSidebar() {
    for (const bar of document.querySelectorAll('[data-sidebar="sidebar"]')) {
      bar.inert = bar.closest('[data-state]')?.dataset.state === 'collapsed';
    }
  }

  // Marks for the style sheet, before the next paint. With `:has()` of what every answer contains, or a sibling's
  // descendants, the browser would compute the style of the whole conversation again with each message.
  function mark() {
    const steps = document.querySelector('.step')?.parentElement;
    steps?.toggleAttribute('data-columns', steps.querySelector(':scope > [data-step-type="llm"]') !== null);
    const last = [...document.querySelectorAll('[data-step-type="user_message"]')].pop();
    const ends = document.querySelectorAll('.asc-answer-end');
    for (const end of ends) {
      end.toggleAttribute('data-earlier', end !== ends[ends.length - 1]);
      end.toggleAttribute('data-answered', Boolean(last && end.compareDocumentPosition(last) & Node.DOCUMENT_POSITION_FOLLOWING));
    }
    for (const part of document.querySelectorAll('.step > div > [id*="-part-"]')) {
      part.toggleAttribute('data-continues', part.closest('.step').previousElementSibling?.dataset.stepType === 'assistant_message');
    }
    // What comes before the answer, such as the notice of an emergency, is a quote with nothing but strong words.
    for (const words of document.querySelectorAll('.message-content blockquote .font-bold')) {
      const quote = words.closest('blockquote');
      quote.toggleAttribute('data-notice', quote.textContent.trim() === words.textContent);
    }
    for (const node of document.querySelectorAll('[data-step-type="user_message"] .message-content:empty')) node.closest('.group')?.setAttribute('data-empty', '');
    for (const node of document.querySelectorAll('#chat-settings [role="switch"]')) node.closest('.space-y-2')?.setAttribute('data-switch', '');
  }

  // The server writes the day of a conversation that a search found as ISO 8601.
  function writeDays() {
    for (const { firstChild: hit } of document.querySelectorAll('[role="option"] > .line-clamp-2')) {
      const written = hit?.data?.replace(/(?<=^|\n)\d{4}-\d\d-\d\d(?= · |$)/, (day) => window.asclepiusDate(day));
      if (written && written !== hit.data) hit.data = written;
    }
  }

  let due = false;
  function mendSoon() {
    mark();
    writeDays();
    if (opener && document.querySelector('[role="menu"]')) opener.opened = true;
    if (due) return;
    due = true;
    setTimeout(() => {
      due = false;
      mend();
    }, 100);
  }
  new MutationObserver(mendSoon).observe(document.documentElement, { childList: true, subtree: true });
  // Opening the sidebar may add no node, and its first link must take the focus at once.
  new MutationObserver(() => {
    closeSidebar();
    mendSoon();
  }).observe(document.documentElement, { subtree: true, attributeFilter: ['data-state'] });
  window.addEventListener('resize', mendSoon);
})();
