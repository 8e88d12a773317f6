// SPDX-License-Identifier: Apache-2.0
"use strict";

// The page is whole without this. With it, the parts that changed are put in
// their places as the daemon judges anew; what the reader opened, focused or scrolled
// stays so: what has an id, and links. A page without a stream is read anew every
// data-every seconds.
const live = document.getElementById("live");
const state = document.createElement("span");
const time = document.createElement("span");
time.setAttribute("aria-live", "off");
const patience = 5000; // milliseconds until a stream that was refused is asked for again

function key(e) {
  if (e.id) return "#" + CSS.escape(e.id);
  if (e.localName === "summary") return key(e.parentElement) + " > summary";
  return `a[href="${CSS.escape(e.getAttribute("href") ?? "")}"]`;
}

function place(part) {
  const old = document.getElementById(part.id);
  if (!old) return;
  const each = (what, use) => old.querySelectorAll(what + "[id]").forEach(use);
  const open = new Map(), scrolled = new Map();
  const focused = old.contains(document.activeElement) ? key(document.activeElement) : "";
  each("details", (d) => open.set(d.id, d.open));
  each(".wide", (w) => scrolled.set(w.id, w.scrollLeft));
  old.innerHTML = part.html;
  each("details", (d) => { d.open = open.get(d.id) ?? d.open; });
  each(".wide", (w) => { w.scrollLeft = scrolled.get(w.id) ?? 0; });
  if (focused) old.querySelector(focused)?.focus({ preventScroll: true });
}

// tell says how the page stands. Only that is read out; the time, which always changes, is not.
function tell(on, what, when = "") {
  if (!state.isConnected) live.replaceChildren(state, time);
  if (state.textContent !== what) state.textContent = what;
  time.textContent = when;
  live.classList.toggle("on", on);
}

const gone = "the connection is lost; what follows may be old. Trying again.";

// A page that is one too many to be live is read anew now and then.
async function reread() {
  const answer = await fetch("./", { signal: AbortSignal.timeout(6 * patience) });
  if (!answer.ok) throw new Error(answer.statusText);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  document.title = page.title;
  page.querySelectorAll("section").forEach((s) => place({ id: s.id, html: s.innerHTML }));
  return page.getElementById("live").textContent;
}

// An EventSource does not tell what it was answered: it is asked for once more.
async function refused() {
  const request = new AbortController();
  let why = gone, when = "";
  let wait = patience;
  try {
    const answer = await fetch("events", { signal: request.signal });
    const seconds = Number(answer.headers.get("Retry-After"));
    if (answer.status === 503 && seconds > 0) {
      const full = (await answer.text()).trim();
      when = ", " + await reread();
      why = `${full}; this one is read anew every ${seconds} s`;
      wait = 1000 * seconds;
    }
  } catch {
    // it is lost
  }
  request.abort();
  tell(false, why, when);
  setTimeout(listen, wait);
}

function listen() {
  const stream = new EventSource("events");
  stream.addEventListener("page", (event) => {
    const page = JSON.parse(event.data);
    document.title = page.title;
    tell(true, "live", ", as of " + page.time);
    (page.parts ?? []).forEach(place);
  });
  stream.onerror = () => {
    if (stream.readyState === EventSource.CLOSED) refused();
    else tell(false, gone);
  };
}

async function poll(seconds) {
  try {
    tell(true, `read anew every ${seconds} s`, ", " + await reread());
  } catch {
    tell(false, gone);
  }
  setTimeout(poll, 1000 * seconds, seconds);
}

const every = Number(live.dataset.every);
if (every) poll(every);
else listen();
