// SPDX-License-Identifier: Apache-2.0

// Looks at a running daemon's page as people do: narrow and wide, light and
// dark, with and without scripts, on paper. Then it writes to the file BREAK
// what ails a link, and waits for the page to say so by itself.
//
// OTHER is the page of another node, of whose links some are slow, and FLEET the list of
// recorded nodes.
//
//   node page.mjs URL OTHER FLEET BREAK VALUE EXPECT [SCREENSHOTS]
import { writeFileSync } from "node:fs";
import axe from "axe-core";
import { chromium } from "playwright-core";

const [url, other, fleet, broken, value, expected, shots] = process.argv.slice(2);
const problems = [];
const complain = (what) => problems.push(what);

async function open(browser, options) {
  const context = await browser.newContext({ bypassCSP: options.bypass ?? false, ...options });
  const page = await context.newPage();
  page.on("console", (m) => { if (m.type() === "error") complain(`console: ${m.text()}`); });
  page.on("pageerror", (e) => complain(`script: ${e.message}`));
  // A refresh that the page's end interrupts is no failure, nor is the end of a stream.
  page.on("requestfailed", (r) => { if (!r.url().endsWith("/events") && !(r.isNavigationRequest() && r.failure().errorText === "net::ERR_ABORTED")) complain(`${r.url()}: ${r.failure().errorText}`); });
  await page.goto(options.url ?? url);
  return page;
}

async function accessible(page, name) {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() => axe.run());
  for (const v of violations) complain(`${name}: ${v.id}: ${v.nodes[0].target} (${v.nodes.length}): ${v.nodes[0].failureSummary}`);
}

// The list of recorded nodes is read anew beside the reader, who stays where he is.
async function listed(browser) {
  for (const width of [360, 1600]) {
    const page = await open(browser, { url: fleet, viewport: { width, height: 900 }, bypass: true });
    await page.locator("#live.on").waitFor();
    await accessible(page, `fleet, ${width} px`);
    const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (over > 0) complain(`fleet, ${width} px: the page is ${over} px too wide`);
    if (shots) await page.screenshot({ path: `${shots}/fleet-${width}.png`, fullPage: true });
    await page.context().close();
  }
  const page = await open(browser, { url: fleet });
  const link = page.locator("#nodes a").first();
  await link.focus();
  await page.evaluate(() => { window.same = document.activeElement; });
  await page.waitForFunction(() => window.same && !window.same.isConnected, null, { timeout: 60000 }).catch(() => complain("the list of nodes is not read anew"));
  if (!await link.evaluate((e) => e === document.activeElement)) complain("the list of nodes loses the focus");
  await page.context().close();
  const plain = await open(browser, { url: fleet, javaScriptEnabled: false });
  if (await plain.locator('meta[http-equiv="refresh"]').count() !== 1) complain("without scripts the list of nodes does not refresh");
  await plain.context().close();
}

