// Ctrl-K: the page /find as a dialog. The page does the matching, so the dialog shows what it shows, and no more.
const opener = document.querySelector("a[data-find]");
const PAUSE = 100; // milliseconds after a letter: who types a word asks once
const apple = /Mac|iPhone|iPad/.test(navigator.platform);

// A link that opens a dialog is a button, for everybody who hears it.
function asButton(link) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = link.className;
  button.setAttribute("aria-haspopup", "dialog");
  button.setAttribute("aria-keyshortcuts", "Control+K Meta+K");
  button.append(...link.childNodes);
  button.querySelector("kbd").textContent = apple ? "⌘K" : "Ctrl K";
  link.replaceWith(button);
  return button;
}

const FRAME = `<form method="get" action="/find"><div class="row"><label for="find-words">Find a database, cause, runbook, page, cache or wait event</label>
<button type="button">Close</button></div><input type="text" id="find-words" name="q" maxlength="200" autocomplete="off" spellcheck="false" role="combobox"
aria-autocomplete="list" aria-expanded="false" aria-controls="find-list" autofocus></form>
<p class="quiet small" role="status"></p><ul class="found" id="find-list" role="listbox" aria-label="Matches"></ul>`;

function finder(button) {
  const dialog = document.createElement("dialog");
  dialog.className = "finder";
  dialog.setAttribute("aria-label", "Find");
  dialog.append(...new DOMParser().parseFromString(FRAME, "text/html").body.childNodes);
  document.body.append(dialog);
  const [words, list, status, close] = ["input", "ul", "[role=status]", "button"].map((one) => dialog.querySelector(one));
  let chosen = -1, asking, answered, back;

  function choose(place) {
    const options = [...list.children];
    chosen = options.length ? (place + options.length) % options.length : -1;
    options.forEach((one, index) => one.setAttribute("aria-selected", index === chosen));
    if (chosen >= 0) { words.setAttribute("aria-activedescendant", options[chosen].id); options[chosen].scrollIntoView({ block: "nearest" }); }
    else words.removeAttribute("aria-activedescendant");
  }
  const go = (option) => { location.href = option.dataset.href; dialog.close(); };

  async function ask(pause) {
    asking?.abort();
    const { signal } = asking = new AbortController();
    await new Promise((over) => setTimeout(over, pause));
    if (signal.aborted) return; // another letter came
    const address = `/find?q=${encodeURIComponent(words.value)}`;
    try {
      const answer = await fetch(address, { signal, headers: { accept: "text/html" } });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html"), found = page.querySelector("[data-found]");
      if (!found) { location.href = address; return; } // the page says why: nobody is signed in, or the service is busy
      list.replaceChildren(...[...found.querySelectorAll("a")].map((link, index) => {
        const option = document.createElement("li");
        option.id = `find-${index}`;
        option.setAttribute("role", "option");
        option.dataset.href = link.getAttribute("href");
        option.append(...document.importNode(link, true).childNodes);
        return option;
      }));
      status.textContent = page.querySelector("[data-count]").textContent;
      words.setAttribute("aria-expanded", list.children.length > 0);
      choose(0);
      return true;
    } catch (error) {
      if (error.name !== "AbortError") status.textContent = "No answer from latchscope. What you see may be old.";
    }
  }

  words.addEventListener("input", () => { answered = ask(PAUSE); });
  list.addEventListener("click", (event) => { const option = event.target.closest("[role=option]"); if (option) go(option); });
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  // Who types fast and presses Enter means the matches of what is typed, which may still be under way.
  dialog.addEventListener("submit", async (event) => { event.preventDefault(); if (await answered && chosen >= 0) go(list.children[chosen]); });
  dialog.addEventListener("keydown", (event) => {
    const steps = { ArrowDown: 1, ArrowUp: -1 };
    if (event.key in steps && event.target === words) { event.preventDefault(); choose(chosen + steps[event.key]); }
    if (event.key === "Tab") { event.preventDefault(); (event.target === words ? close : words).focus(); }
  });
  // A refresh may have replaced what had the focus.
  dialog.addEventListener("close", () => { asking?.abort(); (back?.isConnected ? back : button).focus(); });
  return () => {
    back = document.activeElement === document.body ? button : document.activeElement;
    words.value = "";
    list.replaceChildren();
    dialog.showModal();
    answered = ask(0);
  };
}

if (opener) {
  const button = asButton(opener);
  let open;
  const show = () => (open ??= finder(button))();
  button.addEventListener("click", show);
  document.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey || event.key.toLowerCase() !== "k") return;
    event.preventDefault();
    const shown = document.querySelector("dialog.finder[open]");
    if (shown) shown.close(); else show();
  });
}
