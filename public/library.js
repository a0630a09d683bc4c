// Content of the panel of loaded sources: each guideline with its date and its gaps.
(() => {
  'use strict';

  const OLD_YEARS = 5;

  const day = window.asclepiusDate;

  function isOld(date) {
    const [, year, month] = /^(\d{4})(?:-(\d{2}))?/.exec(date) || [];
    return Boolean(year) && new Date(Number(year) + OLD_YEARS, Number(month || 12)) < new Date();
  }

  // Format page numbers as ranges: 3, 4, 5, 9 as 3–5, 9.
  function ranges(pages) {
    const runs = [];
    for (const page of pages) {
      const last = runs[runs.length - 1];
      if (last && last[1] === page - 1) last[1] = page;
      else runs.push([page, page]);
    }
    return runs.map(([from, to]) => (from === to ? from : `${from}–${to}`)).join(', ');
  }

  function gaps({ t }, guideline) {
    const found = [];
    if (!guideline.date) found.push(t('noDate'));
    else if (isOld(guideline.date)) found.push(t('old', { count: OLD_YEARS }));
    if (guideline.unsearchable_pages?.length) found.push(t('unsearchable', { pages: ranges(guideline.unsearchable_pages) }));
    if (guideline.recognised_pages?.length) found.push(t('recognised', { pages: ranges(guideline.recognised_pages) }));
    if (guideline.superseded?.length) found.push(t('superseded', { count: guideline.superseded.length }));
    return found;
  }

  function entry(page, guideline) {
    const { t, make } = page;
    const facts = [
      guideline.issuer, guideline.version, guideline.date && day(guideline.date), guideline.pages && t('pageCount', { count: guideline.pages }),
      guideline.added_at && t('added', { date: day(guideline.added_at) })
    ];
    const file = `${window.asclepiusRoot}/api/v1/guidelines/${encodeURIComponent(guideline.id)}/original.pdf`;
    return make('li', { 'data-guideline': guideline.id },
      make('a', { class: 'asc-title', href: file, target: '_blank', rel: 'noopener' }, guideline.title),
      make('p', { class: 'asc-about' }, facts.filter(Boolean).join(' · ')),
      gaps(page, guideline).map((gap) => make('p', { class: 'asc-gap' }, gap)));
  }

  function drugs({ t, make }, stats) {
    if (!stats || !(stats.records || stats.drugs)) return make('p', {}, t('noDrugs'));
    const counts = [t('drugs', { count: stats.records || stats.drugs }), stats.products && t('products', { count: stats.products })];
    const sources = (stats.sources || []).map(({ source, items }) => make('li', {},
      source.url
        ? make('a', { class: 'asc-title', href: source.url, target: '_blank', rel: 'noopener noreferrer' }, source.title)
        : make('span', { class: 'asc-title' }, source.title),
      make('p', { class: 'asc-about' }, [source.publisher, source.date && day(source.date), items.toLocaleString()].filter(Boolean).join(' · ')),
      source.date ? null : make('p', { class: 'asc-gap' }, t('noDate'))));
    const at = stats.imported_at ? t('added', { date: day(stats.imported_at) }) : '';
    return [make('p', { class: 'asc-about' }, [...counts, at].filter(Boolean).join(' · ')), make('ul', { class: 'asc-library' }, sources)];
  }

  async function fetched(path) {
    const answer = await fetch(`${window.asclepiusRoot}/api/v1/${path}`, { credentials: 'same-origin' });
    if (!answer.ok) throw new Error(path);
    return answer.json();
  }

  // Build the panel's content. Rejects when the server does not answer.
  window.asclepiusLibrary = async (page) => {
    const { t, make } = page;
    const [guidelines, status] = await Promise.all([fetched('guidelines'), fetched('status')]);
    guidelines.sort((a, b) => a.title.localeCompare(b.title));
    return [
      make('h3', {}, t('guidelines', { count: guidelines.length })),
      guidelines.length ? make('ul', { class: 'asc-library' }, guidelines.map((one) => entry(page, one))) : make('p', {}, t('noGuidelines')),
      status.damaged.map((name) => make('p', { class: 'asc-gap' }, t('damaged', { name }))),
      make('h3', {}, t('drugDatabase')),
      drugs(page, status.drugs)
    ].flat();
  };
})();