// A node of eight GPUs fits on a sheet, on which nothing can be scrolled or unfolded, and which has no clock.
async function printed(browser, address) {
  const page = await open(browser, { url: address, viewport: { width: 720, height: 1000 } });
  await page.locator("#live.on").waitFor();
  await page.locator("details > summary").first().click();
  await page.emulateMedia({ media: "print" });
  const cut = await page.locator(".wide").evaluateAll((list) => list.filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.getAttribute("aria-label")));
  if (cut.length) complain(`on paper columns are cut: ${cut}`);
  if (!await page.locator("#live", { hasText: /as of \d{4}-/ }).isVisible()) complain("on paper the time is missing");
  if (await page.locator("#fine table").isVisible()) complain("on paper what is well takes room");
  if (shots) await page.screenshot({ path: `${shots}/paper-${new URL(address).port}.png`, fullPage: true });
  for (const format of ["A4", "Letter"]) {
    const pages = (await page.pdf({ format })).toString("latin1").match(/\/Type\s*\/Page\b/g).length;
    console.log(`${address}: ${pages} pages of ${format}`);
    if (pages > 1) complain(`${address}: ${pages} pages of ${format}, want one`);
  }
  await page.context().close();
}

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
try {
  for (const width of [360, 1600]) {
    for (const colorScheme of ["light", "dark"]) {
      const name = `${width} px, ${colorScheme}`;
      const page = await open(browser, { viewport: { width, height: 900 }, colorScheme, bypass: true });
      await page.locator("details > summary").first().click();
      await accessible(page, name);
      const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (over > 0) complain(`${name}: the page is ${over} px too wide`);
      if (shots) await page.screenshot({ path: `${shots}/page-${width}-${colorScheme}.png`, fullPage: true });
      await page.context().close();
    }
  }
  for (const width of [360, 800]) {
    const slow = await open(browser, { url: other, viewport: { width, height: 900 } });
    const over = await slow.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (over > 0) complain(`${width} px, slow links: the page is ${over} px too wide`);
    await slow.context().close();
  }
  await printed(browser, url);
  await printed(browser, other);
  await listed(browser);

  const crowd = await (await browser.newContext()).newPage();
  await crowd.route("**/events", (r) => r.fulfill({ status: 503, headers: { "Retry-After": "1" }, body: "512 pages are live already\n" }));
  await crowd.goto(url);
  await crowd.evaluate(() => { window.same = true; });
  const full = crowd.locator("#live", { hasText: /^512 pages are live already; this one is read anew every 1 s, as of \d{4}-/ });
  await full.waitFor({ timeout: 60000 });
  const before = await full.textContent();
  await crowd.waitForFunction((old) => document.getElementById("live").textContent !== old, before, { timeout: 60000 });
  await full.waitFor({ timeout: 60000 });
  if (!await crowd.evaluate(() => window.same)) complain("a page that is not live was loaded anew");
  await crowd.context().close();

  const plain = await open(browser, { javaScriptEnabled: false });
  if (await plain.locator("main section").count() < 5) complain("without scripts the page is not whole");
  if (await plain.locator('meta[http-equiv="refresh"]').count() !== 1) complain("without scripts the page does not refresh");
  await plain.context().close();

  const page = await open(browser, { viewport: { width: 1200, height: 900 } });
  await page.locator("#live.on").waitFor();
  await page.locator("details > summary").first().focus();
  await page.keyboard.press("Enter");
  if (!await page.locator("details").first().evaluate((d) => d.open)) complain("the keyboard does not open what is folded");
  if (await page.locator("#act", { hasText: expected }).count()) complain(`${expected} was there before anything broke`);
  await page.evaluate(() => { window.same = true; });
  const begin = Date.now();
  writeFileSync(broken, value + "\n");
  await page.locator("#act", { hasText: expected }).waitFor({ timeout: 60000 });
  console.log(`the page told of it after ${Date.now() - begin} ms`);
  if (!await page.evaluate(() => window.same)) complain("the page was loaded anew");
  if (!await page.locator("details").first().evaluate((d) => d.open)) complain("what was opened is closed by an update");
  const focused = await page.evaluate(() => document.activeElement.localName);
  if (focused !== "summary") complain(`the focus is lost by an update, to ${focused}`);
  const nameless = await page.locator("details, [tabindex]").evaluateAll((list) => list.filter((e) => !e.id).map((e) => e.outerHTML.slice(0, 60)));
  if (nameless.length) complain(`without an id they lose the focus or close: ${nameless}`);
  const spoken = await page.locator("#live[role=status]").evaluate((e) => [...e.childNodes].filter((n) => n.ariaLive !== "off").map((n) => n.textContent).join(""));
  if (spoken !== "live") complain(`what is read out at every update is ${spoken}`);
  if (shots) await page.screenshot({ path: `${shots}/page-broken.png`, fullPage: true });
} catch (e) {
  complain(e.message);
} finally {
  await browser.close();
}
for (const p of problems) console.error(p);
process.exit(problems.length ? 1 : 0);
