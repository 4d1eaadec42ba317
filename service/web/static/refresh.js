// Brings the content up to date every few seconds without losing the reader's place.
const EVERY_MS = 5000;
// A reader who types, or has opened something, is left alone.
const busy = () => document.activeElement?.form
  || [...document.querySelectorAll("#content input")].some((one) => one.value !== one.defaultValue)
  || document.querySelector("#content details[open]");
setInterval(async () => {
  if (document.hidden || String(getSelection()) || busy()) return;
  try {
    const answer = await fetch(location.href, { headers: { accept: "text/html" } });
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    const content = fresh.getElementById("content");
    if (!content) throw new Error("the answer is no page");
    document.getElementById("content").replaceWith(content);
    document.title = fresh.title;
  } catch {
    document.title = "(no answer) latchscope";
  }
}, EVERY_MS);
