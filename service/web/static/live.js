// Brings the page up to date part by part, without moving what is being read.
const EVERY_MS = 5000;
const parts = (page) => new Map([...page.querySelectorAll("[data-live]")].map((part) => [part.dataset.live, part]));

// A reader who types, selects, drags or has opened something keeps it as it is.
function inUse(part) {
  const selected = getSelection();
  if (String(selected) && selected.rangeCount && selected.getRangeAt(0).intersectsNode(part)) return true;
  if (part.contains(document.activeElement) && document.activeElement.matches("input, textarea, select, pre")) return true;
  if ([...part.querySelectorAll("input, textarea, select")].some((input) => input.value !== (input.defaultValue ?? input.value) || input.files?.length)) return true;
  if (part.querySelector(".drag")) return true;
  return [...part.querySelectorAll("details")].some((one) => one.open !== one.hasAttribute("data-open"));
}
const rememberOpen = (page) => { for (const one of page.querySelectorAll("details[open]")) one.dataset.open = ""; };

// Focus goes on to the same place of the new part.
const reachable = "a[href], button, summary, [tabindex]";
function replace(old, fresh) {
  const focused = old.contains(document.activeElement) ? [...old.querySelectorAll(reachable)].indexOf(document.activeElement) : -1;
  const copy = document.importNode(fresh, true);
  rememberOpen(copy);
  old.replaceWith(copy);
  globalThis.addComfort?.(copy, asked);
  if (focused >= 0) [...copy.querySelectorAll(reachable)][focused]?.focus({ preventScroll: true });
  return copy;
}

// What stands at the top of the window stays there.
function anchored(change) {
  const anchor = [...document.querySelectorAll("[data-live]")].find((part) => part.getBoundingClientRect().bottom > 0);
  const key = anchor?.dataset.live, before = anchor?.getBoundingClientRect().top;
  change();
  const now = key && document.querySelector(`[data-live="${CSS.escape(key)}"]`);
  if (now && scrollY > 0) scrollBy(0, now.getBoundingClientRect().top - before);
}

const seen = new Map();
for (const [key, part] of parts(document)) seen.set(key, part.outerHTML);
rememberOpen(document);

function update(page) {
  const fresh = parts(page), shown = parts(document);
  const others = [...fresh.keys()].join() !== [...shown.keys()].join();
  if (others && ![...shown.values()].some(inUse) && !document.getElementById("content").contains(document.activeElement)) {
    anchored(() => replace(document.getElementById("content"), page.getElementById("content")));
    for (const [key, part] of fresh) seen.set(key, part.outerHTML);
  } else {
    anchored(() => {
      for (const [key, part] of shown) {
        const html = fresh.get(key)?.outerHTML;
        if (html === undefined || html === seen.get(key) || inUse(part)) continue;
        replace(part, fresh.get(key));
        seen.set(key, html);
      }
    });
  }
  document.title = page.title;
  const clock = page.querySelector(".clock"), old = document.querySelector(".clock");
  if (clock && old) replace(old, clock);
}

let lost;
function say(words) {
  if (!words) { lost?.remove(); lost = undefined; return; }
  if (!lost) { lost = document.createElement("p"); lost.className = "lost"; lost.setAttribute("role", "status"); document.body.append(lost); }
  lost.textContent = words;
}

let asking = false, last = new Date(), asked;
async function refresh() {
  if (document.hidden || asking) return;
  asking = true;
  try {
    asked = [performance.now(), Date.now()];
    const answer = await fetch(location.href, { headers: { accept: "text/html" } });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (!page.getElementById("content") || answer.status >= 500) throw new Error("the answer is no page");
    update(page);
    last = new Date();
    say("");
  } catch {
    say(`No answer from latchscope. What you see is of ${last.toISOString().slice(11, 19)} UTC.`);
  } finally { asking = false; }
}
setInterval(refresh, EVERY_MS);

// An episode that begins, worsens or ends is shown at once.
const stream = document.currentScript?.dataset.stream ?? document.querySelector("script[data-stream]")?.dataset.stream;
if (stream && globalThis.EventSource) {
  const source = new EventSource(stream);
  for (const name of ["begin", "worse", "end"]) source.addEventListener(name, refresh);
  addEventListener("pagehide", () => source.close());
}
