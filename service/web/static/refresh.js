// Brings the content up to date every few seconds without losing the reader's place.
const EVERY_MS = 5000;
// A reader who types, or has opened something, is left alone.
const busy = () => String(getSelection())
  || document.activeElement?.form
  || [...document.querySelectorAll("#content input")].some((input) => input.value !== input.defaultValue)
  || document.querySelector("#content details[open]");
setInterval(async () => {
  if (document.hidden || busy()) return;
  try {
    const answer = await fetch(location.href, { headers: { accept: "text/html" } });
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    const content = fresh.getElementById("content");
    if (!content) throw new Error("the answer is no page");
    if (busy()) return; // they began while the answer was on its way
    document.getElementById("content").replaceWith(content);
    document.title = fresh.title;
  } catch {
    document.title = "(no answer) latchscope";
  }
}, EVERY_MS);
