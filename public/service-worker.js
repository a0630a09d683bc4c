// Shows a page that says so when the app can't be reached. It stores that page and nothing else: no question, no answer.
'use strict';

const OFFLINE = 'asclepius-offline';
const page = new URL('offline', self.registration.scope).href;

async function store() {
  const cache = await caches.open(OFFLINE);
  await cache.add(new Request(page, { cache: 'reload' }));
}

self.addEventListener('install', (event) => event.waitUntil(store()));

self.addEventListener('fetch', (event) => {
  if (event.request.mode !== 'navigate') return;
  event.respondWith(fetch(event.request).catch(async () => (await caches.match(page)) || Response.error()));
});
