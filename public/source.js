// The panel beside the answer: a citation's source with its page, or the list of what is loaded.
(() => {
  'use strict';

  const api = `${window.asclepiusRoot}/api/v1`;
  const t = window.asclepiusSay;
  const make = window.asclepiusMake;
  const { show: passage, about, address, quoteBefore, statementBefore, letters } = window.asclepiusPassage;
  const MOST_QUOTES = 8;
  const LONGEST_IN_LINK = 400;
  const MARK_ROOM = 48;
  const ZOOMS = [1, 1.5, 2];
  const answers = new Map();
  let panel = null;
  let returnTo = null;

  // -- the page of a document ---------------------------------------------------------------------------------------

  function pageAddress(reference, page, wanted) {
    // Quotes of this passage, the cited one first; limited to keep the address short.
    const quotes = page === reference.page ? [...new Set([wanted, ...reference.quotes])].filter(Boolean).slice(0, MOST_QUOTES) : [];
    const query = quotes.map((quote) => `quote=${encodeURIComponent(quote)}`).join('&');
    return `${api}/guidelines/${encodeURIComponent(reference.document_id)}/pages/${page}.png${query && `?${query}`}`;
  }

  // A page's picture in a box that scrolls to its mark.
  function pagePicture() {
    const image = make('img', { class: 'asc-page', alt: '' });
    const missing = make('p', { class: 'asc-notice', hidden: '' }, t('noPage'));
    const box = make('div', { class: 'asc-page-box', 'data-state': 'loading', tabindex: '0', role: 'group', 'aria-label': t('pageItself') }, missing, image);
    let mark = null;
    const settle = (state) => {
      box.dataset.state = state;
      missing.hidden = state !== 'missing';
    };
    // Lower edge of the panel, once the box is in it.
    const edge = () => (box.closest('#asc-panel') || box).getBoundingClientRect().bottom;
    const seek = () => {
      const [x, y] = mark || [0, 0];
      // The panel may show the upper part of the box alone.
      const shown = Math.min(box.clientHeight, edge() - box.getBoundingClientRect().top);
      box.scrollTop = mark ? y * image.clientHeight - Math.max(shown, 0) / 3 : 0;
      box.scrollLeft = x * image.clientWidth - box.clientWidth / 3;
    };
    image.addEventListener('load', () => {
      URL.revokeObjectURL(image.src);
      settle('shown');
      seek();
      const below = mark ? image.getBoundingClientRect().top + mark[1] * image.clientHeight + MARK_ROOM - edge() : 0;
      const panel = box.closest('#asc-panel');
      // The marked words of the passage stay in view.
      const words = panel?.querySelector('mark.asc-here')?.getBoundingClientRect().top - MARK_ROOM * 2;
      if (below > 0) panel.scrollTop += Number.isNaN(words) ? below : Math.min(below, Math.max(words, 0));
    });
    return {
      box,
      settle,
      show(blob, alt, marked) {
        mark = marked;
        image.alt = alt;
        image.src = URL.createObjectURL(blob);
      },
      zoom(factor) {
        image.style.width = `${factor * 100}%`;
        seek();
      }
    };
  }

  function pageView(reference, quote) {
    if (reference.kind !== 'guideline' || !reference.page) return null;
    const picture = pagePicture();
    const label = make('span', { class: 'asc-page-number', 'aria-live': 'polite' });
    const open = make('a', { class: 'asc-action', target: '_blank', rel: 'noopener' }, t('openPdf'));
    const button = (name, text, label, act) => make('button', { type: 'button', class: 'asc-action', 'data-page': name, 'aria-label': label, onclick: act }, text);
    const previous = button('previous', t('previous'), t('previousPage'), () => turn(-1));
    const next = button('next', t('next'), t('nextPage'), () => turn(1));
    const smaller = button('smaller', '−', t('zoomOut'), () => zoom(-1));
    const larger = button('larger', '+', t('zoomIn'), () => zoom(1));
    let page = reference.page;
    let pages = Infinity;
    let level = 0;
    const turn = (step) => page + step >= 1 && page + step <= pages && show(page + step);
    const zoom = (step) => {
      level = Math.min(ZOOMS.length - 1, Math.max(0, level + step));
      smaller.disabled = level === 0;
      larger.disabled = level === ZOOMS.length - 1;
      picture.zoom(ZOOMS[level]);
    };
    const name = () => {
      label.textContent = pages < Infinity ? t('pageOfPages', { page: String(page), pages: String(pages) }) : t('page', { page: String(page) });
      open.href = `${api}/guidelines/${encodeURIComponent(reference.document_id)}/original.pdf#page=${page}`;
      previous.disabled = page <= 1;
      next.disabled = page >= pages;
    };
    const show = async (wanted) => {
      page = wanted;
      picture.settle('loading');
      name();
      try {
        const answer = await fetch(pageAddress(reference, wanted, quote), { credentials: 'same-origin' });
        if (!answer.ok) throw new Error(String(answer.status));
        const blob = await answer.blob();
        if (page !== wanted) return;
        pages = Number(answer.headers.get('x-page-count')) || pages;
        name();
        const marked = answer.headers.get('x-marked-at');
        picture.show(blob, t('pageOf', { page: String(page), title: reference.title }), marked && marked.split(' ').map(Number));
      } catch {
        if (page === wanted) picture.settle('missing');
      }
    };
    zoom(0);
    show(page);
    const bar = make('div', { class: 'asc-page-bar' }, previous, label, next, make('span', { class: 'asc-zoom' }, smaller, larger), open);
    const view = make('section', { class: 'asc-page-view', 'aria-label': t('pageItself') }, bar, picture.box);
    view.turn = turn;
    return view;
  }

  // -- the panel ----------------------------------------------------------------------------------------------------

  function close() {
    if (!panel) return;
    panel.remove();
    panel = null;
    document.documentElement.classList.remove('asc-panel-open');
    if (returnTo && returnTo.isConnected) returnTo.focus();
    returnTo = null;
  }

  // Open an empty panel and focus its title; closing it returns the focus to `from`.
  function raise(text, from, attributes) {
    if (panel) panel.remove();
    else returnTo = from || document.activeElement;
    if (from) returnTo = from;
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

  function copyButton(name, text, copy) {
    const button = make('button', { type: 'button', class: `asc-action ${name}`, 'aria-live': 'polite' }, text);
    button.addEventListener('click', async () => {
      await copy();
      button.textContent = t('copied');
      setTimeout(() => (button.textContent = text), 2000);
    });
    return button;
  }

  // A button that copies the cited sentence; none for one that was not found in its source.
  function copier(answer, reference, statement) {
    const isSaid = ({ text, numbers }) => numbers.includes(reference.number) && letters(statement).includes(letters(text));
    if (!statement || (answer.unsupported || []).some(isSaid)) return null;
    return copyButton('asc-copy-sentence', t('copySentence'), () => window.asclepiusClipboard.sentence(statement, reference, answer.answered));
  }

  // A button that copies a link to the passage, for a note; none for a calculation or an external source, which are stored nowhere.
  function linker(reference, quote) {
    if (['calculation', 'external'].includes(reference.kind)) return null;
    const query = quote && quote.length <= LONGEST_IN_LINK ? `?quote=${encodeURIComponent(quote)}` : '';
    const address = `${location.origin}${window.asclepiusRoot}/passages/${encodeURIComponent(reference.passage_id)}${query}`;
    return copyButton('asc-copy-link', t('copyLink'), () => window.asclepiusClipboard.link(reference, address));
  }

  // Open the source `number` of an answer, at the words that belong to the citation `link`.
  function open(message, number, from, link) {
    const answer = answers.get(message);
    const reference = answer && answer.references.find((entry) => entry.number === number);
    const body = raise(t('source', { number }), from, { 'data-number': number });
    if (!reference) {
      body.append(make('p', {}, t('closed')));
      return;
    }
    const quote = link ? quoteBefore(link, reference) : reference.quotes[0] || '';
    const statement = link ? statementBefore(link) : '';
    body.append(...[
      make('p', { class: 'asc-panel-document' }, reference.title),
      about(reference) ? make('p', { class: 'asc-about' }, about(reference)) : null,
      reference.where ? make('p', { class: 'asc-where' }, reference.where) : null,
      reference.strength ? make('p', { class: 'asc-where asc-strength' }, reference.strength) : null,
      passage(reference, quote, statement),
      make('div', { class: 'asc-copies' }, copier(answer, reference, statement), linker(reference, quote)),
      address(reference),
      pageView(reference, quote)
    ].filter(Boolean));
    panel.scrollTop = 0;
    const here = panel.querySelector('mark.asc-here') || panel.querySelector('mark');
    const box = here && here.closest('.asc-passage');
    if (!box) return;
    // By whole lines, so that none is cut at the top.
    const line = parseFloat(getComputedStyle(box).lineHeight);
    box.scrollTop = Math.floor((here.getBoundingClientRect().top - box.getBoundingClientRect().top - line) / line) * line;
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
    if (message) open(message, Number(number), link, link);
  }, true);

  document.addEventListener('keydown', (event) => {
    if (!panel) return;
    const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) || event.target.isContentEditable;
    // In a page that is wider than its box the arrows scroll.
    const scrolls = event.target.matches('.asc-page-box') && event.target.scrollWidth > event.target.clientWidth;
    if (event.key === 'Escape') close();
    else if (!typing && !scrolls && (event.key === 'ArrowLeft' || event.key === 'ArrowRight')) {
      const view = panel.querySelector('.asc-page-view');
      if (view) view.turn(event.key === 'ArrowLeft' ? -1 : 1);
    }
  });

  window.asclepiusSources = { register: (answer) => answers.set(answer.message, answer), open };
})();
