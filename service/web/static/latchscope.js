// Comfort only: every page is complete without it.
document.documentElement.classList.add("scripted");

// A button beside every statement.
function addCopyButtons(within) {
  for (const box of within.querySelectorAll(".sql:not(:has(button))")) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    button.setAttribute("aria-label", `Copy: ${box.dataset.what || "this statement"}`);
    button.addEventListener("click", async () => {
      try { await navigator.clipboard.writeText(box.querySelector("pre").textContent); button.textContent = "Copied"; }
      catch { getSelection().selectAllChildren(box.querySelector("pre")); button.textContent = "Selected"; }
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
    box.append(button);
  }
}

// The reader's own clock beside UTC: as a hint on every time, and once in the head.
function addOwnTime(within) {
  const zone = new Intl.DateTimeFormat([], { timeZoneName: "short" }).formatToParts(new Date()).find((part) => part.type === "timeZoneName")?.value;
  if (!new Date().getTimezoneOffset()) return;
  for (const time of within.querySelectorAll("time[datetime]")) {
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.getTime())) continue;
    time.title = `${at.toLocaleString()} ${zone}`;
    if (time.closest(".clock") && !time.closest(".clock").querySelector(".local")) {
      const own = document.createElement("span");
      own.className = "local";
      own.textContent = ` · ${at.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })} ${zone}`;
      time.closest(".clock").append(own);
    }
  }
}

// Drag over a chart to see that stretch.
function addZoom(within) {
  for (const chart of within.querySelectorAll("[data-zoom] .chart[data-begin]")) {
    if (chart.dataset.ready) continue;
    chart.dataset.ready = "yes";
    chart.classList.add("can-zoom");
    const place = (event) => {
      const box = chart.getBoundingClientRect();
      const x = (event.clientX - box.left) / box.width * chart.viewBox.baseVal.width;
      return Math.min(Math.max(x, +chart.dataset.left), +chart.dataset.right);
    };
    const moment = (x) => {
      const share = (x - chart.dataset.left) / (chart.dataset.right - chart.dataset.left);
      return new Date(1000 * (+chart.dataset.begin + share * (chart.dataset.end - chart.dataset.begin)));
    };
    chart.addEventListener("pointerdown", (down) => {
      if (down.button || down.pointerType === "touch") return;
      down.preventDefault();
      const from = place(down);
      const band = document.createElementNS("http://www.w3.org/2000/svg", "rect");
      band.setAttribute("class", "drag");
      band.setAttribute("y", 0);
      band.setAttribute("height", chart.viewBox.baseVal.height);
      chart.append(band);
      const move = (event) => {
        band.setAttribute("x", Math.min(from, place(event)));
        band.setAttribute("width", Math.abs(place(event) - from));
      };
      const up = (event) => {
        removeEventListener("pointermove", move);
        band.remove();
        const [begin, end] = [from, place(event)].sort((a, b) => a - b).map(moment);
        if (end - begin < 10000 || Math.abs(place(event) - from) < 8) return;
        location.href = `${chart.closest("[data-zoom]").dataset.zoom}?begin=${begin.toISOString()}&end=${end.toISOString()}`;
      };
      addEventListener("pointermove", move);
      addEventListener("pointerup", up, { once: true });
    });
  }
}

// Files dropped on the form are those that are sent.
for (const form of document.querySelectorAll("form.drop")) {
  const input = form.querySelector("input[type=file]");
  for (const name of ["dragover", "dragleave", "drop"]) {
    form.addEventListener(name, (event) => { event.preventDefault(); form.classList.toggle("over", name === "dragover"); });
  }
  form.addEventListener("drop", (event) => { input.files = event.dataTransfer.files; form.requestSubmit(); });
}

// Type to narrow the fleet; the form itself works on the server.
const search = () => document.querySelector("input[type=search]");
document.addEventListener("input", (event) => {
  if (event.target !== search()) return;
  for (const row of document.querySelectorAll(".fleet tr[data-words]")) row.hidden = !row.dataset.words.includes(search().value.toLowerCase());
});
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && search() && !event.target.closest("input, textarea")) { event.preventDefault(); search().focus(); }
});

// A command that ends a session is there while the look for it is young: by the age that came with it, and by the clock that has run
// longer since it was asked for. One of the two stands still while the machine sleeps, or is set back.
const OLDEST_SECONDS = 60;
const commands = new Map();
const clocks = () => [performance.now(), Date.now()];
const isOld = (age, asked) => !(age + Math.max(...clocks().map((now, which) => now - asked[which])) / 1000 <= OLDEST_SECONDS);
function takeOldCommands() {
  for (const [box, [age, asked, told]] of commands) {
    if (box.isConnected && !isOld(age, asked)) continue;
    commands.delete(box);
    box.replaceChildren(told);
    addCopyButtons(box);
  }
}
function addCommands(within, asked) {
  for (const box of within.querySelectorAll("[data-command]")) {
    const age = parseFloat(box.dataset.command), told = box.firstElementChild;
    if (isOld(age, asked)) continue;
    commands.set(box, [age, asked, told]);
    box.replaceChildren(box.querySelector("template").content.cloneNode(true));
  }
  if (commands.size) requestAnimationFrame(beforePaint);
}
function beforePaint() { takeOldCommands(); if (commands.size) requestAnimationFrame(beforePaint); }
// What was taken away is not copied, whoever holds its button or its text.
function beforeUse(event) {
  takeOldCommands();
  if (event.target instanceof Node && !event.target.isConnected) { event.preventDefault(); event.stopImmediatePropagation(); }
}
for (const name of ["visibilitychange", "pageshow", "focus", "copy", "click"]) addEventListener(name, beforeUse, true);

// A phone has the first screen and what to do; the rest is its headings, until somebody opens one.
const narrow = matchMedia("(max-width: 640px)"), opened = new Set();
const FOLDED = "section.card[aria-labelledby]:not(.verdict, [aria-labelledby^=fx], [aria-labelledby^=bl])";
function addFolds(within) {
  if (!narrow.matches || !document.querySelector(".verdict")) return;
  for (const card of [...(within.matches?.(FOLDED) ? [within] : []), ...within.querySelectorAll(FOLDED)]) {
    const heading = card.querySelector("h2, .h2"), key = card.getAttribute("aria-labelledby");
    if (!heading || heading.querySelector("[role=button]") || location.hash === `#${card.id}`) continue;
    const words = document.createElement("span");
    words.append(...heading.childNodes);
    heading.append(words);
    heading.classList.add("folds-up");
    words.setAttribute("role", "button");
    words.tabIndex = 0;
    const show = (open) => { card.classList.toggle("folded", !open); words.setAttribute("aria-expanded", open); opened[open ? "add" : "delete"](key); };
    show(opened.has(key));
    heading.addEventListener("click", () => show(card.classList.contains("folded")));
    words.addEventListener("keydown", (event) => { if (["Enter", " "].includes(event.key)) { event.preventDefault(); show(card.classList.contains("folded")); } });
  }
}
addEventListener("hashchange", () => { const card = location.hash && document.getElementById(location.hash.slice(1)); if (card?.matches(".folded")) card.querySelector(".folds-up").click(); });

function addComfort(within, asked) { addCommands(within, asked); addCopyButtons(within); addOwnTime(within); addZoom(within); addFolds(within); }
globalThis.addComfort = addComfort;
addComfort(document, [0, performance.timeOrigin]);
