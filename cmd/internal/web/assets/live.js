// SPDX-License-Identifier: Apache-2.0
"use strict";

// The page is whole without this. With it, the parts that changed are put in
// their places as the daemon judges anew; what the reader opened stays open.
const live = document.getElementById("live");
const patience = 5000; // milliseconds until a stream that was refused is asked for again

function place(part) {
  const old = document.getElementById(part.id);
  if (!old) return;
  const open = [...old.querySelectorAll("details")].map((d) => d.open);
  old.innerHTML = part.html;
  old.querySelectorAll("details").forEach((d, i) => { d.open = open[i] ?? d.open; });
}

function lost(why) {
  live.textContent = why;
  live.classList.remove("on");
}

// A page that is one too many to be live is read anew now and then.
async function reread() {
  const answer = await fetch("./");
  if (!answer.ok) throw new Error(answer.statusText);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  document.title = page.title;
  page.querySelectorAll("section").forEach((s) => place({ id: s.id, html: s.innerHTML }));
  return page.getElementById("live").textContent;
}

// An EventSource does not tell what it was answered: it is asked for once more.
async function refused() {
  const request = new AbortController();
  let why = "the connection is lost; what follows may be old. Trying again.";
  let wait = patience;
  try {
    const answer = await fetch("events", { signal: request.signal });
    const seconds = Number(answer.headers.get("Retry-After"));
    if (answer.status === 503 && seconds > 0) {
      const full = (await answer.text()).trim();
      why = `${full}; this one is read anew every ${seconds} s, ${await reread()}`;
      wait = 1000 * seconds;
    }
  } catch {
    // it is lost
  }
  request.abort();
  lost(why);
  setTimeout(listen, wait);
}

function listen() {
  const stream = new EventSource("events");
  stream.addEventListener("page", (event) => {
    const page = JSON.parse(event.data);
    document.title = page.title;
    live.textContent = "live, as of " + page.time;
    live.classList.add("on");
    (page.parts ?? []).forEach(place);
  });
  stream.onerror = () => {
    if (stream.readyState === EventSource.CLOSED) refused();
    else lost("the connection is lost; what follows may be old. Trying again.");
  };
}

listen();
