// All files of this folder are kept after the first visit, so that the page works offline. The list
// has their digests: if one has changed, this is another script, so a browser keeps them all anew.
const FILES = ["./", ...Object.keys(KEPT)].map((name) => new Request(name, { cache: "no-cache" }));
const CACHE = `kminilog ${self.registration.scope}`;
const keep = async () => (await caches.open(CACHE)).addAll(FILES);
const answer = async (request) => (await caches.match(request, { cacheName: CACHE })) ?? fetch(request);
self.oninstall = (event) => event.waitUntil(keep());
self.onactivate = (event) => event.waitUntil(self.clients.claim());
self.onfetch = (event) => event.respondWith(answer(event.request));
