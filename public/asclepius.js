// Additions to Chainlit's page: the source panel of a citation, the line on the start page about loaded sources, and a
// theme that follows the system. No library, no request to another origin.
(() => {
  'use strict';

  if (!localStorage.getItem('vite-ui-theme')) localStorage.setItem('vite-ui-theme', 'system');

  const api = `${window.asclepiusRoot}/api/v1`;
  const t = window.asclepiusSay;
  const MOST_QUOTES = 8;
  const sources = new Map();
  let panel = null;
  let shown = null;
  let returnTo = null;

  function make(tag, attributes, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
      else node.setAttribute(name, value);
    }
    for (const child of children.flat()) if (child !== null && child !== undefined) node.append(child);
    return node;
  }

  // -- announcements ------------------------------------------------------------------------------------------------

  const live = make('div', { 'aria-live': 'polite', role: 'status', class: 'asc-hidden', id: 'asc-live' });
  document.addEventListener('DOMContentLoaded', () => document.body.append(live));
  function announce(text) {
    live.textContent = text;
  }

  // -- the source panel ---------------------------------------------------------------------------------------------

  function about(reference) {
    return [reference.issuer, reference.version].filter(Boolean).join(', ');
  }

  const squeezed = (text) => text.replace(/[\s\u00a0\u2060]+/g, ' ').trim();

  // Find the quote that a citation number belongs to: the last one in the text before it.
  function quoteBefore(link, reference) {
    const block = link.closest('[role="article"], li, td, th, p, div');
    if (!block || reference.quotes.length < 2) return reference.quotes[0] || '';
    const range = document.createRange();
    range.setStart(block, 0);
    range.setEndBefore(link);
    const before = squeezed(range.toString());
    const places = reference.quotes.map((quote) => before.lastIndexOf(squeezed(quote)));
    const best = places.indexOf(Math.max(...places));
    return reference.quotes[places[best] < 0 ? 0 : best];
  }

  // Join lines that were wrapped at the column edge of a printed page.
  function unwrapped(segments) {
    const text = segments.map(([part]) => part).join('');
    const goesOn = (at) => {
      const line = text.slice(text.lastIndexOf('\n', at - 1) + 1, at);
      const next = text.slice(at + 1, at + 8);
      return line.length > 50 && !/[|\t]|[.:;!?]$/.test(line) && /^[\p{L}\d(]/u.test(next) && !/^\d+[.)]\s/.test(next);
    };
    let start = 0;
    return segments.map(([part, marked]) => {
      const from = start;
      start += part.length;
      return [part.replace(/\n/g, (_, at) => (goesOn(from + at) ? ' ' : '\n')), marked];
    });
  }

  function passage(reference, quote) {
    const here = squeezed(quote);
    const mark = (text) => make('mark', { class: here && here.includes(squeezed(text)) || squeezed(text).includes(here) && here ? 'asc-here' : null }, text);
    return make('blockquote', { class: 'asc-passage', tabindex: '0' }, unwrapped(reference.segments).map(([text, marked]) => (marked ? mark(text) : text)));
  }

  function pageAddress(reference, page, wanted) {
    // Quotes of this passage, the cited one first; limited to keep the address short.
    const quotes = page === reference.page ? [...new Set([wanted, ...reference.quotes])].filter(Boolean).slice(0, MOST_QUOTES) : [];
    const query = quotes.map((quote) => `quote=${encodeURIComponent(quote)}`).join('&');
    return `${api}/guidelines/${encodeURIComponent(reference.document_id)}/pages/${page}.png${query && `?${query}`}`;
  }

  function original(reference, page) {
    return `${api}/guidelines/${encodeURIComponent(reference.document_id)}/original.pdf#page=${page}`;
  }

  function pageView(reference, quote) {
    if (reference.kind !== 'guideline' || !reference.page) return null;
    let page = reference.page;
    const image = make('img', { class: 'asc-page', alt: '' });
    const label = make('span', { class: 'asc-page-number', 'aria-live': 'polite' });
    const open = make('a', { class: 'asc-action', target: '_blank', rel: 'noopener' }, t('openPdf'));
    const missing = make('p', { class: 'asc-notice', hidden: '' }, t('noPage'));
    const previous = make('button', { type: 'button', class: 'asc-action', 'data-page': 'previous', 'aria-label': t('previousPage') }, t('previous'));
    const next = make('button', { type: 'button', class: 'asc-action', 'data-page': 'next', 'aria-label': t('nextPage') }, t('next'));
    const box = make('div', { class: 'asc-page-box', 'data-state': 'loading' }, missing, image);
    const show = (wanted) => {
      if (wanted < 1) return;
      page = wanted;
      missing.hidden = true;
      box.dataset.state = 'loading';
      image.src = pageAddress(reference, page, quote);
      image.alt = t('pageOf', { page: String(page), title: reference.title });
      label.textContent = t('page', { page: String(page) });
      open.href = original(reference, page);
      previous.disabled = page <= 1;
    };
    image.addEventListener('load', () => (box.dataset.state = 'shown'));
    image.addEventListener('error', () => {
      box.dataset.state = 'missing';
      missing.hidden = false;
    });
    previous.addEventListener('click', () => show(page - 1));
    next.addEventListener('click', () => show(page + 1));
    show(page);
    const bar = make('div', { class: 'asc-page-bar' }, previous, label, next, open);
    const view = make('section', { class: 'asc-page-view', 'aria-label': t('pageItself') }, bar, box);
    view.turn = (step) => show(page + step);
    return view;
  }

  function close() {
    if (!panel) return;
    panel.remove();
    panel = null;
    shown = null;
    document.documentElement.classList.remove('asc-panel-open');
    if (returnTo && returnTo.isConnected) returnTo.focus();
    returnTo = null;
  }

  // Open an empty panel and focus its title; closing it returns the focus to `from`.
  function raise(text, from, attributes) {
    if (panel) panel.remove();
    else returnTo = from || document.activeElement;
    if (from) returnTo = from;
    shown = null;
    const closer = make('button', { type: 'button', class: 'asc-close', 'aria-label': t('close'), onclick: close }, '×');
    const title = make('h2', { id: 'asc-panel-title', tabindex: '-1' }, text);
    const body = make('div', { class: 'asc-panel-body' });
    const parts = [make('header', {}, title, closer), body];
    panel = make('aside', { id: 'asc-panel', 'aria-labelledby': 'asc-panel-title', ...attributes }, parts);
    document.body.append(panel);
    document.documentElement.classList.add('asc-panel-open');
    title.focus({ preventScroll: true });
    return body;
  }

  async function openLibrary(from) {
    const body = raise(t('whatIsLoaded'), from, { 'data-library': '' });
    try {
      body.append(...(await window.asclepiusLibrary({ t, make })));
    } catch {
      body.append(make('p', { class: 'asc-notice' }, t('noLibrary')));
    }
  }

  function open(message, number, from, wanted) {
    const reference = (sources.get(message) || []).find((entry) => entry.number === number);
    const body = raise(t('source', { number }), from, { 'data-number': number });
    if (!reference) {
      body.append(make('p', {}, t('closed')));
      return;
    }
    const quote = wanted ? wanted(reference) : reference.quotes[0] || '';
    body.append(...[
      make('p', { class: 'asc-panel-document' }, reference.title),
      about(reference) ? make('p', { class: 'asc-about' }, about(reference)) : null,
      reference.where ? make('p', { class: 'asc-where' }, reference.where) : null,
      passage(reference, quote),
      reference.url ? make('p', {}, make('a', { href: reference.url, target: '_blank', rel: 'noopener noreferrer' }, reference.url)) : null,
      pageView(reference, quote)
    ].filter(Boolean));
    shown = reference;
    panel.scrollTop = 0;
    const here = panel.querySelector('mark.asc-here');
    if (here) here.parentElement.scrollTop = here.offsetTop - here.parentElement.offsetTop - 40;
  }

  document.addEventListener('click', (event) => {
    const link = event.target.closest ? event.target.closest('a[href^="#cite-"], a[href="#loaded"]') : null;
    if (!link) return;
    event.preventDefault();
    event.stopPropagation();
    if (link.getAttribute('href') === '#loaded') {
      const dialog = link.closest('[role="dialog"]');
      if (dialog) dialog.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true }));
      openLibrary(dialog ? null : link);
      return;
    }
    const [, message, number] = /^#cite-(.+)-(\d+)$/.exec(link.getAttribute('href')) || [];
    if (message) open(message, Number(number), link, (reference) => quoteBefore(link, reference));
  }, true);

  document.addEventListener('keydown', (event) => {
    if (!panel) return;
    const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) || event.target.isContentEditable;
    if (event.key === 'Escape') close();
    else if (!typing && (event.key === 'ArrowLeft' || event.key === 'ArrowRight')) {
      const view = panel.querySelector('.asc-page-view');
      if (view) view.turn(event.key === 'ArrowLeft' ? -1 : 1);
    }
  });

  // -- copying ------------------------------------------------------------------------------------------------------

  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // The clipboard API is missing over plain HTTP on another host.
      const area = make('textarea', { class: 'asc-hidden' });
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand('copy');
      area.remove();
    }
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
    return status.loading ? `${there} ${status.loading}…` : there;
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
    register: (message, references) => sources.set(message, references),
    open,
    close,
    announce,
    copy,
    shown: () => shown
  };
})();
