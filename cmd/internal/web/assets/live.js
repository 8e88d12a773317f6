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

// An EventSource does not tell what it was answered: it is asked for once more.
async function refused() {
  const request = new AbortController();
  let why = "the connection is lost";
  try {
    const answer = await fetch("events", { signal: request.signal });
    if (answer.status === 503) why = (await answer.text()).trim();
  } catch {
    // it is lost
  }
  request.abort();
  lost(why + "; what follows may be old. Trying again.");
  setTimeout(listen, patience);
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
