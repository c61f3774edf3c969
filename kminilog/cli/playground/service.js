// All files of this folder are kept after the first visit, so that the page works offline.
const [VERSION, ...FILES] = KEPT;
const OURS = `kminilog ${self.registration.scope} `;
const CACHE = OURS + VERSION;

self.addEventListener("install", (event) => {
  const files = FILES.map((name) => new Request(name, { cache: "reload" }));
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(files)).then(() => self.skipWaiting()));
});
self.addEventListener("activate", (event) => {
  const isOld = (name) => name.startsWith(OURS) && name !== CACHE;
  const removed = caches.keys().then((names) => Promise.all(names.filter(isOld).map((name) => caches.delete(name))));
  event.waitUntil(removed.then(() => self.clients.claim()));
});
self.addEventListener("fetch", (event) => event.respondWith(answer(event.request)));

async function answer(request) {
  return (await (await caches.open(CACHE)).match(request)) ?? fetch(request);
}
