// All files of this folder are kept after the first visit, so that the page works offline.
const [CACHE, ...FILES] = KEPT;
const POLICY = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'";

self.addEventListener("install", (event) => {
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(FILES)).then(() => self.skipWaiting()));
});
self.addEventListener("activate", (event) => {
  const isOld = (name) => name.startsWith("kminilog-") && name !== CACHE;
  const removed = caches.keys().then((names) => Promise.all(names.filter(isOld).map((name) => caches.delete(name))));
  event.waitUntil(removed.then(() => self.clients.claim()));
});
self.addEventListener("fetch", (event) => event.respondWith(answer(event.request)));

async function answer(request) {
  const found = (await caches.match(request)) ?? (await fetch(request));
  if (!request.url.endsWith("/worker.js")) return found;
  // The policy of a page does not bind its workers: theirs comes with their file.
  const headers = { "Content-Type": "text/javascript", "Content-Security-Policy": POLICY };
  return new Response(found.body, { headers });
}
